"""The German Credit table in words: the names and values of the code book that UCI publishes with the data.

The code book has known errors (U. Groemping, South German Credit Data, 2019); nothing is corrected here.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import pyarrow as pa

from cuts.data.table import Table


@dataclass(frozen=True, slots=True)
class Words:
    """A column of `credit`: the column of `german` it is read from, and the word for each code; numbers have none."""

    name: str
    source: str
    by_code: Mapping[str, str] | None = None


def _coded(name: str, source: str, words: str, *, first: int = 1) -> Words:
    """The words of the codes `source` + `first`, `first` + 1, ..., in this order."""
    return Words(name, source, {f"{source}{first + index}": word for index, word in enumerate(words.split())})


COLUMNS = (
    _coded("checking_account", "A1", "below_0 0_to_200 200_or_more no_account"),  # DM
    Words("duration_months", "A2"),
    _coded(
        "credit_history",
        "A3",
        "none_or_all_paid all_paid_here existing_paid delayed critical_or_other_credits",
        first=0,
    ),
    _coded(
        "purpose",
        "A4",
        "car_new car_used furniture radio_tv appliances repairs education vacation retraining business other",
        first=0,
    ),
    Words("amount", "A5"),  # DM
    _coded("savings", "A6", "below_100 100_to_500 500_to_1000 1000_or_more unknown_or_none"),  # DM
    _coded("employed_since", "A7", "unemployed below_1_year 1_to_4_years 4_to_7_years 7_years_or_more"),
    Words("installment_rate", "A8"),  # per cent of the disposable income
    # One code for both: of women it does not say whether they are divorced, separated or married.
    _coded("sex", "A9", "male female male male female"),
    _coded("marital_status", "A9", "divorced_or_separated not_single single married_or_widowed single"),
    _coded("other_debtors", "A10", "none co_applicant guarantor"),
    Words("residence_since", "A11"),  # years
    _coded("property", "A12", "real_estate building_savings_or_insurance car_or_other unknown_or_none"),
    Words("age", "A13"),
    _coded("other_installments", "A14", "bank stores none"),
    _coded("housing", "A15", "rent own free"),
    Words("existing_credits", "A16"),  # at this bank
    _coded(
        "job", "A17", "unemployed_or_unskilled_non_resident unskilled_resident skilled management_or_highly_qualified"
    ),
    Words("dependants", "A18"),
    _coded("telephone", "A19", "no yes"),
    _coded("foreign_worker", "A20", "yes no"),
    Words("risk", "class", {"1": "good", "2": "bad"}),
)


def in_words(german: Table) -> Table:
    """The rows of `german` with the names and values of `credit`, in the same order."""
    columns = {}
    for column in COLUMNS:
        values = german.arrow[column.source]
        if column.by_code is not None:
            values = pa.array([column.by_code[code] for code in values.to_pylist()], pa.string())
        columns[column.name] = values
    return Table(pa.table(columns))
