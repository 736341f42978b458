"""A row of an OpenAI eval as a contract: of the open-source Evals, or of the Evals service.

A row of the open-source Evals has `input` and `ideal`. In the service, the expectations are in the
graders (`testing_criteria`) of the eval, which refer to a row's members (`{{item.answer}}`) and to
the model's output (`{{sample.output_text}}`). A grader that compares texts becomes a rule of the
contract. One that asks a model becomes a question of the rubric, for people and a judge. One that
is code or a measure is named and left out: its figure is no gate.
"""

import json
import re
from collections.abc import Sequence
from typing import Any, NamedTuple

from reviewer.suite.derived import ContractDraft, NoContract
from reviewer.suite.derived.golden import (
    SHORT,
    is_conversation,
    request_of,
    text_of,
    texts_of,
    too_common,
)
from reviewer.suite.errors import id_problem
from reviewer.suite.json_values import at, path_of

IDEAL = (
    "`ideal` must be in the final message; whether it has to be all of it or its beginning (Match) "
    "or any part (Includes) is not in the dataset"
)
EQUAL = "string_check eq wants the whole message to be the reference: here it must contain it"
LIKE = "string_check like is compared without case here"
SIMILAR = "text_similarity is no gate: its reference is compared with (message_reference)"
ASKED = "graders that ask a model are for people and a judge: criteria of rubric.json"
TOOL = "a string_check of output_tools requires the tool, wherever it is among the calls"
ARGUMENTS = "arguments of output_tools are compared as JSON, not as text"
UNNAMED = "no id in the row: named by its place"
UNASKED = (
    "what is asked is not in the row under a usual name: a run or its output items say it "
    "(input_messages, sample.input)"
)
TURNS = "earlier messages of the conversation are part of the request"

MODELS = ("label_model", "score_model")
_NOT_HELD = {
    "python": "code is not run here",
    "multi": "a sum of graders is no gate",
    "endpoint": "another service is not asked",
}
_PLACE = re.compile(r"\{\{\s*([^{}]{1,200}?)\s*\}\}")
_TOOL = re.compile(
    r"\s*\{\{\s*sample\.output_tools\[(\d{1,4})\]\.function\.(name|arguments)\s*\}\}\s*\Z"
)


class Eval(NamedTuple):
    """How rows are graded and asked: `graders` are the eval's testing_criteria, `messages` the
    input_messages of a run. `answer` is the member of a row with a recorded answer: graders of it
    are read as graders of the message."""

    graders: tuple[dict[str, Any], ...] = ()
    messages: dict[str, Any] | None = None
    answer: str = ""

    def is_message(self, template: str) -> bool:
        """Return whether a grader that looks at this template looks at the final message."""
        place = _PLACE.fullmatch(template.strip())
        return place is not None and place[1] in ("sample.output_text", f"item.{self.answer}")


class _Rules:
    """The rules that result from the graders of one row."""

    def __init__(self) -> None:
        self.contains: list[str] = []
        self.claims: list[dict[str, Any]] = []
        self.tools: dict[int, str] = {}
        self.arguments: dict[int, dict[str, Any]] = {}
        self.reference = ""
        self.left: list[str] = []
        self.notes: list[str] = []


def named(row: dict[str, Any]) -> str:
    """Return the id of a row, "" when it has none that can be a file name."""
    own, given = text_of(_item(row).get("id")), text_of(row.get("datasource_item_id"))
    ways = (own, given and f"item-{given}")
    return next((one for one in ways if one and id_problem(one) is None), "")


def graders_of(value: Any) -> tuple[dict[str, Any], ...]:
    """Return the graders of an eval, () where it has none. Raises ValueError for an invalid
    value."""
    listed = value.get("testing_criteria") if isinstance(value, dict) else None
    if listed is None:
        return ()
    if not isinstance(listed, list) or not all(isinstance(one, dict) for one in listed):
        raise ValueError("testing_criteria is no list of graders")
    return tuple(listed)


def contract_of(row: Any, number: int, told: Eval) -> ContractDraft:
    """Return the contract of one row, `number` from 1. Raises NoContract."""
    if not isinstance(row, dict):
        raise NoContract("is no object")
    if row.get("object") in ("eval", "eval.run"):
        raise NoContract("is not a row: give the dataset, one run or its output items")
    item, rules = _item(row), _Rules()
    if told.graders:
        for grader in told.graders:
            _graded(grader, item, told, rules)
    elif item.get("ideal") is not None:
        _ideal(item["ideal"], rules)
    else:
        raise NoContract(
            "nothing says how it is graded: it has no ideal, and --eval names no file with the "
            "eval's testing_criteria"
        )
    expected: dict[str, Any] = {}
    if rules.contains:
        expected["message_contains"] = list(dict.fromkeys(rules.contains))
    if rules.claims:
        expected["claims"] = rules.claims
    if whole := [at for at in sorted(rules.tools) if at in rules.arguments]:
        steps = [{"tool": rules.tools[at], "arguments": rules.arguments[at]} for at in whole]
        expected |= {"trajectory": steps, "trajectory_match": "superset"}
        rules.notes.append(ARGUMENTS)
    required = list(dict.fromkeys(rules.tools[at] for at in sorted(rules.tools)))
    if not expected and not required:
        raise NoContract(
            f"no gate can check how it is graded: {'; '.join(rules.left)}. from-golden reads rows "
            "that state what must be said (must_contain) or called (expected_tools)"
        )
    if rules.reference:
        expected["message_reference"] = rules.reference
    name, request = named(row), _request(row, item, told.messages, rules.notes)
    if not name:
        rules.notes.append(UNNAMED)
    if not request:
        rules.notes.append(UNASKED)
    episode = {
        "schema": "reviewer/episode@1",
        "episode_id": name or f"item-{number}",
        "user_request": request,
        "tools": {"required": required, "order": "any"} if required else {},
        "expected": expected,
    }
    notes = [*rules.notes, *(f"not gated: {one}" for one in rules.left)]
    kept = {member: value for member, value in episode.items() if value not in ("", {}, [])}
    return ContractDraft(kept, {}, tuple(notes))


def criteria_of(graders: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the criteria of a rubric for the graders that ask a model."""
    found: dict[str, dict[str, Any]] = {}
    for number, grader in enumerate(graders, 1):
        if grader.get("type") not in MODELS:
            continue
        title = " ".join(_name(grader).split())[:80] or f"grader {number}"
        slug = re.sub(r"[^a-z0-9]+", "-", title.lower()).strip("-")[:60] or f"grader-{number}"
        yes, no = "passes", "does not pass"
        if passing := texts_of(grader.get("passing_labels")):
            others = [one for one in texts_of(grader.get("labels")) if one not in passing]
            yes, no = ", ".join(passing)[:100], ", ".join(others)[:100] or no
        name = slug if slug not in found else f"{slug[:50]}-{number}"
        found[name] = {
            "criterion_id": name,
            "title": title,
            "asks": _asks(grader) or title,
            "scale": "binary",
            "levels": [{"value": 1, "label": yes}, {"value": 2, "label": no}],
        }
    return list(found.values())


def _asks(grader: dict[str, Any]) -> str:
    """Return the question of a grader's prompt to a model, on one line."""
    messages = grader.get("input")
    said = []
    for message in messages if isinstance(messages, list) else ():
        content = message.get("content") if isinstance(message, dict) else None
        parts = content if isinstance(content, list) else [content]
        texts = [part.get("text") if isinstance(part, dict) else part for part in parts]
        said += [text for text in texts if isinstance(text, str)]
    plain = _PLACE.sub(_spoken, " ".join(" ".join(said).split()))
    return plain[:1000]


def _spoken(place: re.Match[str]) -> str:
    """Return a place of a prompt in words."""
    if place[1] == "sample.output_text":
        return "[the final message]"
    return f"[{place[1].removeprefix('item.')}]"


def _item(row: dict[str, Any]) -> dict[str, Any]:
    """Return the members that graders refer to as `item`."""
    for name in ("datasource_item", "item"):
        held = row.get(name)
        if isinstance(held, dict):
            # Where rows of the dataset have a sample of their own, the row is one level deeper.
            inner = held.get("item")
            return inner if isinstance(inner, dict) and name == "datasource_item" else held
    return row


def _name(grader: dict[str, Any]) -> str:
    return text_of(grader.get("name")) or text_of(grader.get("type")) or "a grader without a name"


def _graded(grader: dict[str, Any], item: dict[str, Any], told: Eval, rules: _Rules) -> None:
    kind, name = text_of(grader.get("type")), _name(grader)[:80]
    if kind == "string_check":
        _string_check(grader, item, told, name, rules)
    elif kind == "text_similarity":
        if told.is_message(text_of(grader.get("input"))):
            rules.reference = rules.reference or _filled(grader.get("reference"), item) or ""
        rules.notes.append(SIMILAR)
        rules.left.append(f"{name} (text_similarity): a measure is no gate")
    elif kind in MODELS:
        rules.notes.append(ASKED)
        rules.left.append(f"{name} ({kind}): a model's opinion is no gate")
    else:
        reason = _NOT_HELD.get(kind, "this kind of grader is not known")
        rules.left.append(f"{name} ({kind[:40] or 'no type'}): {reason}")


def _string_check(
    grader: dict[str, Any], item: dict[str, Any], told: Eval, name: str, rules: _Rules
) -> None:
    operation, looks_at = text_of(grader.get("operation")), text_of(grader.get("input"))
    called, template = f"{name} (string_check {operation[:20]})", text_of(grader.get("reference"))
    if operation == "eq" and (_TOOL.match(template) or told.is_message(template)):
        looks_at, template = template, looks_at  # written the other way round: the same check
    wanted = _filled(template, item)
    tool = _TOOL.match(looks_at)
    if operation not in ("eq", "like", "ilike"):
        rules.left.append(f"{called}: only that texts agree is gated")
    elif not tool and not told.is_message(looks_at):
        rules.left.append(f"{called}: looks at {looks_at[:80]}, not at the message")
    elif not wanted:
        rules.left.append(f"{called}: the row has no {template[:80]}")
    elif tool:
        _called(tool, operation, wanted, called, rules)
    elif reason := too_common(wanted):
        rules.left.append(f"{called}: {reason}")
    elif operation != "eq":
        rules.contains.append(wanted)
        if operation == "like":
            rules.notes.append(LIKE)
    elif _short(wanted):
        rules.contains.append(wanted)
        rules.notes.append(EQUAL)
    else:
        rules.reference = rules.reference or wanted
        rules.left.append(
            f"{called}: {len(wanted)} characters word for word; compared with (message_reference)"
        )


def _called(tool: re.Match[str], operation: str, wanted: str, called: str, rules: _Rules) -> None:
    """Add the tool, or the arguments, that a call must have."""
    at_call = int(tool[1])
    if operation != "eq":
        rules.left.append(f"{called}: part of a call is no call")
    elif tool[2] == "name":
        rules.tools[at_call] = wanted
        rules.notes.append(TOOL)
    else:
        try:
            arguments = json.loads(wanted)
        except (ValueError, RecursionError):
            arguments = None
        if isinstance(arguments, dict):
            rules.arguments[at_call] = arguments
        else:
            rules.left.append(f"{called}: its arguments are no JSON object")


def _ideal(ideal: Any, rules: _Rules) -> None:
    """Require one of the answers that a row of the open-source Evals accepts."""
    values = ideal if isinstance(ideal, list) else [ideal]
    says = list(dict.fromkeys(text_of(one) for one in values))
    if not says or not all(says) or any(isinstance(one, (list, dict)) for one in values):
        rules.left.append("ideal is no text")
    elif reason := next((why for one in says if (why := too_common(one))), ""):
        rules.left.append(reason)
    elif not all(map(_short, says)):
        longest = max(map(len, says))
        rules.reference = says[0]
        rules.left.append(f"ideal has {longest} characters, which no message says word for word")
    else:
        rules.notes.append(IDEAL)
        if len(says) == 1:
            rules.contains.append(says[0])
        else:
            rules.claims.append({"says": says})


def _short(text: str) -> bool:
    return len(text) <= SHORT and "\n" not in text


def _filled(template: Any, item: dict[str, Any]) -> str | None:
    """Return a template with the row's values inserted, None when one is missing."""
    missing = False

    def value(place: re.Match[str]) -> str:
        nonlocal missing
        found = text_of(_looked_up(place[1], item))
        missing = missing or not found
        return found

    filled = _PLACE.sub(value, text_of(template))
    return None if missing else filled.strip()


def _looked_up(path: str, item: dict[str, Any]) -> Any:
    head, _, rest = path.partition(".")
    if head != "item" or not rest:
        return None
    if rest in item:
        return item[rest]
    try:
        return at(item, path_of(rest))
    except ValueError:
        return None


def _request(
    row: dict[str, Any], item: dict[str, Any], messages: dict[str, Any] | None, notes: list[str]
) -> str:
    """Return the request: as the service sent it, by the run's template, else the row's own."""
    sample = row.get("sample")
    told: Any = sample.get("input") if isinstance(sample, dict) else None
    if not told and messages is not None:
        if messages.get("type") == "item_reference":
            told = _looked_up(text_of(messages.get("item_reference")), item)
        elif isinstance(template := messages.get("template"), list):
            told = [_message(one, item) for one in template]
    if not told:
        told = next((item[name] for name in ("messages", "input") if item.get(name)), None)
    if not is_conversation(told):
        return text_of(told) or request_of(item)
    said = [
        (one["role"], text)
        for one in told
        if one.get("role") in ("user", "assistant") and (text := text_of(one.get("content")))
    ]
    if len(said) < 2:
        return "".join(text for _, text in said)
    notes.append(TURNS)
    return "\n".join(f"{role}: {text}" for role, text in said)


def _message(message: Any, item: dict[str, Any]) -> Any:
    if not isinstance(message, dict):
        return message
    content = text_of(message.get("content")) or text_of([message.get("content")])
    return {**message, "content": _filled(content, item) or content}
