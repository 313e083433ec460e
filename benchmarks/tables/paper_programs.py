"""The paper's programs of Adult with their printed weights: the preset `paper`, the paper's figures, the default.

The network is pre-trained once, on bins that suit all programs, and fine-tuned for each of them from there. Numbers are
cut into the paper's 32 even bins, with the constants of rules as further edges, and the learner sees the 32 bins. Each
program is sampled several times with as many rows as there are train rows; all figures are means over the samples, on
test rows that nothing was trained on. `before` is the percentage of the network's rows that satisfy a rule, of those it
applies to, before any is rejected, the lowest of all rules; `after` the same of the table. `value` is the number a
program is about: the mean age, the difference of two, a correlation, a gap between groups, or the balanced accuracy of
XGBoost for `sex`. Mean ages are of values as written; the paper takes lower edges of bins, which are 1.1 less. The
paper does not print the weight of the odds; it is that of parity here.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.harness import Clock, say
from benchmarks.markdown import NOT_YET, table
from benchmarks.paper_tables import PaperTable, load_table, predict, predict_gaps
from benchmarks.programs import RULES
from benchmarks.records import Records
from benchmarks.table import Measured, Options, Table, Task
from cuts.assess.panel import ReferenceRows, evaluate_panel
from cuts.assess.verify import verify
from cuts.config import Config, config_from
from cuts.count.kernel import count_rows
from cuts.count.rows import rows_of
from cuts.data.conform import conform
from cuts.data.table import Table as Rows
from cuts.effects import shape
from cuts.effects.rules import shares_satisfied
from cuts.effects.shaping import Learned
from cuts.flow.inputs import IMITATE
from cuts.flow.learn import OpenedRows, fit_free, prepare
from cuts.lang.binder import bind
from cuts.lang.parser import parse
from cuts.lang.spec import MeasureOf, ModelAim
from cuts.model.rejection import draw_candidates
from cuts.model.sampling import plan_chunks
from cuts.model.store import Model
from cuts.plan import Plan, plan, settle
from cuts.progress import FitStep, Observer

FILE = "preset-programs"
ADULT = "adult"
SEED = 0
PUBLISHED = Path(__file__).parents[1] / "published.toml"
GROUPS = "protected=sex, target=salary"
LEARNER = "lr=0.1, n_epochs=15, batch_size=256"
RULE_WEIGHTS = {"I1": 7.5e-6, "I2": 7.5e-6, "I3": 7.5e-6, "RC1": 2.5e-6, "RC2": 7.5e-6}
CORRELATION = "(E[sex * salary] - E[sex] * E[salary]) / (STD[sex] * STD[salary] + 0.00001)"


@dataclass(frozen=True, slots=True)
class Budget:
    """How long the network is trained, and how many tables are sampled from it."""

    steps: int  # of pre-training
    finetune_steps: int
    batch: int  # rows made per step
    samples: int
    programs: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Command:
    """A command of the paper: what is to be done, its kind, its weight and its body."""

    action: str
    kind: str
    weight: float
    body: str

    @property
    def text(self) -> str:
        """The command as it is written."""
        return f"{self.action}: {self.kind}: PARAM {self.weight:.8f}: {self.body};"


def _rule(name: str) -> Command:
    kind = "IMPLICATION" if name.startswith("I") else "ROW CONSTRAINT"
    return Command("ENFORCE", kind, RULE_WEIGHTS[name], RULES[ADULT][name])


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
GAPS = {
    "parity": "parity",
    "stacked": "parity",
    "opportunity": "opportunity",
    "odds": "odds",
}  # what a program is about
ELSEWHERE = {"predictability": "hide", "stacked": "stacked-5"}  # names in the paper's tables, where they differ
FULL = Budget(2_000, 200, 15_000, 3, tuple(PROGRAMS))
QUICK = Budget(20, 5, 1_000, 1, ("I3", "S1"))


def tables() -> Iterator[Table]:
    """The one table of this module."""
    title = "The paper's programs of Adult under the preset `paper`"
    yield Table("preset-programs", title, "preset", tasks, page, in_all=False)


def tasks(options: Options) -> list[Task]:
    """All programs in one process: they share the pre-trained network."""
    budget = QUICK if options.quick else FULL
    return [Task("preset-programs", FILE, budget.programs, measure, (options.data, budget))]


def measure(keys: tuple[str, ...], data: Path | None, budget: Budget) -> Measured:
    """The figures of each program."""
    real = load_table(data, ADULT, "uniform")
    learned, free = pretrained(real, budget)
    for name in keys:
        clock = Clock()
        with clock.running():
            model = fine_tuned(name, free, learned)
        cost = {"pretraining_seconds": free.facts.cpu_seconds, "finetuning_seconds": clock.seconds}
        steps = {"steps": free.facts.steps, "finetune_steps": budget.finetune_steps, "samples": budget.samples}
        yield name, {**figures(name, model, real, budget.samples), **cost, **steps}


def text_of(name: str) -> str:
    """The program of a name."""
    return f"SYNTHESIZE: {ADULT}; {' '.join(command.text for command in PROGRAMS[name])} END;"


# --- the preset


def pretrained(real: PaperTable, budget: Budget) -> tuple[Learned, Model]:
    """What is known of the train rows on bins that suit all programs, and the network before any command."""
    options = {"batch": budget.batch, "finetune_steps": budget.finetune_steps}
    given = {"preset": "paper", "steps": budget.steps, "threads": 1, "backbone_options": options}
    config = replace(config_from(given), bins=None, binning=None)  # the paper's own edges are in the schema
    opened = OpenedRows(rows_of(real.train), real.schema).with_sample()
    plans = [_planned(name, opened, config) for name in PROGRAMS]
    prepared = prepare(plans, opened, config, SEED)
    learned = prepared.with_counts(count_rows(opened.rows, prepared.codec, prepared.cliques))
    free, learned = fit_free(learned, IMITATE, Observer(fitted=_told))
    return learned, free


def fine_tuned(name: str, free: Model, learned: Learned) -> Model:
    """The network fine-tuned for a program."""
    opened = OpenedRows(rows_of(learned.sample), learned.codec.schema, learned.sample)
    planned = settle(_planned(name, opened, learned.config), learned.codec)
    start = replace(free, program=text_of(name), spec=planned.spec)
    return shape(start, replace(learned, plan=planned), rows=learned.counts.rows, observer=Observer(fitted=_told)).model


def _planned(name: str, opened: OpenedRows, config: Config) -> Plan:
    return plan(bind(parse(text_of(name)), opened.schema), config)


def _told(step: FitStep) -> None:
    if step.step % 100 == 0:
        say(f"  step {step.step} of {step.steps}, error {step.error:.4f}")


# --- figures


def figures(name: str, model: Model, real: PaperTable, samples: int) -> dict[str, Any]:
    """The means over some samples of a model; percentages, but for the value that a program is about."""
    accuracies, values, after, acceptance = [], [], [], []
    for seed in range(samples):
        planned = plan_chunks(model, real.train.rows, seed=seed)
        chunks = [planned.make(number) for number in range(planned.count)]
        table = Rows.join([chunk.table for chunk in chunks])
        predicted = predict(table, real, "bins")
        accuracies.append(predicted.accuracy)
        verdicts = verify(replace(model.spec, commands=model.spec.rules), table, interval=False)
        after += [100 * verdict.rows.satisfied / verdict.rows.total for verdict in verdicts if verdict.rows]
        acceptance += [100 * chunk.rejection.acceptance for chunk in chunks if chunk.rejection]
        if name in GAPS:
            values.append(predict_gaps(predicted, real)[GAPS[name]])
        elif name == "predictability":
            (aim,) = (command for command in model.spec.commands if isinstance(command, ModelAim))
            values.append(balanced_accuracy(aim.measure, table, real))
        elif name.startswith("S"):
            values.append(verify(model.spec, table, interval=False)[0].facts[0].measured)
    return {
        "accuracy": float(np.mean(accuracies)),
        "accuracy_std": float(np.std(accuracies)),
        "value": float(np.mean(values)) if values else None,
        "before": before_rejection(model),
        "after": min(after) if after else None,
        "acceptance": float(np.mean(acceptance)) if acceptance else None,
    }


def balanced_accuracy(measure: MeasureOf, table: Rows, real: PaperTable) -> float:
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


# --- page


def page(records: Records) -> str:
    """One line per program: the preset, the paper's figures, and the default's accuracy if it was measured."""
    found, defaults = records.read(FILE), records.read(ADULT)
    if not found:
        return NOT_YET
    published = tomllib.loads(PUBLISHED.read_text(encoding="utf-8"))[ADULT]["plain"]
    lines = [
        _cells(name, found[name], published.get(ELSEWHERE.get(name, name), {}), _default(name, defaults))
        for name in PROGRAMS
        if name in found
    ]
    any_one = next(iter(found.values()))
    intro = (
        f"The paper's programs with its weights: one network, pre-trained for {any_one['steps']:,} steps (the paper: "
        f"10,000) and fine-tuned for {any_one['finetune_steps']:,} per program (200 or 500); means over "
        f"{any_one['samples']} sampled tables. The value is what the program is about: a mean age in years, a "
        "difference of mean ages, a correlation, a gap between the sexes, or the balanced accuracy of predicting "
        "`sex`. Satisfaction is the lowest percentage of rows that satisfy a rule, before and after rejection. CPU "
        f"seconds are of the fine-tuning; pre-training took {any_one['pretraining_seconds']:,.0f}."
    )
    header = [
        "program",
        "accuracy %",
        "paper's accuracy %",
        "default's accuracy %",
        "value",
        "paper's value",
        "satisfied before %",
        "satisfied after %",
        "accepted %",
        "CPU s",
    ]
    return f"{intro}\n\n{table(header, lines)}"


def _cells(name: str, found: dict[str, Any], printed: dict[str, list[float]], default: float | None) -> list[str]:
    """The cells of a program."""
    accuracy = printed.get("accuracy") or printed.get("fine_tuning")
    value = printed.get("value") or printed.get("gap")
    if "balanced_accuracy" in printed:
        value = [printed["balanced_accuracy"][0] / 100]
    numbers: Sequence[tuple[float | None, str]] = (
        (accuracy[0] if accuracy else None, ".1f"),
        (default, ".2f"),
        (found["value"], ".3f"),
        (value[0] if value else None, ".3g"),
        (found["before"], ".2f"),
        (found["after"], ".2f"),
        (found["acceptance"], ".2f"),
        (found["finetuning_seconds"], ".0f"),
    )
    own = f"{found['accuracy']:.2f} ± {found['accuracy_std']:.2f}"
    return [name, own, *("" if number is None else format(number, form) for number, form in numbers)]


def _default(name: str, found: dict[str, dict[str, Any]]) -> float | None:
    """The mean accuracy of the default on the same bins, from the paper's tables."""
    start = f"{ADULT}/uniform/{ELSEWHERE.get(name, name)}/"
    draws = [draw["accuracy"] for key, each in found.items() if key.startswith(start) for draw in each["draws"]]
    return float(np.mean(draws)) if draws else None
