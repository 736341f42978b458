"""Write scores and feedback with the models of the tools' own SDKs, offline.

pip install langfuse==5.0.4 langsmith==0.15.1 mlflow-skinny==3.17.2 && python write.py
"""

import datetime as dt
import json
import uuid
from pathlib import Path

from langfuse.api.commons.types.score import Score_Boolean, Score_Categorical, Score_Numeric
from langfuse.api.scores.types.get_scores_v3meta import GetScoresV3Meta
from langfuse.api.scores.types.get_scores_v3response import GetScoresV3Response
from langfuse.api.scores.types.score_subject_v3 import (
    ScoreSubjectV3_Observation,
    ScoreSubjectV3_Trace,
)
from langfuse.api.scores.types.score_v3 import ScoreV3_Boolean, ScoreV3_Categorical
from langfuse.api.utils.pagination.types.meta_response import MetaResponse
from langsmith.schemas import APIFeedbackSource, Feedback, FeedbackSourceBase, ModelFeedbackSource
from mlflow.entities import AssessmentSource, Expectation, Trace
from mlflow.entities import Feedback as Assessment

HERE = Path(__file__).parent
LAMP = HERE.parent / "formats_c" / "mlflow" / "trace_0.json"
FIRST, SECOND = "fee618f96dc31e0ca38b2f7b26eb8b29", "e1fde3efec57ce8a69bafd3fb928a7eb"
RUN = uuid.UUID("01a20540-636e-7109-aa76-57911e489668")
ANN, BEN = "cm8annotatora", "cm8annotatorb"


def at(minute: int) -> dt.datetime:
    return dt.datetime(2026, 3, 1, 9, minute, 0, 125000, tzinfo=dt.UTC)


def score(kind: type, number: int, name: str, source: str = "ANNOTATION", **more: object) -> object:
    times = {name: at(number) for name in ("timestamp", "created_at", "updated_at")}
    key = f"5c0e0000-0000-4000-8000-{number:012d}"
    return kind(id=key, **times, environment="default", name=name, source=source, **more)


def yes(number: int, said: bool = True, **more: object) -> object:
    value = {"value": float(said), "string_value": str(said)}
    return score(Score_Boolean, number, "accurate", **{**value, **more})


SCORES = [
    yes(1, trace_id=FIRST, author_user_id=ANN, queue_id="queue-1", comment="states the outcome"),
    yes(2, False, trace_id=FIRST, author_user_id=BEN, queue_id="queue-1"),
    score(Score_Numeric, 3, "next-step", value=3.0, trace_id=FIRST, author_user_id=ANN),
    score(Score_Numeric, 4, "next-step", value=0.5, trace_id=FIRST, author_user_id=BEN),
    score(
        Score_Categorical, 5, "access", value=1.0, string_value="partly",
        trace_id=SECOND, author_user_id=ANN,
    ),
    yes(6, trace_id=SECOND, author_user_id=ANN),
    yes(7, trace_id="0" * 32, author_user_id=ANN),
    score(Score_Numeric, 8, "accurate", "EVAL", value=1.0, trace_id=FIRST),
    score(Score_Numeric, 9, "accurate", "API", value=1.0, trace_id=FIRST),
    yes(10, trace_id=FIRST, observation_id="a1b2c3d4e5f60718", author_user_id=ANN),
    yes(11, session_id="session-1", author_user_id=ANN),
    yes(12, trace_id=SECOND),
]  # fmt: skip
THIRD = [
    score(
        ScoreV3_Boolean, 1, "accurate", project_id="p", value=True, author_user_id=ANN,
        subject=ScoreSubjectV3_Trace(id=FIRST),
    ),
    score(
        ScoreV3_Categorical, 5, "access", project_id="p", value="partly", author_user_id=ANN,
        subject=ScoreSubjectV3_Trace(id=SECOND),
    ),
    score(
        ScoreV3_Boolean, 10, "accurate", project_id="p", value=True, author_user_id=ANN,
        subject=ScoreSubjectV3_Observation(id="a1b2c3d4e5f60718", trace_id=FIRST),
    ),
]  # fmt: skip


def key(number: int) -> uuid.UUID:
    return uuid.UUID(int=number, version=4)


APP = FeedbackSourceBase(type="app", user_id=key(7), user_name="Ann")
OTHER = FeedbackSourceBase(type="app", user_id=key(8))


def feedback(number: int, name: str, source: object, **more: object) -> Feedback:
    given = {"run_id": RUN, "trace_id": RUN, "session_id": key(99), **more}
    times = {"created_at": at(number), "modified_at": at(number)}
    return Feedback(id=key(number), key=name, feedback_source=source, **times, **given)


FEEDBACK = [
    feedback(1, "accurate", APP, score=1, value="yes", comment="says what it did"),
    feedback(2, "accurate", OTHER, score=0, value="no"),
    feedback(3, "access", APP, score=2),
    feedback(4, "access", APP, score=0.5),
    feedback(5, "accurate", APIFeedbackSource(), score=1),
    feedback(6, "accurate", ModelFeedbackSource(), score=1),
    feedback(7, "accurate", FeedbackSourceBase(type="auto_eval"), score=1),
    feedback(
        8, "ranked_preference", APP, score=1,
        comparative_experiment_id=key(50), feedback_group_id=key(51),
    ),
    feedback(9, "accurate", APP, run_id=key(60), score=1, value="yes"),
    feedback(10, "accurate", FeedbackSourceBase(type="app"), score=1, value="yes"),
    feedback(11, "accurate", None, score=1),
    feedback(12, "accurate", APP, run_id=key(61), trace_id=key(61), score=1, value="yes"),
    feedback(13, "remark", APP, comment="only words"),
]  # fmt: skip


def assessed(trace: Trace) -> Trace:
    """Assess a trace, as people, a judge and code would."""
    ann, ben = (AssessmentSource("HUMAN", name) for name in ("ann", "ben"))
    about = trace.info.trace_id

    def said(number: int, name: str, source: AssessmentSource, **more: object) -> Assessment:
        at_ms = 1_772_355_600_000 + 60_000 * number
        times = {"create_time_ms": at_ms, "last_update_time_ms": at_ms}
        found = Assessment(name=name, source=source, trace_id=about, **times, **more)
        found.assessment_id = f"a-{number:04d}"
        return found

    expected = Expectation(name="reply", value="refunded", source=ann, trace_id=about)
    expected.assessment_id = "a-0007"
    expected.create_time_ms = expected.last_update_time_ms = 1_772_355_600_000
    trace.info.assessments = [
        said(1, "accurate", ann, value=True, rationale="says what it did"),
        said(2, "accurate", ben, value=False),
        said(3, "next-step", ann, value=3),
        said(4, "accurate", AssessmentSource("LLM_JUDGE", "gpt"), value=True),
        said(5, "accurate", AssessmentSource("CODE", "len"), value=True),
        said(6, "access", ben, value=3, valid=False),
        expected,
        said(8, "accurate", ann, value=True, span_id="0011223344556677"),
        said(9, "accurate", AssessmentSource("HUMAN"), value=True),
        said(10, "accurate", ann, value=["yes", "no"]),
        said(11, "access", ben, value=2, overrides="a-0006"),
    ]
    return trace


def write(name: str, text: str) -> None:
    (HERE / name).write_text(text, encoding="utf-8")


def main() -> None:
    meta = MetaResponse(page=1, limit=50, total_items=len(SCORES), total_pages=1)
    page = {
        "data": [json.loads(one.json(by_alias=True)) for one in SCORES],
        "meta": json.loads(meta.json(by_alias=True)),
    }
    write("langfuse_scores.json", json.dumps(page, indent=1) + "\n")
    third = GetScoresV3Response(data=THIRD, meta=GetScoresV3Meta(limit=50))
    whole = json.loads(third.json(by_alias=True))
    write("langfuse_scores_v3.json", json.dumps(whole, indent=1) + "\n")
    trace = assessed(Trace.from_json(LAMP.read_text(encoding="utf-8")))
    write("mlflow_trace.json", json.dumps(json.loads(trace.to_json()), indent=1) + "\n")
    write("langsmith_feedback.jsonl", "".join(f"{x.model_dump_json()}\n" for x in FEEDBACK))


if __name__ == "__main__":
    main()
