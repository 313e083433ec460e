"""Numbers as a report keeps them, and the sentences that a report and the command line have in common."""

from __future__ import annotations

from math import isfinite

from cuts.lang.printer import short
from cuts.report.facts import Figure


def figure(value: float, text: str | None = None, *, digits: int = 3) -> Figure:
    """A number with its text; an undefined one has no value.

    >>> figure(0.12345), figure(float("nan"))
    (Figure(value=0.12345, text='0.123'), Figure(value=None, text='undefined'))
    """
    if not isfinite(value):
        return Figure(None, "undefined")
    return Figure(value, short(value, digits) if text is None else text)


def share(value: float) -> Figure:
    """A share in percent; 100 and 0 only if it is exactly 1 or 0, and of no rows none.

    >>> share(0.99999).text, share(0.5).text, share(float("nan"))
    ('> 99.99 %', '50.00 %', Figure(value=None, text='no rows'))
    """
    if not isfinite(value):
        return Figure(None, "no rows")
    return Figure(value, f"{hundredths(value, 2)} %")


def hundredths(share: float, digits: int) -> str:
    """A share times 100; 0 and 100 only if it is exactly 0 or 1.

    >>> hundredths(0.1234, 1), hundredths(0.00001, 1), hundredths(0.99999, 2), hundredths(1.0, 0)
    ('12.3', '< 0.1', '> 99.99', '100')
    """
    shown, smallest = f"{100 * share:.{digits}f}", 10.0**-digits
    if 0 < share < 1 and float(shown) == 0:
        return f"< {smallest:.{digits}f}"
    if 0 < share < 1 and float(shown) == 100:
        return f"> {100 - smallest:.{digits}f}"
    return shown


def selection_words(pool: int, most_taken: int, effective: float) -> str:
    """How rows were selected from candidates."""
    repeats = "none twice" if most_taken <= 1 else f"none more than {most_taken} times"
    return f"Selected from {pool:,} candidate rows, {repeats} (effective sample size {effective:,.0f})."


def rejection_words(accepted: int, candidates: int) -> str:
    """How many candidate rows were accepted."""
    return (
        f"Rejection sampling: {accepted:,} of {candidates:,} candidate rows "
        f"({100 * accepted / candidates:.2f} %) satisfied all row rules."
    )


def trial_words(nearer: float, copies: float, unseen_copies: float) -> str:
    """What a trial with held-out rows found about memorised rows."""
    return (
        f"In a trial with held-out rows, {_percent(nearer)} of synthetic rows were closer to a fitted row than to an "
        f"unseen one (50 % is ideal); {_percent(copies)} copied a fitted row and {_percent(unseen_copies)} an unseen "
        "one."
    )


def _percent(value: float) -> str:
    return f"{100 * value:.2f} %"
