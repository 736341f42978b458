"""What a provider's answer means before anyone reads what the model said: status, JSON, error."""

import math
from collections.abc import Callable
from typing import Any, NamedTuple, NoReturn

from reviewer.running.candidates.openai_manifest import Settings
from reviewer.running.model import CandidateFault, Infrastructure, Unrunnable
from reviewer.trace.strictjson import NotJson, Repeated, parse

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
