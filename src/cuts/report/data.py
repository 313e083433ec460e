"""A report as JSON values: the fields of `Report` under their names, so that the page and its twin say the same.

An undefined number is null. `schema_version` changes when a field is renamed, removed or gets another meaning; new
fields may be added without that.
"""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import Any

from cuts.assess.render import plain
from cuts.report.facts import Report

SCHEMA_VERSION = 1


def as_data(report: Report) -> dict[str, Any]:
    """The report as JSON values."""
    return {"schema_version": SCHEMA_VERSION, **plain(asdict(report))}  # type: ignore[dict-item]


def as_json(report: Report) -> str:
    """The report as a JSON text."""
    return json.dumps(as_data(report), indent=2, ensure_ascii=False, allow_nan=False) + "\n"
