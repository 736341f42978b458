"""Wording that may be in a masked part of a message. Pure.

Where an identifier or a secret was removed from a message, `[REDACTED:<kind>]` is left. Whether the
message had a forbidden wording is then open, as far as the wording fits the place: its other parts
must be around the mask, and the masked part must look like a value of that kind.
"""

import re
from collections.abc import Iterator

from reviewer.suite.errors import Problem, json_path, shown
from reviewer.suite.model import Suite
from reviewer.suite.values import EPISODES
from reviewer.suite.wording import wording
from reviewer.trace.redaction import redactor_of

_MASK = re.compile(r"\[redacted(?::([^\[\]]{1,200}))?\]|\[secret\]")
_NUMBERS = frozenset(("phone", "card", "ssn"))
_NUMBER = re.compile(r"[0-9 ()+./-]*[0-9][0-9 ()+./-]*")
_SECRETS = frozenset(("secret", "token", "credential"))
_SIGN = re.compile(r"[^a-z]")
_IBAN = re.compile(r"[a-z0-9 ]*[0-9][a-z0-9 ]*")
_LONGEST = 1_000
_MOST = 50
"""Most characters of a wording, and masks of a message, that are compared; beyond, the result is
unknown."""
_DIGITS = 6
"""Digits of a number that may be the end of a telephone number."""
_WIDEST = 200
"""Most characters of a wording that one mask may hide."""


def may_be_masked(text: str, read: tuple[str, ...]) -> bool:
    """Return whether wording may be in a masked part of a message; `read` are the `readings` of the
    message."""
    wanted = wording(text)
    if not wanted:
        return False
    for reading in read:
        masks = list(_MASK.finditer(reading))
        if len(masks) > _MOST or (masks and len(wanted) > _LONGEST):
            return True
        if any(_fits(wanted, reading, mask) for mask in masks):
            return True
    return False


def masked_excludes(suite: Suite) -> Iterator[Problem]:
    """Yield the forbidden wordings that are masked in any message that has them, alone or as the
    end of a number: whether a message has them is never measured."""
    redactor = redactor_of(suite.redaction)
    for episode in suite.episodes:
        for i, text in enumerate(episode.expected.message_excludes):
            number = _NUMBER.fullmatch(text) and sum(map(str.isdigit, text)) >= _DIGITS
            written = (text, f"+1 415 {text}") if number else (text,)
            if any(text not in redactor.masked(one) for one in written):
                reason = (
                    f"`{shown(text)}` is masked in any message that contains it: whether it was "
                    "said is then not measured, and the redaction gate fails"
                )
                path = json_path(("expected", "message_excludes", i))
                yield Problem(f"{EPISODES}{episode.episode_id}.json", path, reason)


def _fits(wanted: str, reading: str, mask: re.Match[str]) -> bool:
    kind = "secret" if mask[0] == "[secret]" else mask[1] or ""
    for start in range(len(wanted)):
        if not reading.endswith(wanted[:start], 0, mask.start()):
            continue
        for end in range(min(len(wanted), start + _WIDEST), start, -1):
            rest = wanted[end:]
            if reading.startswith(rest, mask.end()) and _like(kind, wanted[start:end]):
                return True
    return False


def _like(kind: str, part: str) -> bool:
    """Return whether a part of a wording may be, or be in, a masked value of a kind."""
    if kind in _NUMBERS:
        return _NUMBER.fullmatch(part) is not None
    if kind == "iban":
        return _IBAN.fullmatch(part) is not None
    if " " in part:
        return _NUMBER.fullmatch(part) is not None
    return kind in _SECRETS or _SIGN.search(part) is not None
