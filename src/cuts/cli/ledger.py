"""The commands about privacy that was spent: ledger show, list and transcript."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import Annotated, Any

import typer

from cuts.cli import options
from cuts.cli.fitting import check_apart, check_places, read_transcript
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

app = typer.Typer(help="What was spent on privacy.", no_args_is_help=True)

ModelArgument = Annotated[
    Path, typer.Argument(metavar="MODEL", help="A private .synth file, or a transcript.", show_default=False)
]


@app.command()
def show(model: ModelArgument, format: options.FormatOption = options.Format.text) -> None:
    """Print every private read behind a model, its cost, and what is promised.

    Example: cuts ledger show private.synth
    """
    transcript = read_transcript(model)
    if format is options.Format.json:
        print_json(_as_data(transcript))
    else:
        print(_as_text(transcript))


@app.command("list")
def list_(ledger: options.LedgerOption = None, format: options.FormatOption = options.Format.text) -> None:
    """Print what was spent on each data set, all its releases together.

    Example: cuts ledger list
    """
    book = default_ledger_file() if ledger is None else LedgerFile(ledger)
    spent = [each for each in book.spent() if each.releases]
    if format is options.Format.json:
        told = [
            {"data": s.data, "releases": s.releases, "rho": str(s.rho), "epsilon": s.epsilon, "delta": s.delta}
            for s in spent
        ]
        print_json({"ledger": str(book.path), "data": told})
        return
    if not spent:
        print(f"{book.path}: no release yet")
        return
    cells = [[s.data, str(s.releases), _rho(s.rho), f"{s.epsilon:.4g}", f"{s.delta:.4g}"] for s in spent]
    print(align(["data", "releases", "rho", "epsilon", "at delta"], cells, right=range(1, 5)))


@app.command()
def transcript(
    model: ModelArgument,
    output: Annotated[Path, typer.Option("--output", "-o", help="The transcript to write, .json.")],
) -> None:
    """Write all that a private model was made from to a file: noisy tables, no rows.

    Example: cuts ledger transcript private.synth -o transcript.json
    """
    check_places(output)
    check_apart([output], [model])
    found = read_transcript(model)
    write_text(output, render(found))
    print(f"{output}: {counted(len(found.measurements), 'noisy table')}")


def _as_data(transcript: Transcript) -> dict[str, Any]:
    ledger = transcript.ledger
    schema = transcript.codec.schema
    return {
        "promise": promise(transcript),
        **ledger_data(ledger),
        "unit": ledger.terms.unit,
        "spent": {"rho": str(ledger.spent), "epsilon": ledger.epsilon_spent, "delta": ledger.terms.delta},
        "all_releases": _together(ledger),
        "schema": {"sha256": fingerprint(schema), "provenance": schema.provenance},
        "rows": transcript.rows,
    }


def _as_text(transcript: Transcript) -> str:
    ledger, terms = transcript.ledger, transcript.ledger.terms
    schema = transcript.codec.schema
    after = Fraction(0)
    cells = []
    for number, event in enumerate(ledger.events, start=1):
        after += event.cost
        cells.append([str(number), event.kind, _what(event), f"{event.scale:.5g}", _rho(event.cost), _rho(after)])
    together = _together(ledger)
    facts = [
        ["promised", f"epsilon {terms.epsilon:g}, delta {terms.delta:g}"],
        ["spent", f"rho {_rho(ledger.spent)} of {_rho(ledger.rho)}, epsilon {ledger.epsilon_spent:.6g}"],
        ["unit", terms.unit],
        ["relation", terms.relation],
        ["schema", f"{schema.provenance}, sha256 {fingerprint(schema)[:16]}"],
        ["rows", f"about {transcript.rows:,}"],
        ["data", f"{ledger.history.data or 'unnamed'}, its release {ledger.history.releases + 1}"],
        ["all releases", f"epsilon {together['epsilon']:.4g}, delta {together['delta']:.4g}"],
    ]
    reads = align(["read", "kind", "columns", "noise", "rho", "rho so far"], cells, right=[0, 3, 4, 5])
    return f"{reads}\n\n{align(['', ''], facts).lstrip()}\n\n{promise(transcript)}"


def _what(event: Event) -> str:
    return f"one of {event.candidates}" if event.kind == "select" else ", ".join(event.clique)


def _together(ledger: ReleaseLedger) -> dict[str, Any]:
    rho = ledger.history.rho + ledger.spent
    return {
        "releases": ledger.history.releases + 1,
        "rho": str(rho),
        "epsilon": epsilon_of(rho, ledger.terms.delta - ledger.delta_spent),
        "delta": ledger.terms.delta + ledger.history.delta,
    }


def _rho(cost: Fraction) -> str:
    return short(float(cost), 4)
