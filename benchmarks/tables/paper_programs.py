"""The paper's programs of Adult with their printed weights: the preset `paper`, the paper's figures, the default.

    python benchmarks/paper_programs.py --data DIR [--paper results.json] [--programs I3 S1 stacked] [--steps 2000]
        [--finetune-steps 500] [--model free.synth] [--default] [--json FILE]

The network is pre-trained once, on bins that suit all programs, and fine-tuned for each of them from there. With
`--model` the pre-trained network is written to a file, or read from it if it is there. Numbers are cut into the paper's
32 even bins, with the constants of rules as further edges, and the learner sees the 32 bins. Each program is drawn
several times with as many rows as there are train rows; all figures are means over the draws, on test rows that nobody
trained on. `before` is the percentage of the network's rows that satisfy a rule, of those it applies to, before any is
rejected, the lowest of all rules; `after` the same of the table. `value` is the number a program is about: the mean
age, the difference of two, a correlation, a gap between groups, or the balanced accuracy of XGBoost for `sex`. Mean
ages are those of values as written; the paper takes lower edges of bins, which are 1.1 less. The weight of the odds is
not printed and that of parity instead. `--default` fits the same programs without weights in the default way.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
from harness import Clock, say, show, write_json
from paper_tables import PaperTable, load_table, predict, predict_gaps
from rules import RULES

from cuts.assess.panel import ReferenceRows, evaluate_panel
from cuts.assess.verify import verify
from cuts.config import Config, config_from
from cuts.count.kernel import count_rows
from cuts.count.rows import rows_of
from cuts.data.conform import conform
from cuts.data.table import Table
from cuts.effects import shape
from cuts.effects.rules import shares_satisfied
from cuts.effects.shaping import Learned
from cuts.flow.inputs import IMITATE
from cuts.flow.learn import OpenedRows, fit_free, prepare
from cuts.flow.run import fit, make_request
from cuts.lang.binder import bind
from cuts.lang.parser import parse
from cuts.lang.spec import MeasureOf, ModelAim
from cuts.model import store
from cuts.model.rejection import draw_candidates
from cuts.model.sampling import plan_chunks
from cuts.model.store import Model
from cuts.plan import Plan, plan, settle
from cuts.progress import FitStep, Observer

TABLE = "adult"
GROUPS = "protected=sex, target=salary"
LEARNER = "lr=0.1, n_epochs=15, batch_size=256"
RULE_WEIGHTS = {"I1": 7.5e-6, "I2": 7.5e-6, "I3": 7.5e-6, "RC1": 2.5e-6, "RC2": 7.5e-6}
CORRELATION = "(E[sex * salary] - E[sex] * E[salary]) / (STD[sex] * STD[salary] + 0.00001)"
Way = Literal["paper", "default"]


@dataclass(frozen=True, slots=True)
class Command:
    """A command of the paper: what is to be done, its kind, its weight and its body."""

    action: str
    kind: str
    weight: float
    body: str

    def text(self, way: Way) -> str:
        """The command as it is written; the default way needs no weight."""
        weight = f"PARAM {self.weight:.8f}: " if way == "paper" else ""
        return f"{self.action}: {self.kind}: {weight}{self.body};"


def _rule(name: str) -> Command:
    kind = "IMPLICATION" if name.startswith("I") else "ROW CONSTRAINT"
    return Command("ENFORCE", kind, RULE_WEIGHTS[name], RULES[TABLE][name])


def _fair(measure: str, more: str = "") -> Command:
    return Command("MINIMIZE", "FAIRNESS", 9e-4, f"{measure}({GROUPS}, {more}{LEARNER})")


_S1 = Command("ENFORCE", "STATISTICAL", 2.5e-5, "E[age] == 30")
_S2 = Command("ENFORCE", "STATISTICAL", 1.25e-5, "E[age|sex==Male] == E[age|sex==Female]")
_PARITY = _fair("DEMOGRAPHIC_PARITY")
PROGRAMS: dict[str, tuple[Command, ...]] = {
    "free": (),
    **{name: (_rule(name),) for name in RULE_WEIGHTS},
    "all": tuple(map(_rule, RULE_WEIGHTS)),
    "S1": (_S1,),
    "S2": (_S2,),
    "S3": (Command("ENFORCE", "STATISTICAL", 0.7525, f"{CORRELATION} == 0"),),
    "parity": (_PARITY,),
    "odds": (_fair("EQUALIZED_ODDS", 'desired_outcome=">50K", '),),
    "opportunity": (_fair("EQUALITY_OF_OPPORTUNITY", 'desired_outcome=">50K", '),),
    "predictability": (Command("MINIMIZE", "UTILITY", 1.33e-3, "DOWNSTREAM_ACCURACY(features=all, target=sex)"),),
    "stacked": (_PARITY, _S1, _S2, _rule("I3"), _rule("I2")),
}
GAPS = {"parity": 0, "stacked": 0, "opportunity": 1, "odds": 2}  # which of the gaps a program is about


@dataclass(frozen=True, slots=True)
class Figures:
    """The means of one program in one way."""

    program: str
    way: Way
    accuracy: float
    accuracy_std: float
    value: float | None
    before: float | None  # percent
    after: float | None  # percent
    acceptance: float | None  # percent
    cpu_seconds: float


def main() -> None:
    """Print one line per program and way."""
    asked = arguments()
    real = load_table(asked.data, TABLE, "uniform")
    paper = {} if asked.paper is None else json.loads(asked.paper.read_text())
    found: list[Figures] = []
    learned, free = pretrained(real, asked)
    for name in asked.programs:
        clock = Clock()
        say(f"{name}: fine-tuning")
        with clock.running():
            model = fine_tuned(name, free, learned)
        found.append(measured(name, "paper", model, real, asked.draws, clock.seconds))
        write_json(asked.json, [asdict(each) for each in found])
        if asked.default:
            say(f"{name}: the default way")
            with (clock := Clock()).running():
                program = parse(text_of(name, "default"))
                config = Config(threads=asked.threads)
                model = fit(make_request(program, real.train, schema=real.schema, config=config, seed=asked.seed)).model
            found.append(measured(name, "default", model, real, asked.draws, clock.seconds))
            write_json(asked.json, [asdict(each) for each in found])
    header = [
        "program",
        "way",
        "accuracy %",
        "std",
        "paper's %",
        "value",
        "paper's",
        "before %",
        "after %",
        "accepted %",
    ]
    title = f"Adult, one fit, {asked.draws} draws; pre-training {free.facts.steps} steps"
    show(title, [*header, "CPU s"], [line(each, paper) for each in found], left=2)


def arguments() -> argparse.Namespace:
    """What was asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, help="folder with adult/")
    parser.add_argument("--paper", type=Path, help="the paper's figures, .json")
    parser.add_argument("--programs", nargs="+", choices=list(PROGRAMS), default=list(PROGRAMS))
    parser.add_argument("--steps", type=int, default=10_000, help="of pre-training")
    parser.add_argument("--finetune-steps", type=int, default=500)
    parser.add_argument("--batch", type=int, default=15_000, help="rows made per step")
    parser.add_argument("--model", type=Path, help="the pre-trained network: read if it is there, else written")
    parser.add_argument("--default", action="store_true", help="fit the programs in the default way as well")
    parser.add_argument("--draws", type=int, default=3)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--json", type=Path, help="write all figures there")
    return parser.parse_args()


def text_of(name: str, way: Way) -> str:
    """The program of a name."""
    return f"SYNTHESIZE: {TABLE}; {' '.join(command.text(way) for command in PROGRAMS[name])} END;"


# --- the preset


def pretrained(real: PaperTable, asked: argparse.Namespace) -> tuple[Learned, Model]:
    """What is known of the train rows on bins that suit all programs, and the network before any command."""
    options = {"batch": asked.batch, "finetune_steps": asked.finetune_steps}
    given = {"preset": "paper", "steps": asked.steps, "threads": asked.threads, "backbone_options": options}
    config = replace(config_from(given), bins=None, binning=None)  # the paper's own edges are in the schema
    opened = OpenedRows(rows_of(real.train), real.schema).with_sample()
    plans = [_planned(name, opened, config) for name in PROGRAMS]
    prepared = prepare(plans, opened, config, asked.seed)
    learned = prepared.with_counts(count_rows(opened.rows, prepared.codec, prepared.cliques))
    if asked.model is not None and asked.model.exists():
        free = store.load(asked.model)
        return learned, replace(free, config=config, codec=learned.codec)
    free, learned = fit_free(learned, IMITATE, Observer(fitted=_told))
    say(f"pre-trained in {free.facts.cpu_seconds:.0f} CPU s, error {free.facts.error:.4f}")
    if asked.model is not None:
        store.save(replace(free, spec=bind(parse(IMITATE), real.schema)), asked.model)
    return learned, free


def fine_tuned(name: str, free: Model, learned: Learned) -> Model:
    """The network fine-tuned for a program."""
    opened = OpenedRows(rows_of(learned.sample), learned.codec.schema, learned.sample)
    planned = settle(_planned(name, opened, learned.config), learned.codec)
    start = replace(free, program=text_of(name, "paper"), spec=planned.spec)
    return shape(start, replace(learned, plan=planned), rows=learned.counts.rows, observer=Observer(fitted=_told)).model


def _planned(name: str, opened: OpenedRows, config: Config) -> Plan:
    return plan(bind(parse(text_of(name, "paper")), opened.schema), config)


def _told(step: FitStep) -> None:
    if step.step % 100 == 0:
        say(f"  step {step.step} of {step.steps}, error {step.error:.4f}")


# --- figures


def measured(name: str, way: Way, model: Model, real: PaperTable, draws: int, seconds: float) -> Figures:
    """The means over some draws of a model."""
    accuracies, values, after, acceptance = [], [], [], []
    for seed in range(draws):
        planned = plan_chunks(model, real.train.rows, seed=seed)
        chunks = [planned.make(number) for number in range(planned.count)]
        table = Table.join([chunk.table for chunk in chunks])
        predicted = predict(table, real, "bins")
        accuracies.append(predicted.accuracy)
        verdicts = verify(replace(model.spec, commands=model.spec.rules), table, interval=False)
        after += [100 * v.rows.satisfied / v.rows.total for v in verdicts if v.rows]
        acceptance += [100 * chunk.rejection.acceptance for chunk in chunks if chunk.rejection]
        if name in GAPS:
            values.append(predict_gaps(predicted, real)[0][GAPS[name]])
        elif name == "predictability":
            (aim,) = (command for command in model.spec.commands if isinstance(command, ModelAim))
            values.append(balanced_accuracy(aim.measure, table, real))
        elif name.startswith("S"):
            values.append(verify(model.spec, table, interval=False)[0].facts[0].measured)
    return Figures(
        name,
        way,
        float(np.mean(accuracies)),
        float(np.std(accuracies)),
        float(np.mean(values)) if values else None,
        before_rejection(model),
        min(after) if after else None,
        float(np.mean(acceptance)) if acceptance else None,
        seconds,
    )


def balanced_accuracy(measure: MeasureOf, table: Table, real: PaperTable) -> float:
    """How well XGBoost predicts a column of the test rows."""
    balanced = replace(measure, name="DOWNSTREAM_BALANCED_ACCURACY")
    return evaluate_panel(balanced, table, ReferenceRows(real.test, real.schema), ("xgboost",)).deciding.value


def before_rejection(model: Model) -> float | None:
    """The lowest percentage of a network's rows that satisfy a rule, of those it applies to."""
    if model.network is None or not model.spec.rules:
        return None
    rows = draw_candidates(model.network, model.codec, chunk=0, batch=0, seed=0)
    typed = conform(rows, model.codec.schema)
    return min(100 * shares_satisfied(rule.pred, typed)[1] for rule in model.spec.rules)


def line(found: Figures, paper: dict[str, Any]) -> list[str]:
    """The cells of a program, beside the paper's."""
    accuracy, value = published(found.program, paper)
    numbers: Sequence[tuple[float | None, str]] = (
        (found.accuracy, ".2f"),
        (found.accuracy_std, ".2f"),
        (accuracy, ".1f"),
        (found.value, ".4f"),
        (value, ".3f"),
        (found.before, ".2f"),
        (found.after, ".2f"),
        (found.acceptance, ".2f"),
        (found.cpu_seconds, ".0f"),
    )
    return [found.program, found.way, *("-" if number is None else format(number, form) for number, form in numbers)]


def published(name: str, paper: dict[str, Any]) -> tuple[float | None, float | None]:
    """The paper's accuracy of a program, and its number."""
    if not paper:
        return None, None
    if name in RULE_WEIGHTS:
        return paper["logical_csr100"][TABLE]["CuTS FT+RS"][name][0], None
    if name.startswith("S"):
        told = paper["statistical_adult"][name]
        return told["xgb"], next(told[key] for key in ("mean_age", "age_gap_years", "correlation") if key in told)
    if name == "predictability":
        told = paper["predictability_adult"]
        return told["xgb"], told["balanced_accuracy_after"] / 100
    if name == "stacked":
        accuracy, gap, *_ = paper["stacked"][TABLE][-1]
        return accuracy[0], gap[0]
    if name == "all":
        return paper["logical_csr100"][TABLE]["all_five_together"]["xgb"], None
    if name == "free":
        return paper["unconstrained"][TABLE]["non_private"]["CuTS"]["xgb"][0], None
    place, key = {
        "parity": ("fairness_demographic_parity", "dp"),
        "odds": ("fairness_equalized_odds_adult_sex", "eo"),
        "opportunity": ("fairness_equality_of_opportunity_adult_sex", "eoo"),
    }[name]
    told = paper[place]["adult_sex"] if name == "parity" else paper[place]
    return told["non_private"]["CuTS"]["xgb"][0], told["non_private"]["CuTS"][key][0]


if __name__ == "__main__":
    main()
