"""Every program the paper's authors ran, with the schemas they need."""

from __future__ import annotations

from cuts import datasets
from cuts.data.schema import Category, Integer, Real, Schema


def embedded(name: str) -> Schema:
    found = datasets.find(name)
    assert found is not None
    return datasets.load_schema(found)


ADULT = embedded("adult")
GERMAN = embedded("german")
COMPAS = Schema(
    "compas",
    (
        Integer("age", 18, 96),
        Category("sex", ("Male", "Female")),
        Category("race", ("Other", "African-American", "Caucasian", "Hispanic", "Asian", "Native American")),
        Integer("diff_custody", 0, 521_424_000),
        Integer("diff_jail", -42_137, 69_102_084),
        Integer("priors_count", 0, 37),
        Category("c_charge_degree", ("F", "M")),
        Category("v_score_text", ("Low", "High", "Medium")),
        Category("two_year_recid", ("0", "1")),
    ),
    "two_year_recid",
    ("race",),
)
HEALTH = Schema(  # the columns and values its programs mention
    "health",
    (
        Integer("LabCount_total", 0, 200),
        Integer("no_Claims", 0, 43),
        Real("PayDelay_total", 0.0, 5000.0),
        Category("PrimaryConditionGroup", ("HEART2", "HEART4", "INFEC4", "MSC2a3", "PRGNCY", "SEPSIS", "STROKE")),
        Category("Specialty", ("Emergency", "Internal", "Other", "Surgery")),
        Category("ProcedureGroup", ("EM", "MED", "PL")),
        Category("AgeAtFirstClaim", (">=60", "<60")),
        Category("Sex", ("?", "F", "M")),
        Category("max_CharlsonIndex", ("=0", ">0")),
    ),
    "max_CharlsonIndex",
    ("AgeAtFirstClaim",),
)

SCHEMAS = {
    "Adult": ADULT,
    "German": GERMAN,
    "Compas": COMPAS,
    "CompasBinaryRace": COMPAS,
    "HealthHeritage": HEALTH,
    "HealthHeritageBinaryAge": HEALTH,
}

# (data, action and kind, weight, body)
COMMANDS: list[tuple[str, str, str, str]] = [
    ("Adult", "MINIMIZE: BIAS", "0.0009", "DEMOGRAPHIC_PARITY(protected=sex, target=salary, lr=0.1, n_epochs=15, batch_size=256)"),
    ("Adult", "MINIMIZE: FAIRNESS", "0.0007", "DEMOGRAPHIC_PARITY(protected=sex, target=salary, lr=0.1, n_epochs=15, batch_size=512)"),
    ("Adult", "MINIMIZE: UTILITY", "0.00133", "DOWNSTREAM_ACCURACY(features=all, target=sex)"),
    ("Adult", "MINIMIZE: UTILITY", "0.00133", "DOWNSTREAM_ACCURACY(features=all, target=salary)"),
    ("Adult", "MINIMIZE: UTILITY", "0.00133", "DOWNSTREAM_ACCUARCY(features=all, target=sex)"),
    ("Adult", "MINIMIZE: DOWNSTREAM", "0.00133", "DOWNSTREAM_ACCURACY(features=all, target=race, lr=0.01)"),
    ("Adult", "ENFORCE: STATISTICAL", "0.000025", "E[age] == 30"),
    ("Adult", "ENFORCE: STATISTICAL", "0.0000125", "E[age|sex==Male] == E[age|sex==Female]"),
    ("Adult", "ENFORCE: STATISTICAL", "0.7525", "(E[sex * salary] - E[sex] * E[salary]) / (STD[sex] * STD[salary] + 0.00001) == 0"),
    ("Adult", "ENFORCE: IMPLICATION", "0.0000075", "marital_status == Widowed OR relationship == Wife IMPLIES sex == Female"),
    ("Adult", "ENFORCE: IMPLICATION", "0.0000075", "marital_status in {Divorced, Never_married} IMPLIES relationship not in {Husband, Wife}"),
    ("Adult", "ENFORCE: IMPLICATION", "0.0000075", "workclass in {Federal_gov, Local_gov, State_gov} IMPLIES education in {Bachelors, Some_college, Masters, Doctorate}"),
    ("Adult", "ENFORCE: ROW CONSTRAINT", "0.0000025", "sex == Female"),
    ("Adult", "ENFORCE: LINE CONSTRAINT", "0.0000075", "age > 35 AND age < 55"),
    ("Adult", "MINIMIZE: FAIRNESS", "1e-4", "EQUALIZED_ODDS(protected=sex, target=salary, desired_outcome=>50K, lr=0.1, n_epochs=15, batch_size=256)"),
    ("Adult", "MINIMIZE: FAIRNESS", "1", "EQUALITY_OF_OPPORTUNITY(protected=sex, target=salary, desired_outcome=>50K, lr=0.1, n_epochs=15, batch_size=256)"),
    ("Adult", "MINIMIZE: BIAS", "1", "EQUALIZED_ODDS(protected=sex, target=salary)"),
    ("Adult", "MINIMIZE: BIAS", "1", "EQUALITY_OF_OPPORTUNITY(protected=sex, target=salary)"),
    ("Adult", "MINIMIZE: BIAS", "0.0009", "DEMOGRAPHIC_PARITY(protected=race, target=salary)"),
    ("Adult", "ENFORCE: IMPLICATION", "0.01", "native_country != United_States IMPLIES occupation in {Tech_support, Sales, Craft_repair, Farming_fishing}"),
    ("Adult", "ENFORCE: IMPLICATION", "0.01", "workclass == Private OR sex == Female IMPLIES race == White"),
    ("Adult", "ENFORCE: IMPLICATION", "0.01", "relationship == Wife IMPLIES sex == Female"),
    ("Adult", "ENFORCE: IMPLICATION", "0.01", "relationship == Husband IMPLIES sex == Male"),
    ("Adult", "ENFORCE: IMPLICATION", "0.01", "sex == Male IMPLIES relationship == Wife"),
    ("Adult", "ENFORCE: IMPLICATION", "0.01", "sex == Female IMPLIES relationship == Husband"),
    ("Adult", "ENFORCE: IMPLICATION", "0.01", "sex == Male IMPLIES workclass != Private"),
    ("Adult", "ENFORCE: IMPLICATION", "0.01", "sex == Male IMPLIES workclass == Private"),
    ("Adult", "ENFORCE: STATISTICAL", "0.01", "E[salary|sex==Male] == E[salary|sex==Female]"),
    ("Adult", "ENFORCE: STATISTICAL", "0.01", "E[salary|race==White] == E[salary|race==Black]"),
    ("Adult", "MAXIMIZE: STATISTICAL", "0.01", "H[sex]"),
    ("Adult", "ENFORCE: STATISTICAL", "0.01", "E[workclass|sex==Female] == E[workclass|sex==Male] AND E[education|sex==Female] == E[education|sex==Male] AND E[occupation|sex==Female] == E[occupation|sex==Male] AND E[salary|sex==Female] == E[salary|sex==Male]"),
    ("Adult", "MINIMIZE: UTILITY", "0.01", "DOWNSTREAM_ACCURACY(features=[sex, marital_status, relationship], target=salary)"),
    ("Adult", "MINIMIZE: STATISTICAL", "0.01", "E[sex * salary] - E[sex] * E[salary]"),
    ("German", "MINIMIZE: BIAS", "5e-4", "DEMOGRAPHIC_PARITY(protected=A20, target=class, lr=0.1, n_epochs=15, batch_size=64)"),
    ("German", "ENFORCE: IMPLICATION", "0.001", "A20 == A201 OR A17 in {A171, A172} IMPLIES A17 in {A171, A172, A173}"),
    ("German", "ENFORCE: IMPLICATION", "0.5", "A15 in {A151, A153} IMPLIES A17 == A173"),
    ("German", "ENFORCE: IMPLICATION", "0.001", "A12 == A121 AND A13 < 40 IMPLIES A9 == A91"),
    ("German", "ENFORCE: LINE CONSTRAINT", "5e-4", "A13 > 30 AND A13 < 50"),
    ("German", "ENFORCE: ROW CONSTRAINT", "1.5", "A15 not in {A151, A153} AND A6 != A61"),
    ("German", "ENFORCE: STATISTICAL", "2.5e-4", "E[A13] == 40"),
    ("German", "ENFORCE: STATISTICAL", "0.05", "(E[A20 * A17] - E[A20] * E[A17]) / (STD[A20] * STD[A17] + 0.00001) == 0"),
    ("CompasBinaryRace", "MINIMIZE: BIAS", ".0075", "DEMOGRAPHIC_PARITY(protected=race, target=two_year_recid, lr=0.1, n_epochs=15, batch_size=256)"),
    ("Compas", "ENFORCE: IMPLICATION", "1e-6", "age < 30 IMPLIES priors_count <= 1"),
    ("Compas", "ENFORCE: IMPLICATION", "1e-4", "c_charge_degree == F AND v_score_text == Low IMPLIES diff_jail <= 75000"),
    ("Compas", "ENFORCE: IMPLICATION", "1e-5", "priors_count > 2 OR diff_jail > 200000 IMPLIES c_charge_degree == M"),
    ("Compas", "ENFORCE: ROW CONSTRAINT", "1e-5", "age < 30"),
    ("CompasBinaryRace", "ENFORCE: LINE CONSTRAINT", "1e-4", "priors_count <= 1"),
    ("Compas", "ENFORCE: STATISTICAL", "1e-5", "E[age] == 40"),
    ("CompasBinaryRace", "ENFORCE: STATISTICAL", "0.1", "(E[sex * two_year_recid] - E[sex] * E[two_year_recid]) / (STD[sex] * STD[two_year_recid] + 0.00001) == 0"),
    ("HealthHeritageBinaryAge", "MINIMIZE: BIAS", "5e-4", "DEMOGRAPHIC_PARITY(protected=AgeAtFirstClaim, target=max_CharlsonIndex, lr=0.1, n_epochs=15, batch_size=64)"),
    ("HealthHeritage", "MINIMIZE: BIAS", "5e-4", "DEMOGRAPHIC_PARITY(protected=Sex, target=max_CharlsonIndex, lr=0.1, n_epochs=15, batch_size=64)"),
    ("HealthHeritage", "ENFORCE: IMPLICATION", "1e-4", "PrimaryConditionGroup in {SEPSIS, STROKE, HEART2, HEART4, INFEC4} IMPLIES Specialty == Emergency"),
    ("HealthHeritage", "ENFORCE: IMPLICATION", "1e-5", "PrimaryConditionGroup == PRGNCY IMPLIES Sex == F"),
    ("HealthHeritage", "ENFORCE: IMPLICATION", "1e-4", "LabCount_total > 5 IMPLIES ProcedureGroup == MED"),
    ("HealthHeritage", "ENFORCE: ROW CONSTRAINT", "1e-5", "Sex in {F, M}"),
    ("HealthHeritageBinaryAge", "ENFORCE: ROW CONSTRAINT", "1e-4", "Sex == F"),
    ("HealthHeritage", "ENFORCE: LINE CONSTRAINT", "0.1", "Specialty == Other"),
    ("HealthHeritage", "ENFORCE: STATISTICAL", "1e-4", "E[LabCount_total / max(no_Claims, 1)] == 1.0"),
    ("HealthHeritageBinaryAge", "ENFORCE: STATISTICAL", "1.0", "STD[no_Claims] < E[no_Claims] / 2"),
    ("HealthHeritage", "MAXIMIZE: STATISTICAL", "0.01", "H[PrimaryConditionGroup]"),
    ("HealthHeritage", "ENFORCE: STATISTICAL", "0.01", "E[max_CharlsonIndex|Sex==F] == E[max_CharlsonIndex|Sex==M]"),
    ("HealthHeritage", "MINIMIZE: UTILITY", "0.01", "DOWNSTREAM_ACCURACY(features=all, target=Sex)"),
]  # fmt: skip

PRIVATE = "ENSURE: DIFFERENTIAL PRIVACY: EPSILON=1.0, DELTA=1e-9;"

# orders of section 8: which commands stand together in one program
STACKS: dict[str, list[str]] = {
    "Adult": ["DEMOGRAPHIC_PARITY(protected=sex, target=salary, lr=0.1, n_epochs=15, batch_size=256)", "E[age] == 30",
              "E[age|sex==Male] == E[age|sex==Female]", "workclass in {Federal", "marital_status in {Div"],
    "German": ["DEMOGRAPHIC", "E[A13]", "(E[A20", "A12 ==", "A15 in"],
    "Compas": ["age < 30 IMPLIES", "c_charge", "priors_count > 2", "age < 30"],
    "HealthHeritage": ["PrimaryConditionGroup in", "PrimaryConditionGroup == PR", "LabCount_total > 5", "Sex in", "Specialty"],
}  # fmt: skip


def programs() -> list[tuple[str, str]]:
    """(data, text) of every program: one command in its training, evaluation and private form, and the stacks."""
    found = []
    for data, head, weight, body in COMMANDS:
        found.append((data, f"SYNTHESIZE: {data}; {head}: PARAM {weight}: {body}; END;"))
        found.append((data, f"SYNTHESIZE: {data};\n    {head}: {body};\nEND;"))
        found.append((data, f"SYNTHESIZE: {data}; {PRIVATE} {head}: PARAM <param1>: {body}; END;"))
    for data, starts in STACKS.items():
        chosen = [c for start in starts for c in COMMANDS if c[0].startswith(data) and c[3].startswith(start)]
        lines = "\n".join(f"    {head}: PARAM {weight}: {body};" for _, head, weight, body in chosen)
        found.append((data, f"SYNTHESIZE: {data};\n{lines}\nEND;"))
    return found
