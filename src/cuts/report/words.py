"""The sentences of a report: its outcome, its key numbers, and a yardstick for each number."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from math import isfinite

from cuts.assess.discriminator import Discriminator
from cuts.assess.downstream import Score
from cuts.lang.printer import short
from cuts.report.facts import CommandFacts, Report
from cuts.report.figures import hundredths
from cuts.text.diagnostic import counted

_MONTHS = (
    *("January", "February", "March", "April", "May", "June"),
    *("July", "August", "September", "October", "November", "December"),
)
UTILITY = ("accuracy", "r2")  # the score of which the share that is kept is shown


@dataclass(frozen=True, slots=True)
class Tile:
    """A key number, its name, and what it is compared with."""

    name: str
    value: str
    yardstick: str
    link: str  # the section that says more


@dataclass(frozen=True, slots=True)
class Kept:
    """A score of a learner trained on the synthetic rows, beside the same learner trained on real rows."""

    learner: str
    measure: str
    synthetic: float
    real: float

    @property
    def share(self) -> float:
        """The part of the score that is kept."""
        return self.synthetic / self.real


def percent(share: float | None, digits: int = 1) -> str:
    """A share in percent; 0 and 100 only if it is exactly that.

    >>> [percent(share).replace("\N{NO-BREAK SPACE}", " ") for share in (0.1234, 0.00001, 0.99999, 1.0)]
    ['12.3 %', '< 0.1 %', '> 99.9 %', '100 %']
    """
    if share is None or not isfinite(share):
        return "undefined"
    return f"{hundredths(share, 0 if share in (0, 1) else digits)}\u00a0%"


def points_apart(difference: float) -> str:
    """A difference of shares in percentage points, with its sign.

    >>> points_apart(0.0123), points_apart(-0.1), points_apart(0.0001)
    ('+1.2', '−10.0', '0.0')
    """
    shown = f"{abs(100 * difference):.1f}"
    sign = "" if float(shown) == 0 else "+" if difference > 0 else "−"
    return f"{sign}{shown}"


def decimal(value: float | None, digits: int = 3) -> str:
    """A number with a fixed number of decimals."""
    return "undefined" if value is None or not isfinite(value) else f"{value:.{digits}f}".replace("-", "−")


def moment(created: str) -> str:
    """A time in UTC as people write it; other text is left as it is.

    >>> moment("2026-11-18T04:06:00Z")
    '18 November 2026, 04:06 UTC'
    """
    try:
        found = datetime.fromisoformat(created)
    except ValueError:
        return created
    if found.tzinfo is None or found.utcoffset():
        return created
    month = _MONTHS[found.month - 1]
    return f"{found.day} {month} {found.year}, {found:%H:%M} UTC"


def outcome(commands: Sequence[CommandFacts]) -> str:
    """How many commands hold, in one sentence."""
    if not commands:
        return "The program has no commands: the table was made without constraints."
    count = {word: sum(command.outcome == word for command in commands) for word in _OUTCOMES}
    if count["holds"] == len(commands) > 1:
        return "Both commands hold." if len(commands) == 2 else f"All {len(commands)} commands hold."
    parts = [f"{count['holds']} of {counted(len(commands), 'command')} {'holds' if count['holds'] == 1 else 'hold'}"]
    parts += [f"{count[word]} {singular if count[word] == 1 else plural}" for word, (singular, plural) in
              _OUTCOMES.items() if count[word] and word != "holds"]  # fmt: skip
    return f"{', '.join(parts)}."


_OUTCOMES = {
    "holds": ("holds", "hold"),
    "fails": ("fails", "fail"),
    "measured": ("is measured", "are measured"),
    "no rows": ("applies to no row", "apply to no row"),
}


def detectability(found: Discriminator) -> str:
    """What an AUC means, in words."""
    auc, noise = found.auc, 2 * found.standard_error
    floor = 0.5 if found.train_auc is None else max(0.5, found.train_auc)
    if auc <= floor + noise:
        return "A classifier cannot separate synthetic from real rows better than chance."
    if auc < 0.6:
        return "A classifier separates synthetic from real rows hardly better than chance."
    if auc < 0.75:
        return "A classifier separates some synthetic rows from real rows."
    return "A classifier separates many synthetic rows from real rows."


def kept(scores: Sequence[Score]) -> Kept | None:
    """What the first learner that was trained on both tables keeps of its score; None if there is none."""
    for ours in scores:
        for theirs in scores:
            if (ours.trained_on, theirs.trained_on) == ("synthetic", "train") and ours.learner == theirs.learner:
                for measure in UTILITY:
                    mine, other = ours.measures.get(measure), theirs.measures.get(measure)
                    if mine is not None and other is not None and isfinite(mine) and other > 0:
                        return Kept(ours.learner, measure, mine, other)
    return None


def tiles(report: Report) -> tuple[Tile, ...]:
    """The key numbers of a report."""
    found = [_rows(report), _commands(report), _auc(report), _kept(report), _epsilon(report)]
    return tuple(tile for tile in found if tile is not None)


def _rows(report: Report) -> Tile:
    about = "about " if report.privacy is not None else ""
    columns = counted(len(report.columns), "column")
    real = f"{columns}; the real table has {about}{counted(report.real_rows, 'row')}"
    return Tile("Synthetic rows", f"{report.rows:,}", real, "#columns")


def _commands(report: Report) -> Tile | None:
    if not report.commands:
        return None
    hold = sum(command.outcome == "holds" for command in report.commands)
    decided = sum(command.outcome in ("holds", "fails") for command in report.commands)
    rest = len(report.commands) - decided
    yardstick = "every command with a target is met" if hold == decided else f"{decided - hold} with a target not met"
    if rest:
        yardstick += f"; {rest} without a verdict"
    return Tile("Commands that hold", f"{hold} of {decided}", yardstick, "#verdicts")


def _auc(report: Report) -> Tile | None:
    found = report.likeness.discriminator if report.likeness is not None else None
    if found is None:
        return None
    floor = "" if found.train_auc is None else f"; real against real rows {found.train_auc:.2f}"
    yardstick = f"0.50 is indistinguishable, 1.00 always detected{floor}"
    return Tile("Discriminator AUC", f"{found.auc:.2f}", yardstick, "#likeness")


def _kept(report: Report) -> Tile | None:
    best = kept(report.classifiers.scores) if report.classifiers is not None else None
    if best is None:
        return None
    if best.measure == "accuracy":
        numbers = f"{percent(best.synthetic)} against {percent(best.real)} when trained on real rows"
    else:
        numbers = f"R² {best.synthetic:.2f} against {best.real:.2f} when trained on real rows"
    name = "Accuracy kept" if best.measure == "accuracy" else "Explained variance kept"
    return Tile(name, percent(best.share), f"{best.learner}: {numbers}", "#classifiers")


def _epsilon(report: Report) -> Tile:
    if report.privacy is None:
        return Tile("Epsilon", "none", "not differentially private: real rows were read without noise", "#memory")
    private = report.privacy
    limit = f"of {short(private.epsilon, 3)} spent; delta {short(private.delta, 2)}; smaller protects more"
    return Tile("Epsilon", short(private.epsilon_spent, 3), limit, "#privacy")
