"""A record of the Berkeley Function Calling Leaderboard as a contract.

A question has its functions, and a possible answer has the right calls, each argument with every
accepted value. A contract has one value per argument, so an argument with several is free here and
stored beside the contracts. Where BFCL expects no call at all, none is allowed. Comparisons by
BFCL's own classes (state after each turn) are left out.
"""

import re
from collections import Counter
from collections.abc import Iterator
from typing import Any, Final, Literal

from reviewer.suite.derived import ContractDraft, NoContract
from reviewer.suite.derived.golden import is_conversation, text_of, too_common

Texts = Literal["exact", "free"]

SEVERAL = (
    "arguments with several accepted values, or that may be absent, are free, and further ones, "
    "which BFCL refuses, are not noticed beside them: a contract holds one value of each (the "
    "values are in suite.json under source, possible_answer)"
)
EXACT = "texts among arguments must be equal as written; BFCL takes them without case and signs"
FREE = "texts among arguments are free: BFCL compares them without case and signs"
REPEATED = (
    "a function called several times: arguments are only compared for the calls that have one "
    "accepted value of each"
)
LANGUAGE = (
    "arguments of Java and JavaScript are texts that BFCL alone converts: only which functions are "
    "called is compared"
)
DOTTED = (
    "a name with a dot is required as written: where an API took it with an underscore, a map of "
    "the import names it (tools)"
)
NO_CALL = "no call is allowed: none of the functions fits the question"
SAYS = "the final message must say one of the accepted answers, and deny none of them"
NO_MEMORY = "the conversations that filled the memory before are not in the file"

_OPEN: Final = object()
"""An argument with more than one accepted value."""
_OBJECT: Final = {"type": "dict"}
_PATH = re.compile(r"[.\[\]]")
"""A sign of paths: a name with it cannot be a part of one."""
_TURNS = re.compile(r"multi_turn|_prereq")
_OTHERS = {
    "chatable": "expects words, but no particular ones",
    "rest": "its answer is what a web service returns, compared by BFCL alone",
    "exec": "its answer is what the call returns, compared by BFCL alone",
    "sql": "its answer is a query that BFCL alone compares",
}


def id_of(record: dict[str, Any]) -> str:
    """Return the record's id, "" when it has none."""
    return text_of(record.get("id"))


def contract_of(record: Any, answer: Any, texts: Texts = "exact") -> ContractDraft:
    """Return the contract of one question and its possible answer, None when there is none.
    `texts` says whether texts among arguments are compared. Raises NoContract."""
    if not isinstance(record, dict) or not id_of(record) or "question" not in record:
        raise NoContract("is not a BFCL question: it has no id or no question")
    name = id_of(record)
    _refuse(name, record)
    wanted = answer.get("ground_truth") if isinstance(answer, dict) else None
    if wanted is None:
        wanted = record.get("ground_truth")
    notes: list[str] = []
    shown: dict[str, Any] = {}
    functions = _functions(record)
    if "irrelevance" in name:
        rules = _no_call(functions, notes)
    elif "relevance" in name:
        rules = _some_call(functions)
    elif not isinstance(wanted, list) or not wanted:
        raise NoContract(
            "has no ground_truth: --answers names the file of its category in possible_answer"
        )
    elif all(isinstance(one, (str, int, float)) for one in wanted):
        rules = _says(record, wanted, notes)
    else:
        rules = _calls(name, wanted, functions, texts, notes)
        if SEVERAL in notes:
            shown["possible_answer"] = wanted
    episode = {
        "schema": "reviewer/episode@1",
        "episode_id": name,
        "user_request": _request(record["question"]),
        **rules,
        "tags": [_category(name)],
    }
    return ContractDraft(
        {member: value for member, value in episode.items() if value not in ("", {}, [])},
        shown,
        tuple(notes),
    )


def _category(name: str) -> str:
    """Return the category that an id begins with: `live_simple` of `live_simple_0-0-0`."""
    return re.sub(r"_\d.*\Z", "", name) or "bfcl"


def _refuse(name: str, record: dict[str, Any]) -> None:
    """Raise NoContract for the categories that only BFCL's own code can compare."""
    turns = record["question"]
    several = isinstance(turns, list) and len(turns) > 1 and isinstance(turns[0], list)
    if _TURNS.search(name) or several or "initial_config" in record:
        raise NoContract(
            "several turns: the state of BFCL's classes is compared after each, in its code alone"
        )
    for part, reason in _OTHERS.items():
        if name.startswith((f"{part}_", f"live_{part}_", f"{part}able_")):
            raise NoContract(reason)


def _functions(record: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """Return the offered functions, by name, each with its parameters."""
    listed = record.get("function")
    entries = listed if isinstance(listed, list) else [listed]
    found = {}
    for entry in entries:
        if isinstance(entry, dict) and isinstance(entry.get("name"), str):
            schema = entry.get("parameters")
            properties = schema.get("properties") if isinstance(schema, dict) else None
            found[entry["name"]] = properties if isinstance(properties, dict) else {}
    return found


def _request(question: Any) -> str:
    """Return the request: the user's words, with the other messages if there are any."""
    messages = question
    if isinstance(question, list) and len(question) == 1 and isinstance(question[0], list):
        messages = question[0]
    if not is_conversation(messages):
        return text_of(question)
    said = [(text_of(one.get("role")), text_of(one.get("content"))) for one in messages]
    if len(said) == 1:
        return said[0][1]
    return "\n".join(f"{role}: {text}" for role, text in said if text)


def _no_call(functions: dict[str, Any], notes: list[str]) -> dict[str, Any]:
    notes.append(NO_CALL)
    if not functions:
        return {"tools": {"allowed": []}}
    return {"tools": {"allowed": [], "forbidden": list(functions)}, "category": "negative"}


def _some_call(functions: dict[str, Any]) -> dict[str, Any]:
    if len(functions) != 1:
        raise NoContract(
            f"wants a call of any of its {len(functions)} functions: a contract names the tools "
            "that must be called"
        )
    return {"tools": {"required": list(functions), "order": "any"}}


def _says(record: dict[str, Any], wanted: list[Any], notes: list[str]) -> dict[str, Any]:
    says = list(dict.fromkeys(map(text_of, wanted)))
    if reason := next((why for one in says if (why := too_common(one))), ""):
        raise NoContract(reason)
    notes.append(SAYS)
    if "MemoryAPI" in (record.get("involved_classes") or ()):
        notes.append(NO_MEMORY)
    return {"expected": {"claims": [{"says": says}]}}


def _calls(
    name: str,
    wanted: list[Any],
    functions: dict[str, dict[str, Any]],
    texts: Texts,
    notes: list[str],
) -> dict[str, Any]:
    """Return the rules for calls: exactly those, in any order, as BFCL counts them."""
    made = [_call(one, number) for number, one in enumerate(wanted)]
    foreign = "java" in name
    if foreign and any(arguments for _, arguments in made):
        notes.append(LANGUAGE)
    steps: list[dict[str, Any]] = []
    arguments: dict[str, dict[str, Any]] = {}
    times = Counter(tool for tool, _ in made)
    for tool, values in made:
        step: dict[str, Any] = {"tool": tool}
        fixed = {} if foreign else _fixed(values, functions.get(tool, {}), texts, notes)
        if fixed and fixed.keys() == values.keys():
            step["arguments"] = fixed
        elif fixed and times[tool] == 1 and not any(map(_PATH.search, values)):
            arguments[tool] = fixed
        elif fixed:
            notes.append(REPEATED)
        steps.append(step)
    if any("." in tool for tool in times):
        notes.append(DOTTED)
    expected: dict[str, Any] = {"trajectory": steps, "trajectory_match": "unordered"}
    if arguments:
        expected["arguments"] = arguments
    return {"tools": {"required": list(times), "order": "any"}, "expected": expected}


def _call(entry: Any, number: int) -> tuple[str, dict[str, Any]]:
    if isinstance(entry, dict) and len(entry) == 1:
        tool, arguments = next(iter(entry.items()))
        if isinstance(arguments, dict) and tool:
            return tool, arguments
    raise NoContract(f"ground_truth[{number}] is not a call with arguments")


def _fixed(
    values: dict[str, Any], parameters: dict[str, Any], texts: Texts, notes: list[str]
) -> dict[str, Any]:
    """Return the arguments with only one accepted value, by name; of an object with open members
    the others, by path."""
    fixed: dict[str, Any] = {}
    for name, accepted in values.items():
        for path, value in _paths(name, accepted, parameters.get(name)):
            if value is _OPEN:
                notes.append(SEVERAL)
            elif _has_text(value):
                notes.append(EXACT if texts == "exact" else FREE)
                if texts == "exact":
                    fixed[path] = value
            else:
                fixed[path] = value
    return fixed


def _paths(name: str, accepted: Any, schema: Any) -> Iterator[tuple[str, Any]]:
    """Yield (path, value) of an argument; the value is _OPEN where there are several."""
    value = _only(accepted, schema)
    members = accepted[0] if value is _OPEN and isinstance(accepted, list) and accepted else None
    kind = schema.get("type") if isinstance(schema, dict) else None
    known = isinstance(members, dict) and len(accepted) == 1 and kind == "dict"
    if not known or not members or any(map(_PATH.search, members)):
        yield name, value
        return
    for member, own in members.items():
        yield from _paths(f"{name}.{member}", own, _OBJECT)


def _only(accepted: Any, schema: Any) -> Any:
    """Return the only accepted value, else _OPEN. "" says that the argument may be absent. Members
    of an object list their own accepted values."""
    if not isinstance(accepted, list) or len(accepted) != 1 or accepted[0] == "":
        return _OPEN
    value, kind = accepted[0], schema.get("type") if isinstance(schema, dict) else None
    if isinstance(value, dict):
        return _object(value) if kind == "dict" else _OPEN
    if isinstance(value, list) and any(isinstance(one, dict) for one in value):
        made = [_object(one) if isinstance(one, dict) else _OPEN for one in value]
        return _OPEN if any(one is _OPEN for one in made) else made
    return value


def _object(members: dict[str, Any]) -> Any:
    made = {name: _only(values, _OBJECT) for name, values in members.items()}
    return _OPEN if any(value is _OPEN for value in made.values()) else made


def _has_text(value: Any) -> bool:
    if isinstance(value, dict):
        return any(map(_has_text, value.values()))
    if isinstance(value, list):
        return any(map(_has_text, value))
    return isinstance(value, str)
