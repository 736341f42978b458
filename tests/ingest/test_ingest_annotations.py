"""The readers of annotations on anything at all: what is whole is read, and nothing else is."""

import csv
import io
import json
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reviewer.importing.annotations import Annotation, BadFile, BadRecord, LeftOut, Tool, reader_of
from reviewer.importing.annotations.tables import Row, table
from reviewer.review.annotations import form_of, mapped, question_maps, utc
from reviewer.suite.rubric import Criterion, Level, Rubric

CELL = st.text(st.characters(exclude_categories=("Cs",), exclude_characters="\0"), max_size=12)
LINES = st.lists(st.lists(CELL, min_size=2, max_size=2), max_size=6)


@given(rows=LINES, quoting=st.sampled_from([csv.QUOTE_ALL, csv.QUOTE_MINIMAL]), bom=st.booleans())
def test_every_cell_of_a_whole_table_is_read_as_it_was_written(
    rows: list[list[str]], quoting: int, bom: bool
) -> None:
    out = io.StringIO()
    csv.writer(out, quoting=quoting).writerows([["a", "b"], *rows])
    header, found = table((b"\xef\xbb\xbf" if bom else b"") + out.getvalue().encode(), ["a"])
    assert header == ("a", "b")
    assert [list(row.cells.values()) for row in found if isinstance(row, Row)] == rows


@given(rows=st.lists(st.lists(CELL, min_size=1, max_size=4), min_size=1, max_size=6))
def test_a_ragged_row_is_named_and_no_cell_comes_under_another_header(
    rows: list[list[str]],
) -> None:
    out = io.StringIO()
    csv.writer(out, quoting=csv.QUOTE_ALL).writerows([["a", "b"], *rows])
    found = list(table(out.getvalue().encode(), ["b"])[1])
    for number, (row, one) in enumerate(zip(rows, found, strict=True), 1):
        if len(row) == 2:
            assert one == Row(number, {"a": row[0], "b": row[1]})
        else:
            assert isinstance(one, BadRecord)
            assert one.row == number


@pytest.mark.parametrize("tool", get_args(Tool))
@given(data=st.binary(max_size=200))
def test_any_bytes_give_records_or_a_bad_file(tool: Tool, data: bytes) -> None:
    try:
        records = list(reader_of(tool)(data))
    except BadFile:
        return
    assert all(isinstance(one, (Annotation, LeftOut, BadRecord)) for one in records)


VALUES = st.recursive(
    st.none() | st.booleans() | st.floats() | st.integers() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner),
    max_leaves=8,
)
MEMBERS = (
    "id", "traceId", "source", "name", "value", "stringValue", "dataType", "authorUserId", "data",
    "scores", "trace", "subject", "key", "score", "run_id", "trace_id", "type", "feedback_source",
    "feedback", "run_type", "observationId", "assessment_name", "assessment_id", "assessments",
    "annotator_kind", "user_id", "result", "label", "feedback_scores", "value_by_author",
    "created_by", "summary", "feedback_type", "payload", "wb_user_id", "weave", "spans",
)  # fmt: skip
NAMES = st.sampled_from(MEMBERS)
KINDS = st.sampled_from(
    (
        *("ANNOTATION", "API", "app", "BOOLEAN", "CATEGORICAL", {"type": "app", "user_id": "u"}),
        *({"source_type": "HUMAN", "source_id": "ann"}, {"value": True}, "HUMAN", {"label": "y"}),
        [{"name": "n", "source": "ui", "value": 1.0, "created_by": "ann"}],
        [{"name": "n", "value_by_author": {"ann": {"source": "ui", "value": 1.0}}}],
        {
            "weave": {
                "feedback": [
                    {
                        "id": "f",
                        "feedback_type": "wandb.annotation.n",
                        "payload": {"value": 1},
                        "wb_user_id": "u",
                    }
                ]
            }
        },
    )
)


@pytest.mark.parametrize(
    ("tool", "mark"),
    [
        *(("langfuse", "ANNOTATION"), ("langsmith", "app"), ("mlflow", "HUMAN")),
        *(("phoenix", "HUMAN"), ("opik", "ui"), ("weave", "wandb.annotation.n")),
    ],
)
@given(given_one=st.dictionaries(NAMES, VALUES | KINDS))
def test_only_what_says_that_a_person_made_it_is_an_annotation(
    tool: Tool, mark: str, given_one: dict[str, object]
) -> None:
    data = json.dumps([given_one]).encode()
    try:
        found = [one for one in reader_of(tool)(data) if isinstance(one, Annotation)]
    except BadFile:
        return
    text = data.decode()
    assert not found or f'"{mark}"' in text
    for one in found:
        assert one.annotator
        assert one.trace
        assert all(answer.said for answer in one.answers)


LEVELS = (Level(value=1, label="yes"), Level(value=2, label="no"))
RUBRIC = Rubric(
    rubric_id="r",
    version="1",
    criteria=(Criterion(criterion_id="c", title="c", asks="?", scale="binary", levels=LEVELS),),
)


@given(said=st.text(max_size=6) | st.decimals(0, 1, places=2).map(str))
def test_only_a_mapped_value_is_a_mark_and_no_value_is_rounded(said: str) -> None:
    maps = question_maps(["q=c:1=1", "q=c:0=2"], RUBRIC)
    found = mapped([("q", (said,))], maps)
    if form_of(said) in ("0", "1"):
        assert found.marks == {"c": 1 if form_of(said) == "1" else 2}
        assert found.not_measured == ()
    else:
        assert found.marks == {}
        assert len(found.not_measured) == 1


def test_numbers_are_one_value_however_they_are_written() -> None:
    assert {form_of(text) for text in ("1", "1.0", "1.00", "+1", " 1 ", "01")} == {"1"}
    assert form_of("0.50") == "0.5"
    assert form_of("-0") == "0"
    assert [form_of(text) for text in ("1e0", "¹", "1_0", "nan")] == ["1e0", "¹", "1_0", "nan"]


def test_forms_that_mean_two_levels_mean_nothing() -> None:
    maps = question_maps(["q=c:1=1", "q=c:no=2"], RUBRIC)
    found = mapped([("q", ("no", "1"))], maps)
    assert found.marks == {}
    assert found.not_measured == ("answer `no / 1` to `q` is mapped to two levels",)


def test_times_without_a_zone_are_not_known() -> None:
    assert utc("2026-03-01T10:00:00+01:00") == "2026-03-01T09:00:00.000000Z"
    assert utc("2026-03-01 09:00:00.5Z") == "2026-03-01T09:00:00.500000Z"
    for text in ("2026-03-01T09:00:00", "soon", "", "0001-01-01T00:00+23:00"):
        assert utc(text) is None
