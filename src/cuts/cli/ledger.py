"""The commands about the privacy budget that was spent: ledger show, list and transcript."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path
from typing import Annotated, Any

import typer

from cuts.cli import completion, options
from cuts.cli.request import check_apart, check_places, read_transcript
from cuts.cli.shared import print_json
from cuts.cli.terminal import print_text
from cuts.data.schema import fingerprint
from cuts.lang.printer import short
from cuts.privacy.ledger import Event, ReleaseLedger
from cuts.privacy.ledger_file import DataSpending, LedgerFile, default_ledger_file
from cuts.privacy.release_json import ledger_data
from cuts.privacy.transcript import Transcript, promise, render
from cuts.privacy.units import Spending, Total, by_unit, total
from cuts.text.columns import align
from cuts.text.diagnostic import counted
from cuts.text.files import write_text

app = typer.Typer(help="Show the privacy budget spent, or export a release.", no_args_is_help=True)

NO_TOTAL = "releases of different units, whose costs cannot be added up"

ModelArgument = Annotated[
    Path,
    typer.Argument(
        metavar="MODEL",
        help="Private model, a .synth file, or a transcript.",
        show_default=False,
        autocompletion=completion.models,
    ),
]


@app.command()
def show(model: ModelArgument, format: options.FormatOption = "text") -> None:
    """Print the queries behind a private model and its guarantee. Each query is listed with its noise and cost.

    Example: cuts ledger show private.synth
    """
    transcript = read_transcript(model)
    if format == "json":
        print_json(_as_data(transcript))
    else:
        print_text(_as_text(transcript))


@app.command("list")
def list_(ledger: options.LedgerOption = None, format: options.FormatOption = "text") -> None:
    """Print the privacy budget spent on each data set. It is the total over all releases, for the largest unit.

    Example: cuts ledger list
    """
    file = default_ledger_file() if ledger is None else LedgerFile(ledger)
    spendings = [spending for spending in file.spent() if spending.releases]
    if format == "json":
        data = [
            {
                "data": spending.data,
                "releases": spending.releases,
                "total": None if spending.total is None else _total_data(spending.total),
                "by_unit": [_total_data(_alone(each)) for each in spending.by_unit],
            }
            for spending in spendings
        ]
        print_json({"ledger": str(file.path), "data": data})
    elif not spendings:
        print(f"{file.path}: no releases yet")
    else:
        print_text(_spendings_text(spendings))


@app.command()
def transcript(
    model: ModelArgument,
    output: Annotated[
        Path, typer.Option("--output", "-o", metavar="FILE", help="Transcript to write, .json.", show_default=False)
    ],
    format: options.FormatOption = "text",
) -> None:
    """Write the release behind a private model to a file. It contains noisy tables, no rows.

    Example: cuts ledger transcript private.synth -o transcript.json
    """
    check_places(output)
    check_apart([output], [model])
    release = read_transcript(model)
    write_text(output, render(release))
    if format == "json":
        print_json({"output": str(output), "noisy_tables": len(release.measurements)})
    else:
        print(f"{counted(len(release.measurements), 'noisy table')} written to {output}")


def _as_data(transcript: Transcript) -> dict[str, Any]:
    ledger, schema = transcript.ledger, transcript.codec.schema
    total = _all_releases(ledger)
    return {
        "promise": promise(transcript),
        **ledger_data(ledger),
        "unit": str(ledger.terms.unit),
        "spent": {"rho": str(ledger.spent), "epsilon": ledger.epsilon_spent, "delta": ledger.terms.delta},
        "all_releases": None if total is None else _total_data(total),
        "schema": {"sha256": fingerprint(schema), "provenance": schema.provenance},
        "rows": transcript.rows,
    }


def _as_text(transcript: Transcript) -> str:
    ledger, terms = transcript.ledger, transcript.ledger.terms
    schema = transcript.codec.schema
    running = Fraction(0)
    cells = []
    for number, event in enumerate(ledger.events, start=1):
        running += event.cost
        cells.append([str(number), event.kind, _columns(event), f"{event.scale:.5g}", _rho(event.cost), _rho(running)])
    total = _all_releases(ledger)
    facts = [
        ["guarantee", f"epsilon {terms.epsilon:g}, delta {terms.delta:g}"],
        ["spent", f"rho {_rho(ledger.spent)} of {_rho(ledger.rho)}, epsilon {ledger.epsilon_spent:.6g}"],
        ["privacy unit", str(terms.unit)],
        ["neighbours", terms.relation],
        ["schema", f"{schema.provenance}, sha256 {fingerprint(schema)[:16]}"],
        ["rows", f"about {transcript.rows:,}"],
        ["data set", f"{ledger.history.data or 'unnamed'}, release {ledger.history.releases + 1}"],
        ["all releases", NO_TOTAL if total is None else _total_text(total)],
    ]
    queries = align(["query", "kind", "columns", "noise scale", "rho", "rho in total"], cells, right=[0, 3, 4, 5])
    return f"{queries}\n\n{align(['', ''], facts).lstrip()}\n\n{promise(transcript)}"


def _columns(event: Event) -> str:
    """The columns of a query; of a selection, how many sets of columns it chose from."""
    return f"1 of {event.candidates} chosen" if event.kind == "select" else ", ".join(event.clique)


def _all_releases(ledger: ReleaseLedger) -> Total | None:
    """What was spent on the data set when this release was finished, earlier releases included."""
    return total(by_unit((*ledger.history.spent, ledger.spending)))


def _total_text(total: Total) -> str:
    return f"epsilon {total.epsilon:.4g}, delta {total.delta:.4g}, for {total.unit_in_words}, {total.unit.relation}"


def _total_data(total: Total) -> dict[str, Any]:
    return {
        "unit": total.unit_in_words,
        "relation": total.unit.relation,
        "releases": total.spent.releases,
        "rho": str(total.spent.rho),
        "epsilon": total.epsilon,
        "delta": total.delta,
    }


def _spendings_text(spendings: Sequence[DataSpending]) -> str:
    """One line per data set; one line per unit where costs cannot be added up."""
    cells, notes = [], []
    for spending in spendings:
        totals = [spending.total] if spending.total is not None else list(map(_alone, spending.by_unit))
        for each in totals:
            unit = f"{each.unit_in_words}, {each.unit.relation}"
            numbers = [_rho(each.spent.rho), f"{each.epsilon:.4g}", f"{each.delta:.4g}"]
            cells.append([spending.data, str(each.spent.releases), unit, *numbers])
        if spending.total is None:
            notes.append(f"`{spending.data}`: {NO_TOTAL}")
    table = align(["data set", "releases", "unit", "rho (zCDP)", "epsilon", "at delta"], cells, right=[1, 3, 4, 5])
    return "\n".join([table, *notes])


def _alone(spending: Spending) -> Total:
    """The total of releases that protect one unit."""
    alone = total([spending])
    assert alone is not None  # nothing is converted
    return alone


def _rho(cost: Fraction) -> str:
    return short(float(cost), 4)
