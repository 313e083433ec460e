"""Whatever the text, the answer is a program or a list of diagnostics, never another exception."""

from __future__ import annotations

import os
import random
import re

import pytest

from cuts.flow import checks
from cuts.lang.parser import parse
from cuts.lang.printer import render
from cuts.text.diagnostic import CutsError
from cuts.text.render import as_data, as_text
from reference import SCHEMAS, programs

ALPHABET = "abAE019_ \n\t;:,.|+-*/=<>!(){}[]`'\"#%\\é\x00"
WORDS = ["AND", "OR", "NOT", "IN", "IS NULL", "BETWEEN", "IMPLIES", "WITHIN 3", "WITH mode=repair", "PARAM 1:", "END;"]
WORDS += ["E[age]", "P[age > 3 | sex == Male]", "DIST[sex] == {Male: 50%}", "max(age, 3)", "<param1>", "LET x := age;"]
WORDS += [
    "ENSURE: EPSILON=1, DELTA=1e-9;",
    "age",
    "sex",
    "Male",
    "{Male, Female}",
    "1e308",
    "-5",
    "50%",
    "`a b`",
    "ENFORCE:",
]
SEEDS = programs()
PROGRAMS = int(os.environ.get("CUTS_FUZZ_PROGRAMS", "200"))  # per block; 1,000 before a release


TOKEN = re.compile(r"\w+|[<>=!]=|[^\w\s]|\s+")
CLASSES = [
    ["age", "sex", "salary", "A13", "A1", "Male", "Female", "diff_jail", "Sex", "no_Claims", "all", "1", "class", "x"],
    ["0", "1", "35", "1e308", "0.5", "50%", "1000000", "17", "90", "<param1>", "-1", '">50K"', "{Male}", "NULL"],
    ["==", "!=", "<", "<=", ">", ">=", "=", "IN", "NOT IN", "IS", "+", "-", "*", "/", "BETWEEN"],
    ["AND", "OR", "IMPLIES", "AND NOT", ";\n ENFORCE:", ";\n MINIMIZE:", "WITHIN", ","],
    ["E", "VAR", "STD", "H", "P", "COUNT", "MEDIAN", "Q(0.9)", "CORR", "COV", "MI", "DIST", "foo"],
    ["ENFORCE", "MINIMIZE", "MAXIMIZE", "ENSURE"],
    ["DEMOGRAPHIC_PARITY", "DOWNSTREAM_ACCURACY", "max", "log", "EQUALIZED_ODDS"],
]


def reword(text: str, rng: random.Random) -> str:
    """Some tokens replaced by others of their class: mostly still a program, seldom one that makes sense."""
    tokens = TOKEN.findall(text)
    for _ in range(rng.randint(1, 5)):
        at = rng.randrange(len(tokens))
        for pool in CLASSES:
            if tokens[at] in pool or (pool is CLASSES[0] and tokens[at].isidentifier() and rng.random() < 0.3):
                tokens[at] = rng.choice(pool)
                break
    return "".join(tokens)


def mutate(text: str, rng: random.Random) -> str:
    """Characters, words and pieces dropped, added, doubled, exchanged."""
    for _ in range(rng.randint(1, 6)):
        at, end = sorted((rng.randint(0, len(text)), rng.randint(0, len(text))))
        match rng.randint(0, 6):
            case 0:
                text = text[:at] + text[min(end, at + 8) :]
            case 1:
                text = text[:at] + rng.choice(ALPHABET) + text[at:]
            case 2:
                text = f"{text[:at]} {rng.choice(WORDS)} {text[at:]}"
            case 3:
                text = text[:at] + text[at : min(end, at + 30)] * 2 + text[min(end, at + 30) :]
            case 4:
                other = rng.choice(SEEDS)[1]
                start = rng.randint(0, len(other))
                text = text[:at] + other[start : start + 40] + text[end:]
            case 5:
                parts = text.split(" ")
                rng.shuffle(parts)
                text = " ".join(parts)
            case _:
                text = text[:at] + rng.choice(ALPHABET) + text[at + 1 :]
    return text


def answer(text: str, data: str) -> None:
    try:
        program = parse(text)
    except CutsError as error:
        as_text(error.diagnostics, error.source)
        as_data(error.diagnostics, error.source)
        return
    assert parse(render(program)) == program
    checked = checks.check(program, SCHEMAS[data], values={"param1": 0.5} if "<param1>" in text else {})
    as_text(checked.diagnostics, program.source)
    assert (checked.spec is None) <= bool(checked.diagnostics)


@pytest.mark.fuzz
@pytest.mark.parametrize("block", range(20))
def test_mutated_programs_are_answered(block: int) -> None:
    rng = random.Random(block)
    for _ in range(PROGRAMS):
        data, text = rng.choice(SEEDS)
        mutated = reword(text, rng) if rng.random() < 0.6 else mutate(text, rng)
        try:
            answer(mutated, data)
        except Exception as error:
            raise AssertionError(f"{error!r} for {mutated!r}") from error
