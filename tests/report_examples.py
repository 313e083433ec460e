"""Reports to render: a full one like that of Adult, a private one, a minimal one, a wide one and a hostile one."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from random import Random

from cuts.assess.discriminator import Discriminator
from cuts.assess.downstream import Score
from cuts.assess.drift import Drift
from cuts.assess.fairness import Fairness, LearnerGaps
from cuts.assess.leakage import Copies, Leakage, Nearness
from cuts.report.facts import (
    Charge,
    Classifiers,
    ColumnBecame,
    CommandFacts,
    CommandNumber,
    Distribution,
    Figure,
    Fingerprints,
    Known,
    Likeness,
    Matrix,
    MemoryFacts,
    PairDifference,
    PanelLine,
    PrivacyFacts,
    Report,
    RunFacts,
    TradeOffFacts,
    TradeOffPoint,
)

PROGRAM = """\
# Which rows may be in the table, which means it must have, and which groups a classifier must treat alike.
SYNTHESIZE: adult;

    # marital status and relationship are consistent
    ENFORCE: IMPLICATION: marital_status IN {Divorced, Never_married}
        IMPLIES relationship NOT IN {Husband, Wife};
    ENFORCE: IMPLICATION: relationship == Wife IMPLIES sex == Female;
    ENFORCE: ROW CONSTRAINT: 18 <= age < 65;

    ENFORCE: STATISTICAL: E[age | sex == Male] == E[age | sex == Female] WITHIN 0.1;
    MINIMIZE: FAIRNESS: DEMOGRAPHIC_PARITY(protected=sex, target=salary);

END;
"""

NUMBERS = {
    "age": (17, 90),
    "fnlwgt": (13_769, 1_484_705),
    "education_num": (1, 16),
    "capital_gain": (0, 99_999),
    "capital_loss": (0, 4_356),
    "hours_per_week": (1, 99),
}
CATEGORIES = {
    "workclass": "Private Self_emp_not_inc Local_gov State_gov Self_emp_inc Federal_gov Without_pay",
    "education": "HS_grad Some_college Bachelors Masters Assoc_voc 11th Assoc_acdm 10th 7th_8th Prof_school 9th "
    "12th Doctorate 5th_6th 1st_4th Preschool",
    "marital_status": "Married_civ_spouse Never_married Divorced Separated Widowed Married_spouse_absent "
    "Married_AF_spouse",
    "occupation": "Prof_specialty Craft_repair Exec_managerial Adm_clerical Sales Other_service Machine_op_inspct "
    "Transport_moving Handlers_cleaners Farming_fishing Tech_support Protective_serv Priv_house_serv",
    "relationship": "Husband Not_in_family Own_child Unmarried Wife Other_relative",
    "race": "White Black Asian_Pac_Islander Amer_Indian_Eskimo Other",
    "sex": "Male Female",
    "native_country": "United_States Mexico Philippines Germany Puerto_Rico Canada India El_Salvador Cuba England "
    "Jamaica other",
    "salary": "<=50K >50K",
}
NAMES = [
    "age",
    "workclass",
    "fnlwgt",
    "education",
    "education_num",
    "marital_status",
    "occupation",
    "relationship",
    "race",
    "sex",
    "capital_gain",
    "capital_loss",
    "hours_per_week",
    "native_country",
    "salary",
]
LEARNERS = ("xgboost", "random forest", "logistic regression")


def full() -> Report:
    """Adult with five commands, of which one is measured."""
    return Report(
        table="adult",
        created="2026-11-18T04:06:00Z",
        rows=30_162,
        real_rows=30_162,
        columns=columns(NAMES),
        holds=True,
        commands=commands(),
        likeness=likeness(NAMES),
        classifiers=classifiers(),
        memory=memory(),
        privacy=None,
        run=run_facts(),
        left_out=(),
        stamp="contains non-private statistics: computed from real rows",
    )


def failing() -> Report:
    """The full one, in which a rule fails and another applies to no row."""
    first, second, third, *rest = commands()
    broken = (
        "row 17: marital_status=Divorced, relationship=Husband",
        "row 2,041: marital_status=Never_married, relationship=Wife",
    )
    failed = replace(
        first,
        outcome="fails",
        numbers=(replace(first.numbers[0], after=Figure(0.9991, "99.91 %"), holds=False),),
        broken_by=broken,
    )
    empty = replace(second, outcome="no rows", note="no row has relationship == Wife")
    return replace(full(), holds=False, commands=(failed, empty, third, *rest))


def private() -> Report:
    """A private table: no statistic of real rows, and a ledger."""
    charge = "pairs of columns chosen by the exponential mechanism, then counted"
    facts = PrivacyFacts(
        promise="(epsilon, delta)-differential privacy for one person with at most 3 rows, under adding or removing "
        "the person. Whoever sees this report and the table learns almost nothing about whether a person is in it.",
        epsilon=1.0,
        delta=1e-9,
        epsilon_spent=0.9981,
        charges=(
            Charge("number of rows", 1, "sigma 93.1", "0.00052", 0.05),
            Charge("single columns", 15, "sigma 214", "0.0031", 0.298),
            Charge(charge, 24, "sigma 301", "0.0068", 0.652),
        ),
        known=(
            Known("age", 33, Figure(0.4, "mean ± 0.4"), 0.0276, True),
            Known("native_country", 41, Figure(0.0018, "share ± 0.18 %"), 0.31, False),
            Known("sex", 2, Figure(0.0018, "share ± 0.18 %"), 0.0014, True),
        ),
    )
    numbers = [
        tuple(replace(number, real=None) for number in command.numbers if number.name != "parity gap")
        for command in commands()
    ]
    return replace(
        full(),
        real_rows=30_214,
        commands=tuple(
            replace(command, numbers=part or command.numbers, price=None)
            for command, part in zip(commands(), numbers, strict=True)
        ),
        likeness=None,
        classifiers=replace(
            classifiers(), scores=(), fairness=None, target=None, panel_rows="rows sampled from the private model"
        ),
        memory=None,
        privacy=facts,
        run=replace(run_facts(), seconds=()),
        left_out=(
            "Likeness: comparing with the real rows would reveal statistics of private data.",
            "Memory: the search for copies reads the real rows.",
        ),
        stamp="differentially private: contains no statistic of the real rows beyond the release",
    )


def minimal() -> Report:
    """A table without commands and without a label."""
    names = ["age", "sex"]
    facts = run_facts()
    return Report(
        table="people",
        created="2026-11-18T04:06:00Z",
        rows=10,
        real_rows=12,
        columns=columns(names),
        holds=True,
        commands=(),
        likeness=None,
        classifiers=None,
        memory=None,
        privacy=None,
        run=replace(facts, program="SYNTHESIZE: people; END;\n", fit_error_floor=None, seconds=(), fit_failed=True),
        left_out=("Likeness: too few rows to train a discriminator (10 of each needed).",),
        stamp="contains non-private statistics: computed from real rows",
    )


def wide(count: int = 40) -> Report:
    """A table with this many numeric columns with long names."""
    names = [f"measurement_of_sensor_{index:03d}" for index in range(count)]
    rng = Random(count)
    return replace(
        full(),
        table="sensors",
        columns=columns(names),
        likeness=replace(
            likeness(names),
            dependence=matrix(names, rng, signed=False),
            correlations=matrix(names, rng, signed=True),
        ),
    )


NASTY = (
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "</style><style>body{display:none}</style>",
    "{{ 7 * 7 }}{% raw %}",
    "it's \"quoted\" & `ticked` 'twice'",
    "Größe 身高 \u202egnisrever\u202c 👩‍👩‍👧 \u0000\u0007",
    "x" * 10_000,
    "javascript:alert(1)//\n]]>-->",
)


def hostile() -> Report:
    """The full one, with every text replaced by one that would do harm if it were not escaped."""
    names = [*NASTY, "age"]
    bins = (*NASTY, "other")
    shares = tuple(1 / len(bins) for _ in bins)
    base = full()
    assert base.classifiers is not None
    assert base.likeness is not None
    evil = "".join(NASTY)
    number = replace(commands()[0].numbers[0], name=evil, target=NASTY[0], range=NASTY[1], after=Figure(1.0, NASTY[0]))
    return replace(
        base,
        table=evil,
        stamp=NASTY[0],
        left_out=NASTY,
        columns=tuple(ColumnBecame(name, name, evil, 3, NASTY[0], NASTY) for name in names),
        commands=tuple(
            replace(command, command=evil, promise=evil, how=evil, note=evil, broken_by=NASTY, numbers=(number,))
            for command in base.commands
        ),
        likeness=replace(
            base.likeness,
            drifts=tuple(Drift(name, f"share of `{name}`", 0.1, 0.2, 0.3) for name in names),
            distributions=tuple(Distribution(name, "category", bins, shares, shares, 0.01, 0.02) for name in names)
            + tuple(Distribution(name, "number", bins, shares, shares, 0.01, 0.02) for name in names),
            pairs=tuple(PairDifference((name, names[0]), 0.1, 0.01) for name in names),
            dependence=matrix(names, Random(3), signed=False),
            correlations=matrix(names, Random(4), signed=True),
        ),
        classifiers=replace(
            base.classifiers,
            panel=tuple(replace(line, command=evil, learner=NASTY[0]) for line in base.classifiers.panel),
            trade_offs=tuple(
                replace(t, command=evil, measure=NASTY[0], utility=NASTY[1]) for t in base.classifiers.trade_offs
            ),
            target=evil,
            fairness=Fairness(evil, evil, {NASTY[0]: dict.fromkeys(names, 3)}, fairness().learners),
            tested_on=evil,
        ),
        run=replace(
            base.run, program=f"{NASTY[0]}\n{NASTY[1]}\n{evil}\n", output=evil, settings=((NASTY[0], NASTY[1]),)
        ),
    )


def columns(names: list[str]) -> tuple[ColumnBecame, ...]:
    """What became of each column."""
    found = []
    for name in names:
        role = {"salary": "label", "sex": "protected"}.get(name, "")
        if name in CATEGORIES:
            values = CATEGORIES[name].split()
            found.append(ColumnBecame(name, "category", ", ".join(values), len(values), role, ()))
        else:
            low, high = NUMBERS.get(name, (0, 100))
            notes = ("92 % of the values are 0, which has its own bin",) if name.startswith("capital") else ()
            found.append(ColumnBecame(name, "integer", f"{low:,} to {high:,}", 33, role, notes))
    return tuple(found)


def commands() -> tuple[CommandFacts, ...]:
    """Three row rules, a statistic and a measure of classifiers."""

    def rule(line: int, text: str, real: str, before: str) -> CommandFacts:
        number = CommandNumber(
            "rows that satisfy it",
            Figure(float(real) / 100, f"{real} %"),
            Figure(float(before) / 100, f"{before} %"),
            Figure(1.0, "100 %"),
            "every row",
            None,
            "",
            True,
        )
        how = "rows are sampled so that they cannot break the rule"
        return CommandFacts(line, text, "row", "holds", "guaranteed", how, (number,), Figure(0.0, "0 %"), "", ())

    mean = CommandNumber(
        "E[age | sex == Male] - E[age | sex == Female]",
        Figure(2.302, "2.302"),
        Figure(2.287, "2.287"),
        Figure(0.012, "0.012"),
        "== 0",
        Figure(0.1, "0.1"),
        "-0.28 .. 0.31",
        True,
    )
    gap = CommandNumber(
        "parity gap",
        Figure(0.1841, "0.184"),
        Figure(0.1841, "0.184"),
        Figure(0.000952, "0.00095"),
        "",
        None,
        "0.00018 .. 0.012",
        None,
    )
    return (
        rule(
            5,
            "ENFORCE: IMPLICATION: marital_status IN {Divorced, Never_married}\n"
            "    IMPLIES relationship NOT IN {Husband, Wife};",
            "99.98",
            "99.21",
        ),
        rule(7, "ENFORCE: IMPLICATION: relationship == Wife IMPLIES sex == Female;", "99.99", "99.62"),
        rule(8, "ENFORCE: ROW CONSTRAINT: 18 <= age < 65;", "95.68", "95.71"),
        CommandFacts(
            10,
            "ENFORCE: STATISTICAL: E[age | sex == Male] == E[age | sex == Female] WITHIN 0.1;",
            "table",
            "holds",
            "checked",
            "weights of the components tilted until the mean is met, rows selected to match it",
            (mean,),
            Figure(0.0011, "0.11 %"),
            "",
            (),
        ),
        CommandFacts(
            11,
            "MINIMIZE: FAIRNESS: DEMOGRAPHIC_PARITY(protected=sex, target=salary);",
            "model",
            "measured",
            "encouraged",
            "group rates of `salary` adjusted until XGBoost reaches parity on `sex`",
            (gap,),
            Figure(0.0286, "2.86 %"),
            "there is no target, so there is no verdict",
            (),
        ),
    )


def likeness(names: list[str]) -> Likeness:
    """How the table compares, with numbers that look like those of a good fit."""
    rng = Random(7)
    distributions = [
        category(name, rng) if name in CATEGORIES else number(name, rng, *NUMBERS.get(name, (0, 100))) for name in names
    ]
    numeric = [name for name in names if name not in CATEGORIES]
    pairs = [PairDifference((a, b), rng.uniform(0.01, 0.09), 0.02) for a, b in pairwise(names)]
    return Likeness(
        discriminator=Discriminator(rows=5_000, auc=0.534, standard_error=0.006, train_auc=0.501),
        drifts=(
            Drift("salary", "share of `>50K`", 0.2489, 0.2671, 0.042),
            Drift("age", "mean", 38.44, 37.61, 0.071),
            Drift("capital_gain", "mean", 1092.0, 1034.5, 0.031),
            Drift("occupation", "missing", 0.0, 0.0011, 0.02),
        ),
        distributions=tuple(distributions),
        pairs=tuple(sorted(pairs, key=lambda pair: -pair.distance)[:10]),
        dependence=matrix(names, rng, signed=False),
        correlations=matrix(numeric, rng, signed=True) if len(numeric) > 1 else None,
    )


def category(name: str, rng: Random) -> Distribution:
    """A column with falling shares."""
    values = CATEGORIES[name].split()
    real = _normalised([0.62**index + 0.004 for index in range(len(values))])
    synthetic = _normalised([share * rng.uniform(0.93, 1.07) for share in real])
    return _distribution(name, "category", values, real, synthetic, 3 if "other" in values else 0)


def number(name: str, rng: Random, low: float, high: float) -> Distribution:
    """A column with a hump, and missing values in one of them."""
    count = 24
    width = (high - low) / count
    bins = [f"{low + i * width:,.0f} to {low + (i + 1) * width:,.0f}" for i in range(count)]
    heights = [1 / (1 + ((i - 7) / 5) ** 2) + (4 if i == 0 and name.startswith("capital") else 0) for i in range(count)]
    if name == "hours_per_week":
        bins, heights = [*bins, "missing"], [*heights, 0.4]
    real = _normalised(heights)
    return _distribution(name, "number", bins, real, _normalised([h * rng.uniform(0.85, 1.15) for h in real]), 0)


def matrix(names: list[str], rng: Random, *, signed: bool) -> Matrix:
    """A symmetric matrix, and a second one near it; the last number is undefined."""
    size = len(names)
    real: list[list[float | None]] = [[1.0] * size for _ in range(size)]
    synthetic: list[list[float | None]] = [[1.0] * size for _ in range(size)]
    for i in range(size):
        for j in range(i):
            value = rng.random() ** 3 * (rng.choice((-1, 1)) if signed else 1)
            near = max(-1.0 if signed else 0.0, min(1.0, value + rng.gauss(0, 0.04)))
            real[i][j] = real[j][i] = value
            synthetic[i][j] = synthetic[j][i] = near if (i, j) != (size - 1, 0) else None
    return Matrix(tuple(names), tuple(map(tuple, real)), tuple(map(tuple, synthetic)))


def classifiers() -> Classifiers:
    """Three learners, the panel of one command and its trade-off."""
    values = ((0.00095, 0.8484, "0.00018 .. 0.012"), (0.000025, 0.8341, "0.00017 .. 0.011"))
    panel = [
        PanelLine(11, commands()[4].command, learner, Figure(value, f"{value:g}"), interval,
                  Figure(accuracy, f"{100 * accuracy:.2f} %"), learner == "xgboost")
        for learner, (value, accuracy, interval) in zip(
            LEARNERS, (*values, (0.0326, 0.8219, "0.022 .. 0.042")), strict=True
        )
    ]  # fmt: skip
    trials = ((0.05195, 0.8596), (0.01542, 0.8531), (0.006924, 0.8503), (0.001505, 0.8487))
    measures = {"xgboost": (0.8484, 0.8661), "random forest": (0.8341, 0.8466), "logistic regression": (0.8219, 0.8471)}
    return Classifiers(
        panel=tuple(panel),
        panel_rows="the real rows that the table was made from",
        trade_offs=(
            TradeOffFacts(
                11,
                commands()[4].command,
                "parity gap",
                "accuracy of predicting `salary`",
                TradeOffPoint(0.1841, 0.8737),
                tuple(TradeOffPoint(*trial) for trial in trials),
                0.001505,
            ),
        ),
        target="salary",
        scores=tuple(
            Score(learner, "synthetic" if index == 0 else "train", 30_162,  # type: ignore[arg-type]
                  {"accuracy": scores[index], "balanced_accuracy": scores[index] - 0.08, "auc": scores[index] + 0.05})
            for index in (0, 1)
            for learner, scores in measures.items()
        ),
        fairness=fairness(),
        tested_on="15,060 test rows that the model has not seen",
    )  # fmt: skip


def fairness() -> Fairness:
    """The gaps of three learners."""
    real = {"DEMOGRAPHIC_PARITY": 0.184, "EQUALITY_OF_OPPORTUNITY": 0.071, "EQUALIZED_ODDS": 0.073}
    synthetic = {"DEMOGRAPHIC_PARITY": 0.006, "EQUALITY_OF_OPPORTUNITY": 0.122, "EQUALIZED_ODDS": float("nan")}
    return Fairness(
        "salary",
        ">50K",
        {"sex": {"Male": 10_147, "Female": 4_913}},
        tuple(
            LearnerGaps("sex", learner, source, {name: gap + 0.01 * place for name, gap in gaps.items()})  # type: ignore[arg-type]
            for source, gaps in (("synthetic", synthetic), ("train", real))
            for place, learner in enumerate(LEARNERS)
        ),
    )


def memory() -> MemoryFacts:
    """A table in which nothing was memorised."""
    near = Nearness(5_000, 10_000, 0.507, 0.006, 0.012, 0.041, 0.013, 0.042, 0.68)
    return MemoryFacts(
        copies=0.0021,
        twins=0.0017,
        leakage=Leakage(near, Copies(0.0021, 0.0011, 0.0012, 15_060), Copies(0.031, 0.017, 0.0172, 15_060)),
        trial="While fitting, held-out rows were as likely under the model as the rows it was fitted to.",
        smoothing=0.0,
    )


def run_facts() -> RunFacts:
    """The facts of a run on a laptop."""
    return RunFacts(
        program=PROGRAM,
        seed=0,
        rows=30_162,
        output="adult-synthetic.csv",
        backbone="table",
        components=4_930,
        fit_error=Figure(0.018, "0.018"),
        fit_error_floor=Figure(0.012, "0.012"),
        fit_failed=False,
        steps=1_200,
        selection="Selected from 120,648 candidate rows, none twice (effective sample size 120,648).",
        settings=(("components", "auto"), ("steps", "1200"), ("boxes", "true"), ("fine", "rank trees")),
        versions=(("cuts", "0.1.0"), ("python", "3.11.2"), ("torch", "2.13.0"), ("numpy", "2.4.6")),
        seconds=(("read", 1.8), ("fit", 61.3), ("commands", 48.9), ("sample", 7.2), ("measure", 31.0)),
        fingerprints=Fingerprints("a3" * 32, "0b" * 32, "9e" * 32),
    )


def _distribution(
    name: str, kind: str, bins: list[str], real: list[float], synthetic: list[float], others: int
) -> Distribution:
    distance = sum(abs(p - q) for p, q in zip(real, synthetic, strict=True)) / 2
    return Distribution(name, kind, tuple(bins), tuple(real), tuple(synthetic), distance, 0.011, others)  # type: ignore[arg-type]


def _normalised(values: list[float]) -> list[float]:
    return [value / sum(values) for value in values]
