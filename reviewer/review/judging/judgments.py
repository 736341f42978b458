"""Judgments as they travel and join: files of JSON lines, uids, which one counts, merging.

Judgments are only ever added, so joining two stores is the union by uid.
"""

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

import msgspec

from reviewer.contract.canonical import canonical_bytes, sha256_hex
from reviewer.contract.errors import ContractError, Problem, json_path, shown
from reviewer.contract.strict_json import load_object
from reviewer.review.items import item_name
from reviewer.review.judging.model import KIND_OF, SCORES, Judgment
from reviewer.review.label_rules import instant
from reviewer.review.labels import MAX_LINE, MAX_PROBLEMS

SCHEMA = "reviewer/judgment@1"

Found = Iterator[tuple[str, str]]


class JudgmentKey(NamedTuple):
    """Of all judgments under one key, one counts."""

    item: str
    preset: str
    order: str
    repeat: int
    trace: str | None
    judge_id: str
    model: str
    prompt_digest: str
    rubric_digest: str | None


def key_of(judgment: Judgment) -> JudgmentKey:
    return JudgmentKey(*(getattr(judgment, name) for name in JudgmentKey._fields))


def uid_of(judgment: Judgment) -> str:
    """The uid that the judgment's content gives it, whatever uid it bears."""
    content = _plain(judgment)
    del content["uid"], content["traces"]
    return sha256_hex(canonical_bytes(content, "judgment"))


def seal(judgment: Judgment) -> Judgment:
    """The judgment with its uid, held to what a file of judgments is held to.

    ContractError naming the member at fault.
    """
    return read_judgment(canonical_bytes({**_plain(judgment), "uid": None}, "judgment"), "judgment")


def judgment_line(judgment: Judgment) -> bytes:
    """The judgment as one line of a file: RFC 8785 bytes and a newline."""
    return canonical_bytes(_plain(judgment), "judgment") + b"\n"


def judgment_file(judgments: Iterable[Judgment]) -> bytes:
    """A whole file, by time: the same judgments give the same bytes."""
    return b"".join(judgment_line(one) for one in merge(judgments, ()))


def read_judgments(data: bytes, file: str = "judgments.jsonl") -> tuple[Judgment, ...]:
    """The judgments of a file of JSON lines, by time, each once. Empty lines are passed over.

    A uid may be absent and is then computed. ContractError with every problem (the first hundred),
    each as `file:line`; nothing of such a file is returned.
    """
    judgments: list[Judgment] = []
    problems: list[Problem] = []
    for number, line in enumerate(data.split(b"\n"), 1):
        if not line.strip():
            continue
        try:
            judgments.append(read_judgment(line, f"{file}:{number}"))
        except ContractError as error:
            problems += error.problems
    if len(problems) > MAX_PROBLEMS:
        more = f"and {len(problems) - MAX_PROBLEMS:,} further problems"
        problems[MAX_PROBLEMS:] = [Problem(file, "$", more)]
    if problems:
        raise ContractError.of(problems)
    return merge(judgments, ())


def stored_judgment(body: bytes) -> Judgment:
    """A judgment whose bytes are known to have been read before: nothing is checked but types.
    ContractError when they are none."""
    try:
        return msgspec.json.decode(body, type=Judgment)
    except msgspec.DecodeError as error:
        raise ContractError("judgment", "$", f"is not a stored judgment: {error}") from None


def merge(a: Iterable[Judgment], b: Iterable[Judgment]) -> tuple[Judgment, ...]:
    """The union by uid, by time, the traces of doubles joined. ContractError for a judgment whose
    uid is not that of its content."""
    joined: dict[str, Judgment] = {}
    traces: dict[str, set[str]] = {}
    for one in (*a, *b):
        if one.uid != uid_of(one):
            raise _forged(one, "judgment")
        joined.setdefault(one.uid, one)
        traces.setdefault(one.uid, set()).update(one.traces)
    whole = (
        msgspec.structs.replace(one, traces=tuple(sorted(traces[uid])))
        for uid, one in joined.items()
    )
    return tuple(sorted(whole, key=_age))


def counting(judgments: Iterable[Judgment]) -> tuple[Judgment, ...]:
    """Of each key the judgment that counts, by time: the first that came, or, as long as none
    did, the last try. Asking until the answer pleases must not pay."""
    found: dict[JudgmentKey, Judgment] = {}
    for one in sorted(judgments, key=_age):
        known = found.get(key_of(one))
        if known is None or not known.final:
            found[key_of(one)] = one
    return tuple(sorted(found.values(), key=_age))


def read_judgment(line: bytes, place: str) -> Judgment:
    """The judgment of one line; `place` is what errors call it. ContractError with every
    problem."""
    from pydantic import ValidationError

    from reviewer.contract.explain import as_problems, shape_faults
    from reviewer.review.judging.judgment_shape import JudgmentShape

    raw = load_object(line, place, max_bytes=MAX_LINE)
    try:
        JudgmentShape.model_validate(raw)
    except ValidationError as error:
        raise ContractError.of(as_problems(place, shape_faults(JudgmentShape, error))) from None
    said = {name: value for name, value in raw.items() if name != "schema"}
    said = {"rubric_digest": None, **said, "uid": said.get("uid") or ""}
    judgment = msgspec.convert(said, Judgment)
    problems = [Problem(place, where, why) for where, why in _problems(judgment)]
    if problems:
        raise ContractError.of(problems)
    if judgment.uid and judgment.uid != uid_of(judgment):
        raise _forged(judgment, place)
    return msgspec.structs.replace(judgment, uid=uid_of(judgment))


def _problems(judgment: Judgment) -> Found:
    try:
        instant(judgment.at)
    except ValueError as error:
        yield "$.at", str(error)
    if judgment.kind != KIND_OF[judgment.preset]:
        yield "$.kind", f"is not what preset {judgment.preset} asks about"
        return
    if (judgment.trace is not None) != (judgment.preset == "faithfulness"):
        yield "$.trace", "names whose observations were shown, and that only in faithfulness"
    yield from _context(judgment)
    yield from _said(judgment)


def _context(judgment: Judgment) -> Found:
    """The item must be the one that these messages make, in the order that is named."""
    pair = judgment.kind == "pair"
    named = {"left": judgment.left, "right": judgment.right, "message": judgment.message}
    wanted = ("left", "right") if pair else ("message",)
    for name, digest in named.items():
        if (digest is None) == (name in wanted):
            way = "is missing" if digest is None else f"is none of a {judgment.kind}"
            yield f"$.{name}", way
            return
    digests = [digest for digest in named.values() if digest is not None]
    if pair and digests[0] == digests[1]:
        yield "$.right", "is the left message again; identical messages make no pair"
        return
    order = "single"
    if pair:
        order = "forward" if digests[0] < digests[1] else "swapped"
    if judgment.order != order:
        yield "$.order", f"must be {order}: `forward` has the lower digest on the left"
    name = item_name(judgment.kind, judgment.suite_digest, judgment.episode_id, digests)
    if judgment.item != name:
        yield "$.item", f"is not the item of these messages, which is {name}"


def _said(judgment: Judgment) -> Found:
    wanted = {"pairwise": "answer", "faithfulness": "claims"}.get(judgment.preset, "scores")
    given = {
        "answer": judgment.answer is not None,
        "scores": bool(judgment.scores),
        "claims": judgment.claims is not None,
    }
    for name, there in given.items():
        if there and name != wanted:
            yield f"$.{name}", f"is no answer of preset {judgment.preset}"
    if given[wanted] == (judgment.error is not None):
        yield f"$.{wanted}", "must be given, or else an error, and never both"
    scales = SCORES.get(judgment.preset, {})
    if judgment.scores and judgment.preset in SCORES and judgment.scores.keys() != scales.keys():
        yield "$.scores", f"must be {', '.join(scales)}"
    for name, score in judgment.scores.items():
        if score > scales.get(name, score):
            yield json_path(("scores", name)), f"is above {scales[name]:g}"


def _forged(judgment: Judgment, place: str) -> ContractError:
    reason = f"`{shown(judgment.uid)}` is not the uid of this content, which is {uid_of(judgment)}"
    return ContractError(place, "$.uid", f"{reason}; the judgment was changed after it was made")


def _plain(judgment: Judgment) -> dict[str, Any]:
    return {"schema": SCHEMA, **msgspec.to_builtins(judgment)}


def _age(judgment: Judgment) -> tuple[tuple[str, str], str]:
    return instant(judgment.at), judgment.uid
