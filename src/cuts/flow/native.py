"""The frame that was given, and sampled rows as the same kind of frame."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from cuts.data.exchange.frames import FrameForm, form_like, form_of_columns, from_native
from cuts.data.schema import Schema
from cuts.data.table import Table
from cuts.flow.checks import private_command
from cuts.flow.request import FitRequest
from cuts.sources.registry import is_frame


def with_table(request: FitRequest) -> tuple[FitRequest, FrameForm | None]:
    """The request with the table in place of the frame it was given, and the form of that frame.

    Anything else than a frame stays as it is, and so does a frame whose rows are private or are not needed.
    """
    is_private = request.transcript is not None or private_command(request.program) is not None
    if request.data is None or is_private or not is_frame(request.data):
        return request, None
    table, form = from_native(request.data)
    return replace(request, data=table), form


def form_of_sample(given: Any, form: FrameForm | None, schema: Schema, rows: Table | None) -> FrameForm | None:
    """The form of sampled rows: the form of the given frame, less the columns that are left out.

    Of a private frame only its kind is looked at; `rows` are some of the model. None if no frame was given.
    """
    if form is not None:
        return form_of_columns(form, schema)
    if given is None or rows is None or not is_frame(given):
        return None
    return form_like(given, rows)
