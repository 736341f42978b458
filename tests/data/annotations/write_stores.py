"""Write feedback and annotations with the models of the tools' own SDKs, offline.

pip install opik==2.2.122 weave==0.54.0 arize-phoenix-client==3.5.0 && python write_stores.py
"""

import datetime as dt
import json
from pathlib import Path

from opik.rest_api.types.feedback_score_public import FeedbackScorePublic as Score
from opik.rest_api.types.value_entry_public import ValueEntryPublic as Value
from phoenix.client.__generated__.v1 import (
    SpanAnnotation,
    TraceAnnotation,
    TraceAnnotationsResponseBody,
)
from weave.trace.feedback import Feedback

HERE = Path(__file__).parent
LAMP = HERE.parent / "opik" / "trace.json"
CALLS = HERE.parent / "formats_c" / "weave" / "calls.jsonl"
FIRST, SECOND = "fee618f96dc31e0ca38b2f7b26eb8b29", "e1fde3efec57ce8a69bafd3fb928a7eb"


def at(minute: int) -> dt.datetime:
    return dt.datetime(2026, 3, 1, 9, minute, 0, 125000, tzinfo=dt.UTC)


def value(minute: int, said: float, source: str = "ui", **more: object) -> Value:
    return Value(value=said, source=source, last_updated_at=at(minute), **more)


def scored(name: str, said: float, source: str = "ui", **more: object) -> Score:
    times = {"created_at": at(1), "last_updated_at": at(1)}
    return Score(name=name, value=said, source=source, **times, **more)


SCORES = [
    scored(
        "accurate", 0.5, created_by="ann", last_updated_by="ben",
        value_by_author={"ann": value(1, 1.0, reason="says what it did"), "ben": value(2, 0.0)},
    ),
    scored("access", 1.0, category_name="partly", created_by="ann", last_updated_by="ann"),
    scored("next-step", 0.5, created_by="ann"),
    scored("accurate", 1.0, "sdk", created_by="ann"),
    scored("accurate", 1.0, "online_scoring"),
    scored("access", 1.0),
    scored("toxic", 0.0, value_by_author={"ann": value(3, 0.0, span_id="s-1", span_type="llm")}),
]  # fmt: skip


def annotated(number: int, trace: str, name: str, kind: str, **more: object) -> TraceAnnotation:
    times = {"created_at": at(number).isoformat(), "updated_at": at(number).isoformat()}
    given = {"source": "APP", "user_id": "VXNlcjox", "metadata": {}, "identifier": "", **times}
    return TraceAnnotation(
        id=f"VHJhY2VBbm5vdGF0aW9uOj{number}", trace_id=trace, name=name, annotator_kind=kind,
        **{**given, **more},
    )  # fmt: skip


YES = {"label": "yes", "score": 1.0, "explanation": "states the outcome"}
ANNOTATIONS = TraceAnnotationsResponseBody(
    data=[
        annotated(1, FIRST, "accurate", "HUMAN", result=YES),
        annotated(2, FIRST, "accurate", "HUMAN", result={"score": 0.0}, user_id="VXNlcjoy"),
        annotated(3, SECOND, "access", "HUMAN", result={"label": "partly"}),
        annotated(4, SECOND, "accurate", "LLM", result=YES, user_id=None, source="API"),
        annotated(5, SECOND, "accurate", "CODE", result=YES, source="API"),
        annotated(6, SECOND, "accurate", "HUMAN", result=YES, user_id=None),
        annotated(7, SECOND, "accurate", "HUMAN", result={"explanation": "only words"}),
        annotated(8, "0" * 32, "accurate", "HUMAN", result=YES),
    ],
    next_cursor=None,
)
STEP = SpanAnnotation(
    id="U3BhbkFubm90YXRpb246MQ==", span_id="a1b2c3d4e5f60718", name="accurate",
    annotator_kind="HUMAN", result=YES, metadata={}, identifier="", source="APP",
    user_id="VXNlcjox", created_at=at(9).isoformat(), updated_at=at(9).isoformat(),
)  # fmt: skip


def told(number: int, call: str, kind: str, payload: object, **more: object) -> dict[str, object]:
    one = Feedback(
        id=f"01a20546-0000-7000-8000-{number:012d}", project_id="shop/lampshop", creator=None,
        weave_ref=f"weave:///shop/lampshop/call/{call}", feedback_type=kind, payload=payload,
        created_at=at(number), **{"wb_user_id": "VXNlcjox", **more},
    )  # fmt: skip
    found: dict[str, object] = json.loads(one.model_dump_json(exclude_defaults=True))
    return found


def with_feedback(call: dict[str, object]) -> dict[str, object]:
    """Return a call as `get_calls(include_feedback=True)` gives it."""
    key, inner = str(call["id"]), call["parent_id"] is not None
    spec = {"annotation_ref": "weave:///shop/lampshop/object/accurate:abc"}
    held = [told(20, key, "wandb.annotation.accurate", {"value": True}, **spec)] if inner else [
        told(1, key, "wandb.annotation.accurate", {"value": True}, **spec),
        told(2, key, "wandb.annotation.accurate", {"value": 0}, **spec, wb_user_id="VXNlcjoy"),
        told(3, key, "wandb.annotation.access", {"value": "partly"}, **spec),
        told(4, key, "wandb.reaction.1", {"emoji": "\N{THUMBS DOWN SIGN}"}),
        told(5, key, "wandb.note.1", {"note": "seen"}),
        told(6, key, "wandb.runnable.accurate", {"output": {"accurate": True}}),
        told(7, key, "accurate", {"value": 1}),
        told(8, key, "wandb.annotation.accurate", {"value": True}, **spec, wb_user_id=None),
        told(9, key, "wandb.annotation.accurate", {"value": [1]}, **spec),
    ]  # fmt: skip
    summary = dict(call["summary"] or {})  # type: ignore[call-overload]
    summary["weave"] = {**summary.get("weave", {}), "feedback": held}
    return {**call, "summary": summary}


def main() -> None:
    lamp = json.loads(LAMP.read_text(encoding="utf-8"))
    lamp["trace"]["feedback_scores"] = [json.loads(one.model_dump_json()) for one in SCORES]
    lamp["spans"][0]["feedback_scores"] = [json.loads(SCORES[1].model_dump_json())]
    page = {**ANNOTATIONS, "data": [*ANNOTATIONS["data"], STEP]}
    calls = [json.loads(line) for line in CALLS.read_text(encoding="utf-8").splitlines()]
    some = [with_feedback(one) for one in calls if one["parent_id"] is None or one is calls[0]]
    lines = "".join(f"{json.dumps(one)}\n" for one in some)
    for name, text in (
        ("opik_trace.json", f"{json.dumps(lamp, indent=1)}\n"),
        ("phoenix_annotations.json", f"{json.dumps(page, indent=1)}\n"),
        ("weave_calls.jsonl", lines),
    ):
        (HERE / name).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
