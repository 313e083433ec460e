"""A program written in Python: one rule per ward from a dictionary, and the text that the same program has."""

from tables import stays

import cuts
from cuts import build
from cuts.build import E, P, c, enforce, implies

QUICK = {"steps": 100, "smoothing": 0.05}  # quick to try; without settings the fit is better and takes longer

minimum_age = {"surgery": 16, "cardiology": 18, "maternity": 15}

program = build.program(
    "stays",
    *(enforce(implies(c.ward == ward, c.age >= age)) for ward, age in minimum_age.items()),
    enforce(E(c.age, given=c.sex == "male") == E(c.age, given=c.sex == "female"), within=0.5),
    enforce(P(c.died == "yes") <= 0.05),
)
print(program)

result = cuts.run(program, stays(), config=QUICK)
for verdict in result.verdicts:
    print("holds" if verdict.holds else "fails", verdict.title)
