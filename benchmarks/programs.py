"""The paper's programs by table of rows, and further ones that stand beside them.

The commands are those of the paper without its weights. Statistics state a tolerance: half a tenth of a year for a
mean age alone, a tenth in a stacked program, where the fairness loop meets it again at every trial.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from benchmarks import health_programs

CORRELATION = "(E[{0} * {1}] - E[{0}] * E[{1}]) / (STD[{0}] * STD[{1}] + 0.00001) == 0 WITHIN 0.005"
RULE_NAMES = ("I1", "I2", "I3", "RC1", "RC2")

RULES: dict[str, dict[str, str]] = {
    "adult": {
        "I1": "marital_status == Widowed OR relationship == Wife IMPLIES sex == Female",
        "I2": "marital_status in {Divorced, Never_married} IMPLIES relationship not in {Husband, Wife}",
        "I3": "workclass in {Federal_gov, Local_gov, State_gov} "
        "IMPLIES education in {Bachelors, Some_college, Masters, Doctorate}",
        "RC1": "sex == Female",
        "RC2": "age > 35 AND age < 55",
    },
    "german": {
        "I1": "A20 == A201 OR A17 in {A171, A172} IMPLIES A17 in {A171, A172, A173}",
        "I2": "A15 in {A151, A153} IMPLIES A17 == A173",
        "I3": "A12 == A121 AND A13 < 40 IMPLIES A9 == A91",
        "RC1": "A13 > 30 AND A13 < 50",
        "RC2": "A15 not in {A151, A153} AND A6 != A61",
    },
    "compas": {
        "I1": "age < 30 IMPLIES priors_count <= 1",
        "I2": "c_charge_degree == F AND v_score_text == Low IMPLIES diff_jail <= 75000",
        "I3": "priors_count > 2 OR diff_jail > 200000 IMPLIES c_charge_degree == M",
        "RC1": "age < 30",
        "RC2": "priors_count <= 1",
    },
}
RULES["compas_binary_race"] = RULES["compas"]

Commands = tuple[str, ...]


def _rule(rows: str, name: str, mode: str = "") -> str:
    kind = "ROW CONSTRAINT" if name.startswith("RC") else "IMPLICATION"
    return f"ENFORCE: {kind}: {RULES[rows][name]}{mode}"


def _stacked(rows: str, parity: str, first: str, second: str) -> dict[str, Commands]:
    """The paper's mixed programs: one more command in each, in its order."""
    commands = (f"MINIMIZE: {parity}", f"ENFORCE: {first}", f"ENFORCE: {second}", _rule(rows, "I3"), _rule(rows, "I2"))
    return {"parity": commands[:1], **{f"stacked-{count}": commands[:count] for count in range(2, 6)}}


def _rules(rows: str) -> dict[str, Commands]:
    return {name: (_rule(rows, name),) for name in RULES[rows]}


_ADULT = "protected=sex, target=salary"
_CONDITION = " WITH mode=condition"
_PROGRAMS: dict[str, dict[str, Commands]] = {
    "adult": {
        "free": (),
        **_stacked(
            "adult",
            f"DEMOGRAPHIC_PARITY({_ADULT})",
            "E[age] == 30 WITHIN 0.1",
            "E[age | sex == Male] == E[age | sex == Female] WITHIN 0.1",
        ),
        "odds": (f'MINIMIZE: EQUALIZED_ODDS({_ADULT}, desired_outcome=">50K")',),
        "opportunity": (f'MINIMIZE: EQUALITY_OF_OPPORTUNITY({_ADULT}, desired_outcome=">50K")',),
        **{
            f"parity-{bound}": (f"ENFORCE: DEMOGRAPHIC_PARITY({_ADULT}) <= {bound}",)
            for bound in ("0.15", "0.10", "0.05", "0.02")
        },
        "hide": ("MINIMIZE: DOWNSTREAM_ACCURACY(features=all, target=sex)",),
        "S1": ("ENFORCE: E[age] == 30 WITHIN 0.05",),
        "S2": ("ENFORCE: E[age | sex == Male] == E[age | sex == Female] WITHIN 0.05",),
        "S3": ("ENFORCE: " + CORRELATION.format("sex", "salary"),),
        "H": ("MAXIMIZE: H[occupation] WITH budget=1%",),
        "ten": (
            "ENFORCE: age >= 18 AND hours_per_week <= 80",
            _rule("adult", "I2"),
            "ENFORCE: E[age] == 35 WITHIN 0.05",
            "ENFORCE: E[age | sex == Male] == E[age | sex == Female] WITHIN 0.05",
            "ENFORCE: CORR[sex, salary] == -0.1 WITHIN 0.005",
            "ENFORCE: H[race] == 0.7 WITHIN 0.005",
            "ENFORCE: MEDIAN[hours_per_week] == 40",
            "ENFORCE: P[age > 40 | sex == Male AND race == White] == 0.3 WITHIN 0.002",
            "ENFORCE: STD[capital_loss] <= 350",
            "ENFORCE: DIST[workclass] == {Private: 60%, Local_gov: 10%, *: proportional}",
            "ENFORCE: COUNT[education == Masters] == 2000 WITHIN 10",
            "ENFORCE: MI[sex, occupation] <= 0.05",
        ),
        **_rules("adult"),
        "all": tuple(_rule("adult", name) for name in RULE_NAMES),
        **{f"{name}-condition": (_rule("adult", name, _CONDITION),) for name in ("I3", "RC1", "RC2")},
    },
    "german": {
        "free": (),
        **_stacked(
            "german",
            "DEMOGRAPHIC_PARITY(protected=A20, target=class)",
            "E[A13] == 40 WITHIN 0.1",
            CORRELATION.format("A20", "A17"),
        ),
        "S1": ("ENFORCE: E[A13] == 40 WITHIN 0.05",),
        "S2": ("ENFORCE: " + CORRELATION.format("A20", "A17"),),
        **_rules("german"),
        **{f"{name}-condition": (_rule("german", name, _CONDITION),) for name in RULE_NAMES},
    },
    "compas": {
        "free": (),
        **_rules("compas"),
        **{f"{name}-condition": (_rule("compas", name, _CONDITION),) for name in RULE_NAMES},
    },
    "compas_binary_race": {
        "free": (),
        **_stacked(
            "compas_binary_race",
            "DEMOGRAPHIC_PARITY(protected=race, target=two_year_recid)",
            "E[age] == 40 WITHIN 0.1",
            CORRELATION.format("sex", "two_year_recid"),
        ),
        "S1": ("ENFORCE: E[age] == 40 WITHIN 0.05",),
        "S2": ("ENFORCE: " + CORRELATION.format("sex", "two_year_recid"),),
    },
}
_PROGRAMS["health_heritage"] = {
    "free": (),
    **{name: (health_programs.PROGRAMS[name],) for name in RULE_NAMES},
}
_PROGRAMS["health_heritage_binary_age"] = {
    "free": (),
    "parity": (health_programs.PROGRAMS["bias"],),
    **{
        f"stacked-{count}": tuple(health_programs.PROGRAMS[name] for name in health_programs.STACKS["mixed"][:count])
        for count in range(2, 6)
    },
}
PROGRAMS: Mapping[str, Mapping[str, Commands]] = MappingProxyType(_PROGRAMS)


def program_of(rows: str, name: str) -> str:
    """The text of a program.

    >>> program_of("compas", "RC1")
    'SYNTHESIZE: compas; ENFORCE: ROW CONSTRAINT: age < 30; END;'
    """
    return f"SYNTHESIZE: {rows}; {''.join(f'{command}; ' for command in PROGRAMS[rows][name])}END;"
