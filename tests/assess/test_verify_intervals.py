"""Every statistic is reported with its real and model values and a bootstrap interval."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from math import sqrt
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from console import run
from cuts.assess import bootstrap, render
from cuts.assess.bootstrap import intervals
from cuts.assess.verify import Fact, verify
from cuts.data.conform import conform
from cuts.data.schema import Category, Integer, Real, Schema
from cuts.data.table import Table
from cuts.flow import judge
from cuts.lang.binder import bind
from cuts.lang.comparisons import comparisons
from cuts.lang.parser import parse
from cuts.lang.spec import ColumnValue, InSet, Key, Quantity, Spec, Statistic, TableAim
from cuts.read import exact
from cuts.text.diagnostic import CutsError
from cuts.vocab.names import statistics

SCHEMA = Schema(
    "t", (Real("x", -10.0, 10.0), Integer("n", 0, 9), Category("c", ("a", "b", "d"))), provenance="declared"
)
RANGE = "95 % range of a new sample"
PRIVATE = "ENSURE: DIFFERENTIAL PRIVACY: EPSILON=1.0, DELTA=1e-9;"


def table_of(rows: int, seed: int, *, mean: float = 0.0) -> Table:
    """Rows of a known source: x normal, n uniform, c with shares 0.3, 0.6, 0.1."""
    rng = np.random.default_rng(seed)
    c = rng.choice(["a", "b", "d"], rows, p=[0.3, 0.6, 0.1])
    x = np.clip(rng.normal(mean, 1.0, rows), -10, 10)
    return Table(pa.table({"x": x, "n": rng.integers(0, 10, rows), "c": c}))


def spec_of(*commands: str) -> Spec:
    return bind(parse(f"SYNTHESIZE: t; {' '.join(commands)} END;"), SCHEMA)


def quantity(text: str) -> Quantity:
    (aim,) = spec_of(f"MINIMIZE: {text};").commands
    assert isinstance(aim, TableAim)
    return aim.value


def interval(
    text: str, table: Table, *, draws: int = bootstrap.RESAMPLES, max_rows: int = bootstrap.MAX_ROWS
) -> tuple[float, float]:
    (found,) = intervals([quantity(text)], conform(table, SCHEMA), SCHEMA, draws=draws, max_rows=max_rows)
    assert found is not None
    return found


def facts(spec: Spec, table: Table, **beside: object) -> list[Fact]:
    return [fact for verdict in verify(spec, table, **beside) for fact in verdict.facts]  # type: ignore[arg-type]


# --- weights


@st.composite
def weighted_tables(draw: st.DrawFn) -> tuple[Table, list[int]]:
    rows = draw(st.integers(1, 12))
    numbers = st.lists(st.none() | st.integers(0, 9), min_size=rows, max_size=rows)
    words = st.lists(st.none() | st.sampled_from(["a", "b", "d"]), min_size=rows, max_size=rows)
    columns = {
        "x": pa.array(draw(numbers), pa.float64()),
        "n": pa.array(draw(numbers), pa.int64()),
        "c": pa.array(draw(words), pa.string()),
    }
    return Table(pa.table(columns)), draw(st.lists(st.integers(0, 3), min_size=rows, max_size=rows))


def bound(name: str, *, conditional: bool) -> Statistic:
    """A registered statistic of as many arguments as it needs."""
    entry = statistics()[name]
    needed = max(entry.min_args, 1)
    args: tuple[Quantity | InSet, ...]
    if entry.argument == "condition":
        args = (InSet("c", frozenset({"a"})),) * needed
    elif entry.argument == "column":
        args = (ColumnValue("c"), ColumnValue("n"))[:needed]
    else:
        args = (ColumnValue("n"), ColumnValue("x"))[:needed]
    present = InSet("c", frozenset({"a", "b"}))
    return Statistic(name, args, present if conditional else None, (0.75,) * entry.levels)


@pytest.mark.parametrize("name", sorted(statistics()))
@settings(max_examples=30, deadline=None)
@given(case=weighted_tables(), conditional=st.booleans())
def test_a_row_of_weight_three_counts_as_three_rows(
    name: str, case: tuple[Table, list[int]], conditional: bool
) -> None:
    table, weights = case
    stat = bound(name, conditional=conditional)
    typed = conform(table, SCHEMA)
    repeated = conform(Table(table.arrow.take(np.repeat(np.arange(table.rows), weights))), SCHEMA)
    expected = exact.statistic(stat, repeated, SCHEMA)
    prepared = exact.prepare(stat, typed, SCHEMA)
    for one in (prepared, exact.merged(prepared)):
        found = exact.weighted(one, np.array(weights, dtype=np.float64))
        assert found == pytest.approx(expected, rel=1e-9, abs=1e-9, nan_ok=True)


# --- intervals


def test_the_interval_of_a_mean_and_of_a_share_has_the_width_theory_gives() -> None:
    table = table_of(2000, seed=1)
    x = table.numbers("x")
    low, high = interval("E[x]", table, draws=2000)
    # 2,000 draws know a percentile's place to about 5 % of the width
    assert high - low == pytest.approx(2 * 1.96 * x.std() / sqrt(2000), rel=0.08)
    assert low < x.mean() < high
    share = float(exact.value(quantity("P[c == a]"), conform(table, SCHEMA), SCHEMA))
    low, high = interval("P[c == a]", table, draws=2000)
    assert high - low == pytest.approx(2 * 1.96 * sqrt(share * (1 - share) / 2000), rel=0.08)


def test_the_interval_covers_the_source_in_95_percent_and_another_draw_in_83() -> None:
    """Around one table's value lies the source's value in 95 %; another table's, as uncertain itself, in 83 %."""
    source = fresh = 0
    mean = [quantity("E[x]")]
    for seed in range(200):
        table = table_of(100, seed=seed)
        (found,) = intervals(mean, conform(table, SCHEMA), SCHEMA)
        assert found is not None
        low, high = found
        source += low <= 0.0 <= high
        fresh += low <= float(table_of(100, seed=10_000 + seed).numbers("x").mean()) <= high
    assert 0.90 <= source / 200 <= 0.99  # three standard errors are 5 %
    assert 0.75 <= fresh / 200 <= 0.92


def test_a_count_varies_like_a_count() -> None:
    low, high = interval("COUNT[c == b]", table_of(1000, seed=3), draws=1000)
    assert high - low == pytest.approx(2 * 1.96 * sqrt(1000 * 0.6 * 0.4), rel=0.12)


def test_statistics_of_one_quantity_are_drawn_together() -> None:
    low, high = interval("E[x] - E[x]", table_of(200, seed=4))
    assert (low, high) == (0.0, 0.0)
    assert interval("COUNT[n >= 0]", table_of(200, seed=4)) == (200.0, 200.0)


def test_what_is_undefined_has_no_interval_and_undefined_draws_are_left_out() -> None:
    typed = conform(table_of(50, seed=5), SCHEMA)
    assert intervals([quantity("E[x | n > 20]")], typed, SCHEMA) == (None,)
    rare = Table(pa.table({"x": [1.0, 2.0, 3.0, 4.0], "n": [1, 0, 0, 0], "c": ["a"] * 4}))  # often not drawn
    assert interval("E[x | n == 1]", rare) == (1.0, 1.0)
    assert intervals([], typed, SCHEMA) == ()
    assert intervals([quantity("E[x]")], conform(Table(rare.arrow.slice(0, 0)), SCHEMA), SCHEMA) == (None,)


def test_the_same_seed_gives_the_same_interval() -> None:
    typed = conform(table_of(100, seed=6), SCHEMA)
    wanted = [quantity("E[x]")]
    assert intervals(wanted, typed, SCHEMA, seed=1) == intervals(wanted, typed, SCHEMA, seed=1)
    assert intervals(wanted, typed, SCHEMA, seed=1) != intervals(wanted, typed, SCHEMA, seed=2)


def test_of_a_large_table_a_part_is_resampled_and_the_interval_narrowed() -> None:
    table = table_of(4000, seed=7)
    texts = ["E[x]", "COUNT[c == b]"]
    whole = [interval(text, table, draws=1000) for text in texts]
    thinned = [interval(text, table, draws=1000, max_rows=1000) for text in texts]
    for text, (low, high), (low_thin, high_thin) in zip(texts, whole, thinned, strict=True):
        value = exact.value(quantity(text), conform(table, SCHEMA), SCHEMA)
        assert high_thin - low_thin == pytest.approx(high - low, rel=0.15)
        assert (low_thin + high_thin) / 2 == pytest.approx(value, abs=0.15 * (high - low))
    assert interval("E[5]", table, max_rows=1000) == (5.0, 5.0)  # a statistic of no column
    assert interval("COUNT[n >= 0]", table, max_rows=1000) == (4000.0, 4000.0)


# --- facts


def test_a_statistic_is_reported_for_the_real_table_and_the_model_too() -> None:
    spec = spec_of("ENFORCE: x < 9;", "ENFORCE: E[x] == 1 WITHIN 0.1;", "MINIMIZE: P[n > 3];")
    made, real = table_of(300, seed=8), table_of(300, seed=9, mean=1.0)
    first, second = facts(spec, made, real=real, model={Key(2): 0.9})
    assert first.real == pytest.approx(real.numbers("x").mean())
    assert first.value == pytest.approx(made.numbers("x").mean())
    assert (first.model, second.model) == (0.9, None)
    assert (first.statistic, second.statistic) == ("E[x]", "P[n > 3]")
    assert second.target is None
    assert second.interval is not None
    assert not first.gap
    with pytest.raises(ValueError, match="compares no numbers"):
        verify(spec, made, model={Key(2): 0.9, Key(2, 1): 1.0})


def test_of_two_statistics_the_difference_is_reported() -> None:
    spec = spec_of("ENFORCE: E[x | c == a] == E[x | c == b] WITHIN 0.1;", "ENFORCE: 2 * E[n] >= E[x] + 1;")
    made, real = table_of(300, seed=8), table_of(300, seed=9)
    one, other = facts(spec, made, real=real)
    wanted = quantity("E[x | c == a] - E[x | c == b]")
    assert one.gap
    assert other.gap
    assert one.target is not None
    assert one.interval is not None
    assert one.real == pytest.approx(exact.value(wanted, conform(real, SCHEMA), SCHEMA))
    assert one.interval == pytest.approx(interval("E[x | c == a] - E[x | c == b]", made))
    assert one.interval[0] < one.value - one.target < one.interval[1]
    assert one.statistic == "E[x | c == a] - E[x | c == b]"
    assert other.statistic == "2 * E[n] - (E[x] + 1)"


def test_every_comparison_of_a_goal_has_its_own_text() -> None:
    spec = spec_of(
        "LET many := n > 3;",
        "ENFORCE: 1 <= E[n] <= 8 AND NOT (0.5 > P[many] OR E[x] NOT BETWEEN -1 AND 1);",
        "ENFORCE: {a: 30%, *: proportional} == DIST[c | many] WITHIN 0.1;",
        "ENFORCE: P[c == a] > 0.9 IMPLIES COUNT[many] >= 10;",
    )
    between, shares, implied = ([one for one in comparisons(spec) if one.key.command == number] for number in (1, 2, 3))
    assert [one.text for one in between] == ["E[n]", "E[n]", "P[n > 3]", "E[x]", "E[x]"]
    assert [one.text for one in shares] == ["DIST[c | n > 3] a", "DIST[c | n > 3] *"]
    assert [one.text for one in implied] == ["P[c == a]", "COUNT[n > 3]"]
    assert [one.op for one in between] == [">=", "<=", ">=", ">=", "<="]
    assert [one.key for one in between + shares + implied] == [
        *(Key(1, index) for index in range(5)),
        *(Key(2, index) for index in range(2)),
        *(Key(3, index) for index in range(2)),
    ]


def test_shares_of_a_distribution_have_values_and_intervals() -> None:
    spec = spec_of("ENFORCE: DIST[c] == {a: 30%, *: proportional} WITHIN 0.1;")
    made = table_of(400, seed=8)
    named, rest = facts(spec, made, real=made)
    share = np.mean(np.array(made.column("c").to_pylist()) == "a")
    assert named.value == named.real == pytest.approx(share)
    assert rest.value == rest.real == pytest.approx(1 - share)
    assert named.interval is not None
    assert named.interval[0] < share < named.interval[1]


def test_without_intervals_nothing_is_resampled() -> None:
    (fact,) = facts(spec_of("ENFORCE: E[x] == 1 WITHIN 0.1;"), table_of(30, seed=8), interval=False)
    assert fact.interval is None


def test_the_real_table_of_a_private_program_is_refused() -> None:
    program = f"SYNTHESIZE: t; {PRIVATE} ENFORCE: E[x] == 1; END;"
    made = table_of(30, seed=8)
    with pytest.raises(ValueError, match="private"):
        verify(bind(parse(program), SCHEMA), made, real=made)
    with pytest.raises(CutsError, match="reads-private-data"):
        judge.verify(parse(program), SCHEMA, made, real=made)
    (fact,) = facts(bind(parse(program), SCHEMA), made, model={Key(2): 0.5})
    assert fact.model == 0.5
    assert fact.interval is not None


# --- what is printed


def heads(table: str) -> list[str]:
    return re.split(r"  +", table.splitlines()[0])


def test_a_second_table_has_one_line_per_statistic() -> None:
    spec = spec_of("ENFORCE: x < 11;", "ENFORCE: E[x | c == a] <= E[x | c == b];", "MAXIMIZE: P[n > 20];")
    made = table_of(300, seed=8)
    plain = render.as_text(verify(spec, made)).split("\n\n")
    assert heads(plain[1]) == ["line", "statistic", "table", "target", "tolerance", RANGE]
    full = render.as_text(verify(spec, made, real=made, model={Key(2): 0.1, Key(3): 0.0})).split("\n\n")
    _, gap, aim = full[1].splitlines()
    assert heads(full[1]) == ["line", "statistic", "real", "model", "table", "target", "tolerance", RANGE]
    assert "E[x | c == a] - E[x | c == b]" in gap
    assert "<= 0" in gap
    assert " 0.1 " in gap
    assert aim.split()[-3:] == ["0", "..", "0"]
    assert "statistic" not in render.as_text(verify(spec_of("ENFORCE: x < 11;"), made))


def test_the_ends_of_an_interval_have_two_digits_of_its_width() -> None:
    def shown(low: float, high: float) -> str:
        fact = Fact(low, None, None, None, None, interval=(low, high), statistic="E[x]")
        verdict = verify(spec_of("MINIMIZE: E[x];"), table_of(5, seed=1))[0]
        return render.as_text([replace(verdict, facts=(fact,))]).split("\n\n")[1].splitlines()[1].split("-  ")[-1]

    assert shown(29.71234, 30.38765) == "29.71 .. 30.39"
    assert shown(100_000.4, 100_007.6) == "100000.4 .. 100007.6"
    assert shown(12_345.0, 17_654.0) == "12300 .. 17700"
    assert shown(1 / 3, 1 / 3) == "0.333333 .. 0.333333"


def test_the_command_line_prints_the_real_values(tmp_path: Path) -> None:
    (tmp_path / "p.cuts").write_text("SYNTHESIZE: german; ENFORCE: E[A13] == 35.5; END;")
    output, _ = run(["cuts", "verify", "p.cuts", "german:test", "--real", "german", "--format", "json"], tmp_path)
    (fact,) = json.loads(output)["verdicts"][0]["facts"]
    assert fact["real"] == pytest.approx(35.55875)
    assert len(fact["interval"]) == 2
    assert fact["model"] is None
    assert fact["gap"] is False
    (tmp_path / "private.cuts").write_text(f"SYNTHESIZE: german; {PRIVATE} END;")
    output, code = run(["cuts", "verify", "private.cuts", "german:test", "--real", "nowhere.csv"], tmp_path)
    assert "error[reads-private-data]" in output
    assert code == 5
