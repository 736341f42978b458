"""Calls as a model writes them, and observations as it is told them: the same in both APIs."""

import json
from typing import Any

from reviewer.running.candidates.openai_answers import Again, one_meaning
from reviewer.running.candidates.openai_manifest import Secret
from reviewer.running.model import Call, CandidateFault, Observation
from reviewer.suite.errors import shown
from reviewer.suite.names import name_problem
from reviewer.trace.strictjson import NotJson, parse_text

_LONGEST_ID = 200


class CallIds:
    """Gives every call of an attempt an id of its own: the provider's where it is a usable one that
    was not used before, else a made one."""

    def __init__(self) -> None:
        self._used: set[str] = set()

    def own(self, given: Any) -> str:
        usable = isinstance(given, str) and 0 < len(given) <= _LONGEST_ID and given.isprintable()
        call_id = given if usable and given not in self._used else self._made()
        self._used.add(call_id)
        return call_id

    def _made(self) -> str:
        number = len(self._used) + 1
        while f"call_{number}" in self._used:
            number += 1
        return f"call_{number}"


def call_of(call_id: str, tool: Any, arguments: Any, key: Secret) -> Call:
    """A call out of an answer, free of the key. Raises CandidateFault when it names no tool at
    all; one that nobody offered is a call like any other."""
    if not isinstance(tool, str) or name_problem(tool) is not None:
        named = f"`{shown(tool)}`" if isinstance(tool, str) else "no text"
        raise CandidateFault(f"it called a tool whose name cannot be one: {named}")
    read, problem = read_arguments(arguments)
    # Again, although the answer was freed of it: within the JSON text it may be spelled with \u.
    return Call(call_id, tool, key.cleared(read), problem)


def read_arguments(written: Any) -> tuple[dict[str, Any], str]:
    """The arguments of a call and why they could not be read ("" when they could).

    Providers write them as JSON in a text; nothing at all means no arguments, and some servers
    send the object itself.
    """
    value = written
    if value is None or (isinstance(value, str) and not value.strip()):
        return {}, ""
    if isinstance(value, str):
        try:
            value = parse_text(value)
        except NotJson as error:
            return {}, f"the arguments are not JSON: {error}"
    if not isinstance(value, dict):
        return {}, "the arguments are not a JSON object"
    if not one_meaning(value):
        return {}, "the arguments hold a member twice or a number that JSON does not have"
    return value, ""


def text_of(content: Any) -> str:
    """A message's text, also when it comes in parts, of which one may be a refusal. Raises Again
    when it is none."""
    if content is None or isinstance(content, str):
        return content or ""
    if not isinstance(content, list) or not all(isinstance(part, dict) for part in content):
        raise Again("its answer's content is no text")
    texts = (part.get("text") or part.get("refusal") for part in content)
    return "".join(text for text in texts if isinstance(text, str))


def told(observation: Observation) -> str:
    """What the model reads of a call: a text as it is, any other value as JSON."""
    content = observation.content
    if isinstance(content, str):
        return content
    return json.dumps(content, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
