"""Results show themselves: as a table in a notebook, in one short line in a terminal, and never as foreign HTML."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from pathlib import Path

import pandas
import polars
import pyarrow as pa
import pytest

import cuts
from cuts.assess.verdicts import Verdicts
from cuts.flow.request import PrivacyOptions

HOSTILE = '<script>alert("x")</script>'
PEOPLE = {"age": [20, 30, 40, 50] * 25, "sex": ["f", "m"] * 50, HOSTILE: ["a<b", "c&d"] * 50}
PROGRAM = "SYNTHESIZE: people; ENFORCE: age > 20; ENFORCE: E[age] == 40 WITHIN 5; END;"


class Page(HTMLParser):
    """The tags and the texts of a piece of HTML; every tag must be closed by its own."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.texts: list[str] = []
        self.open: list[str] = []
        self.feed(html)
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: object) -> None:
        self.tags.append(tag)
        self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.texts.append(data)


@pytest.fixture(scope="module")
def result() -> cuts.RunResult:
    return cuts.run(PROGRAM, pandas.DataFrame(PEOPLE), rows=100, config={"steps": 50})


def test_a_run_gives_the_kind_of_frame_that_it_was_given(result: cuts.RunResult) -> None:
    assert isinstance(result.frame, pandas.DataFrame)
    assert result.frame["age"].dtype == "int64"
    assert len(result.frame) == result.table.rows == 100
    small = {"rows": 10, "config": {"steps": 5}}
    assert isinstance(cuts.run(PROGRAM, polars.DataFrame(PEOPLE), **small).frame, polars.DataFrame)
    assert isinstance(cuts.run(PROGRAM, pa.table(PEOPLE), **small).frame, pa.Table)


def test_a_run_of_a_file_gives_an_arrow_table(tmp_path: Path) -> None:
    pandas.DataFrame(PEOPLE).to_csv(tmp_path / "people.csv", index=False)
    run = cuts.run(PROGRAM, tmp_path / "people.csv", rows=10, config={"steps": 5})
    assert isinstance(run.frame, pa.Table)
    assert run.form is None


def test_more_rows_can_be_drawn_from_a_run_and_its_model_saved(result: cuts.RunResult, tmp_path: Path) -> None:
    more = result.draw(7, where="age > 30")
    assert isinstance(more, pandas.DataFrame)
    assert len(more) == 7
    assert more["age"].min() > 30
    result.model.save(tmp_path / "people.synth")
    again = cuts.Synthesizer.load(tmp_path / "people.synth").sample(3)
    assert isinstance(again, pandas.DataFrame)
    assert list(again) == list(PEOPLE)


def test_a_private_run_gives_the_kind_of_frame_too(tmp_path: Path) -> None:
    schema = cuts.Schema("people", (cuts.Integer("age", 18, 90), cuts.Category("sex", ("f", "m"))))
    program = "SYNTHESIZE: people; ENSURE: DIFFERENTIAL PRIVACY: EPSILON=5, DELTA=1e-6; END;"
    frame = pandas.DataFrame(PEOPLE)[["age", "sex"]]
    private = PrivacyOptions(tmp_path / "ledger.json")
    run = cuts.run(program, frame, schema=schema, rows=20, config={"steps": 5}, privacy=private)
    assert isinstance(run.frame, pandas.DataFrame)
    assert list(run.frame) == ["age", "sex"]


def test_verdicts_are_a_tuple_and_a_frame(result: cuts.RunResult) -> None:
    rule, mean = result.verdicts
    assert result.verdicts == (rule, mean)
    frame = result.verdicts.to_frame()
    assert list(frame) == ["line", "verdict", "measured", "target", "command"]
    assert frame.to_dict("records")[0] == {
        "line": 1,
        "verdict": "holds",
        "measured": "100.00 % of 100 rows",
        "target": "every row",
        "command": "age > 20",
    }
    assert frame["target"][1] == "== 40 within 5"
    assert float(frame["measured"][1].partition(";")[0]) == pytest.approx(mean.facts[0].value)
    assert isinstance(result.verdicts.to_frame("polars"), polars.DataFrame)
    assert result.verdicts.to_frame("arrow").num_rows == 2


def test_no_verdicts_are_an_empty_frame() -> None:
    assert Verdicts().to_frame("arrow").to_pydict() == {
        "line": [],
        "verdict": [],
        "measured": [],
        "target": [],
        "command": [],
    }


def test_printed_verdicts_are_those_of_the_command_line(result: cuts.RunResult) -> None:
    assert str(result.verdicts).startswith("line  verdict  measured")
    assert repr(result.verdicts) == "<Verdicts: 2 hold, 0 fail>"
    assert repr(result.verdicts[0]) == "<Verdict: line 1 holds, age > 20>"


def test_a_notebook_shows_the_verdicts_of_a_run_in_words(result: cuts.RunResult) -> None:
    page = Page(result._repr_html_())
    assert page.tags.count("tr") == 3
    assert {"holds", "age > 20", "2 hold, 0 fail", "every row"} <= {*page.texts}
    assert any(text.startswith("RunResult: 100 rows, 2 commands, 0 failing") for text in page.texts)


def test_a_failing_command_says_so_in_a_word() -> None:
    schema = cuts.infer_schema(pa.table(PEOPLE), "people")
    verdicts = cuts.verify(cuts.parse("SYNTHESIZE: people; ENFORCE: age > 40; END;"), schema, pa.table(PEOPLE))
    assert not verdicts.holds
    assert "FAILS" in Page(verdicts._repr_html_()).texts


def test_names_and_cells_are_never_tags(result: cuts.RunResult) -> None:
    schema = cuts.infer_schema(pa.table(PEOPLE), "people", label=HOSTILE)
    program = cuts.parse(f"SYNTHESIZE: people; ENFORCE: `{HOSTILE}` == 'a<b'; END;")
    verdicts = cuts.verify(program, schema, pa.table(PEOPLE))
    quality = cuts.evaluate(result.frame, pandas.DataFrame(PEOPLE), schema=schema, parts=["marginals"])
    for shown in (schema, cuts.from_frame(pa.table(PEOPLE)), verdicts, quality):
        page = Page(shown._repr_html_())
        assert "script" not in page.tags
        assert HOSTILE in "".join(page.texts)


def test_a_schema_shows_kinds_values_and_roles() -> None:
    schema = cuts.Schema(
        "people",
        (cuts.Integer("age", 18, 90, missing=True), cuts.Category("sex", ("f", "m"))),
        label="age",
        protected=("sex",),
    )
    assert repr(schema) == "<Schema people: 2 columns, declared>"
    assert str(schema).splitlines()[1:] == [
        "column  kind      values    missing  role",
        "age     integer   18 to 90  allowed  label",
        "sex     category  f, m               protected",
    ]
    assert {"age", "integer", "18 to 90", "protected"} <= {*Page(schema._repr_html_()).texts}


def test_an_error_in_a_notebook_is_the_message_of_the_command_line() -> None:
    with pytest.raises(cuts.CutsError) as caught:
        cuts.parse("SYNTHESIZE: people; ENFORC: age > 20; END;")
    shown = "\n".join(caught.value._render_traceback_())
    assert shown.startswith("error[misspelt-keyword]")
    assert "^^^^^^" in shown


def test_programs_and_reports_are_one_line_in_a_session(result: cuts.RunResult) -> None:
    program = cuts.parse("SYNTHESIZE: people; ENFORCE: age > 20; END;")
    assert repr(program) == "<Program: SYNTHESIZE people, 1 command>"
    assert "<pre>SYNTHESIZE" in program._repr_html_()
    assert re.fullmatch(r"<ReportPage: [^\n]+ rows, [^\n]+ commands?>", repr(result.report()))
