"""What a provider's answer means before anyone reads what the model said: status, JSON, error.

Calls as a model writes them, and observations as it is told them: the same in both APIs.
"""

import json
import math
from collections.abc import Callable
from typing import Any, NamedTuple, NoReturn

from reviewer.running.candidates.openai_manifest import Secret, Settings
from reviewer.running.model import Call, CandidateFault, Infrastructure, Observation, Unrunnable
from reviewer.suite.errors import name_problem, shown
from reviewer.trace.strictjson import NotJson, Repeated, parse, parse_text

_AGAIN = frozenset({408, 409, 425, 429})
_NO_RIGHT = (401, 403)
_CANDIDATES_OWN = {
    "content_filter": "content_filter",
    "content_policy_violation": "content_filter",
    "context_length_exceeded": "context_length",
}
"""Errors that are the candidate's, not the provider's: what it was asked, or what it piled up."""


class Again(Exception):
    """A try that failed in a way that another may not. `after_s` is what the provider asked for."""

    def __init__(self, text: str, after_s: float | None = None) -> None:
        super().__init__(text)
        self.text, self.after_s = text, after_s


class Refused(Infrastructure):
    """The provider will not take this request, however often. `said` is its own message."""

    def __init__(self, text: str, said: str = "") -> None:
        super().__init__(text)
        self.said = said


class Complaint(NamedTuple):
    """An error as a provider words it; safe to show."""

    message: str = ""
    code: str = ""
    status: int = 0

    def __str__(self) -> str:
        return f" ({self.message})" if self.message else ""


def object_of(data: bytes) -> dict[str, Any]:
    """The JSON object of a good answer. Raises Again: a broken body may come whole next time."""
    try:
        value = parse(data)
    except NotJson as error:
        raise Again(f"its answer is not JSON: {error}") from None
    if not isinstance(value, dict):
        raise Again("its answer is not a JSON object")
    if not one_meaning(value):
        raise Again("its answer holds a member twice or a number that JSON does not have")
    return value


def one_meaning(value: Any) -> bool:
    """Whether every reader of JSON would see the same: no member twice, no NaN, no infinity."""
    waiting = [value]
    while waiting:
        part = waiting.pop()
        if isinstance(part, dict):
            if isinstance(part, Repeated):
                return False
            waiting += part.values()
        elif isinstance(part, list):
            waiting += part
        elif isinstance(part, float) and not math.isfinite(part):
            return False
    return True


def complaint_of(data: bytes, safe: Callable[[str], str]) -> Complaint:
    """The error in the body of a refusal; empty when the body is none that we know."""
    try:
        value = parse(data)
    except NotJson:
        return Complaint()
    if isinstance(value, list) and len(value) == 1:
        value = value[0]
    if not isinstance(value, dict):
        return Complaint()
    return complaint(value.get("error", value), safe)


def complaint(error: Any, safe: Callable[[str], str]) -> Complaint:
    """The `error` member of an answer."""
    if isinstance(error, str):
        return Complaint(safe(error))
    if not isinstance(error, dict):
        return Complaint()
    texts = (error.get(name) for name in ("message", "detail"))
    message = next((text for text in texts if isinstance(text, str)), "")
    code = error.get("code")
    if type(code) is int:
        return Complaint(safe(message), "", code)
    return Complaint(safe(message), code if isinstance(code, str) else "")


def refuse(
    status: int, error: Complaint, settings: Settings, after_s: float | None = None
) -> NoReturn:
    """Raises what an answer of this status means: Again, Unrunnable, CandidateFault, or Refused."""
    host, env = settings.host, settings.key.env
    if error.code in _CANDIDATES_OWN:
        reason = _CANDIDATES_OWN[error.code]
        raise CandidateFault(f"{host} refused the request{error}", reason)
    if error.code == "insufficient_quota":
        raise Unrunnable(
            f"the account at {host} has no quota left{error}: add some, then run again"
        )
    if status in _AGAIN or status >= 500:
        raise Again(f"it answered {status}{error}", after_s)
    if status in _NO_RIGHT:
        way_out = (
            f"set the environment variable `{env}` to a key that may use `{settings.model}`"
            if env
            else f"name the variable that holds its key in {settings.places.api_key_env}"
        )
        raise Unrunnable(f"{host} lets nobody in ({status}){error}: {way_out}")
    if status == 404:
        raise Unrunnable(
            f"{host} has no model `{settings.model}` at {settings.url} (404){error}: correct "
            f"{settings.places.model} or {settings.places.base_url}"
        )
    raise Refused(f"{host} refused the request ({status}){error}", error.message)


def refuse_error_member(
    body: dict[str, Any], settings: Settings, safe: Callable[[str], str]
) -> None:
    """Some gateways answer 200 and put the failure inside. Raises as `refuse`, or Again."""
    if body.get("error") is None:
        return
    error = complaint(body["error"], safe)
    refuse(error.status if 400 <= error.status < 600 else 500, error, settings)


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
