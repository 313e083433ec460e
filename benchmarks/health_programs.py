"""The paper's programs of the two Health Heritage tables, which `health.py` prepares, without weights.

`RULES` are the row rules, as they stand after `ENFORCE: IMPLICATION:` or `ENFORCE: ROW CONSTRAINT:`. `PROGRAMS` are
whole commands by name: a program is `SYNTHESIZE: health_heritage; <commands>; END;`. `STACKS` are the orders in which
the paper adds one command after another. The paper runs `bias` and `mixed` on `health_heritage_binary_age`, where age
has two groups, and the rest on `health_heritage`; every program binds to both.

`RC1` is `Sex == F`, although the published code has `Sex in {F, M}`: the paper prints that 44.8 % of the real rows
satisfy it, which is the share of women among all member-years (44.81 %); 81.2 % have a known sex. The tolerance of
`S1` is ours: the default, 1 % of the spread of a ratio that reaches the highest lab count, would be much wider.
"""

from __future__ import annotations

RULES: dict[str, str] = {
    "I1": "PrimaryConditionGroup in {SEPSIS, STROKE, HEART2, HEART4, INFEC4} IMPLIES Specialty == Emergency",
    "I2": "PrimaryConditionGroup == PRGNCY IMPLIES Sex == F",
    "I3": "LabCount_total > 5 IMPLIES ProcedureGroup == MED",
    "RC1": "Sex == F",
    "RC2": "Specialty == Other",
}
STACKS: dict[str, tuple[str, ...]] = {
    "mixed": ("bias", "S1", "S2", "I3", "I2"),
    "logical": ("I1", "I2", "I3", "RC1", "RC2"),
}
_COMMANDS: dict[str, str] = {
    **{
        name: f"ENFORCE: {'ROW CONSTRAINT' if name.startswith('RC') else 'IMPLICATION'}: {rule}"
        for name, rule in RULES.items()
    },
    "S1": "ENFORCE: STATISTICAL: E[LabCount_total / max(no_Claims, 1)] == 1.0 WITHIN 0.01",
    "S2": "ENFORCE: STATISTICAL: STD[no_Claims] < E[no_Claims] / 2",
    "entropy": "MAXIMIZE: STATISTICAL: H[PrimaryConditionGroup]",
    "bias": "MINIMIZE: FAIRNESS: DEMOGRAPHIC_PARITY(protected=AgeAtFirstClaim, target=max_CharlsonIndex)",
}
PROGRAMS: dict[str, str] = _COMMANDS | {
    name: "; ".join(_COMMANDS[each] for each in order) for name, order in STACKS.items()
}


def program_of(table: str, name: str) -> str:
    """The program of a name.

    >>> program_of("health_heritage", "RC1")
    'SYNTHESIZE: health_heritage; ENFORCE: ROW CONSTRAINT: Sex == F; END;'
    """
    return f"SYNTHESIZE: {table}; {PROGRAMS[name]}; END;"
