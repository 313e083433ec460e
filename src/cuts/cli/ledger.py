"""The commands about the privacy budget that was spent: ledger show, list and transcript."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import Annotated, Any

import typer

from cuts.cli import options
from cuts.cli.request import check_apart, check_places, read_transcript
from cuts.cli.shared import print_json
from cuts.data.schema import fingerprint
from cuts.lang.printer import short
from cuts.privacy.accountant import epsilon_of
from cuts.privacy.ledger import Event, ReleaseLedger
from cuts.privacy.ledger_file import LedgerFile, default_ledger_file
from cuts.privacy.release_json import ledger_data
from cuts.privacy.transcript import Transcript, promise, render
from cuts.text.columns import align
from cuts.text.diagnostic import counted
from cuts.text.files import write_text

app = typer.Typer(help="Show the privacy budget spent, or export a release.", no_args_is_help=True)

ModelArgument = Annotated[
    Path, typer.Argument(metavar="MODEL", help="Private model, a .synth file, or a transcript.", show_default=False)
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
        print(_as_text(transcript))


@app.command("list")
def list_(ledger: options.LedgerOption = None, format: options.FormatOption = "text") -> None:
    """Print the privacy budget spent on each data set. It is the total over all releases.

    Example: cuts ledger list
    """
    file = default_ledger_file() if ledger is None else LedgerFile(ledger)
    totals = [total for total in file.spent() if total.releases]
    if format == "json":
        data = [
            {"data": t.data, "releases": t.releases, "rho": str(t.rho), "epsilon": t.epsilon, "delta": t.delta}
            for t in totals
        ]
        print_json({"ledger": str(file.path), "data": data})
        return
    if not totals:
        print(f"{file.path}: no releases yet")
        return
    cells = [[t.data, str(t.releases), _rho(t.rho), f"{t.epsilon:.4g}", f"{t.delta:.4g}"] for t in totals]
    print(align(["data set", "releases", "rho (zCDP)", "epsilon", "at delta"], cells, right=range(1, 5)))


@app.command()
def transcript(
    model: ModelArgument,
    output: Annotated[
        Path, typer.Option("--output", "-o", metavar="FILE", help="Transcript to write, .json.", show_default=False)
    ],
) -> None:
    """Write the release behind a private model to a file. It contains noisy tables, no rows.

    Example: cuts ledger transcript private.synth -o transcript.json
    """
    check_places(output)
    check_apart([output], [model])
    release = read_transcript(model)
    write_text(output, render(release))
    print(f"{counted(len(release.measurements), 'noisy table')} written to {output}")


def _as_data(transcript: Transcript) -> dict[str, Any]:
    ledger = transcript.ledger
    schema = transcript.codec.schema
    return {
        "promise": promise(transcript),
        **ledger_data(ledger),
        "unit": ledger.terms.unit,
        "spent": {"rho": str(ledger.spent), "epsilon": ledger.epsilon_spent, "delta": ledger.terms.delta},
        "all_releases": _total(ledger),
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
    total = _total(ledger)
    facts = [
        ["guarantee", f"epsilon {terms.epsilon:g}, delta {terms.delta:g}"],
        ["spent", f"rho {_rho(ledger.spent)} of {_rho(ledger.rho)}, epsilon {ledger.epsilon_spent:.6g}"],
        ["privacy unit", terms.unit],
        ["neighbours", terms.relation],
        ["schema", f"{schema.provenance}, sha256 {fingerprint(schema)[:16]}"],
        ["rows", f"about {transcript.rows:,}"],
        ["data set", f"{ledger.history.data or 'unnamed'}, release {ledger.history.releases + 1}"],
        ["all releases", f"epsilon {total['epsilon']:.4g}, delta {total['delta']:.4g}"],
    ]
    queries = align(["query", "kind", "columns", "noise scale", "rho", "rho in total"], cells, right=[0, 3, 4, 5])
    return f"{queries}\n\n{align(['', ''], facts).lstrip()}\n\n{promise(transcript)}"


def _columns(event: Event) -> str:
    """The columns of a query; of a selection, how many sets of columns it chose from."""
    return f"1 of {event.candidates} chosen" if event.kind == "select" else ", ".join(event.clique)


def _total(ledger: ReleaseLedger) -> dict[str, Any]:
    """The budget spent on the data set when this release was finished, earlier releases included."""
    rho = ledger.history.rho + ledger.spent
    return {
        "releases": ledger.history.releases + 1,
        "rho": str(rho),
        "epsilon": epsilon_of(rho, ledger.terms.delta - ledger.delta_spent),
        "delta": ledger.terms.delta + ledger.history.delta,
    }


def _rho(cost: Fraction) -> str:
    return short(float(cost), 4)
