"""One masking table for a whole episode: the same identifier has the same stand-in in request,
state, answers and arguments, so that references still match. Pure."""

import json
import re
from collections import Counter
from collections.abc import Mapping
from functools import cached_property
from typing import Any

from reviewer.suite.model import RedactionRules
from reviewer.trace.credentials import is_credential
from reviewer.trace.detectors import spans
from reviewer.trace.disguises import fold_key
from reviewer.trace.redaction import redactor_of
from reviewer.trace.rules import carries_value, is_placeholder, sensitive_names

_ROLES = (
    *("guest", "passenger", "traveler", "traveller", "patient", "client", "contact", "recipient"),
    *("sender", "member", "employee", "buyer", "payer", "payee", "beneficiary", "tenant"),
    *("student", "driver", "subscriber", "applicant", "holder"),
)
PEOPLE = {
    **dict.fromkeys((f"{role}name" for role in _ROLES), "name"),
    **dict.fromkeys(("firstname", "givenname", "lastname", "familyname", "surname"), "name"),
    **dict.fromkeys(("middlename", "fullname", "customername", "username", "userid"), "user"),
    **dict.fromkeys(("customerid", "login", "accountholder"), "user"),
    "orderid": "order",
}
"""Members whose values name a person or an order, folded → the word of their stand-ins. No
redaction rule covers these; they are masked because an episode is made to be shared."""
_SHORTEST = 3
_LONG = 6
_DEEPEST = 100
_TOKEN = re.compile(r"\w+|[^\w\s]")
_WORD = re.compile(r"\w")
_FEW_DIGITS = re.compile(r"\d{1,4}\Z")


def _canonical(value: Any) -> str:
    return json.dumps(value, sort_keys=True, ensure_ascii=False, default=str)


class Masks:
    """The table. Call `learn` for everything first, then mask: a value that is an identifier in one
    place is replaced everywhere. `words` are texts that a person named → the word of their
    stand-ins ("" for none)."""

    def __init__(self, rules: RedactionRules, words: Mapping[str, str]) -> None:
        self._redactor = redactor_of(rules)
        self._names = sensitive_names(self._redactor.rules)
        self._allowed = {fold_key(name) for name in rules.allow_keys}
        self._detectors = self._redactor.rules.masking
        self._stand_ins: dict[str, str] = {}
        self._counts: Counter[str] = Counter()
        self.left = False
        """Whether something was masked without the table, so that different identifiers look
        alike."""
        for text, word in words.items():
            self._add(text, word or "value", plain=True)

    def learn(self, value: Any, name: str = "", depth: int = 0) -> None:
        """Enter every identifier of a value into the table."""
        if depth > _DEEPEST:
            return
        if isinstance(value, dict):
            for member, held in value.items():
                self.learn(str(member), "", depth + 1)
                kind = self._kind(str(member), held)
                if kind is None:
                    self.learn(held, str(member), depth + 1)
                else:
                    self._learn_all(held, *kind, depth + 1)
        elif isinstance(value, list | tuple):
            for held in value:
                self.learn(held, name, depth + 1)
        elif isinstance(value, str):
            for span in spans(value, self._detectors):
                self._add(value[span.start : span.end], span.kind)
        elif self._redactor.maskable(value):
            self._add(str(value), "card")

    def masked(self, value: Any) -> Any:
        """Return the value with its identifiers replaced."""
        made = self._replaced(value, 0)
        safe = self._redactor.mask(made)
        self.left |= safe != made
        return safe

    @property
    def stand_ins(self) -> list[str]:
        """Return the stand-ins of the table, as the episode may name them: never what they
        replace."""
        return sorted(self._stand_ins.values())

    def _kind(self, name: str, value: Any) -> tuple[str, bool] | None:
        """Return the kind of a member whose value must not be kept, and whether the stand-in is a
        plain word; None for any other member."""
        folded = fold_key(name)
        if folded in self._names and carries_value(value):
            return self._names[folded], False
        if isinstance(value, str) and is_credential(name, value):
            return "credential", False
        if folded in PEOPLE and folded not in self._allowed and isinstance(value, str) and value:
            return PEOPLE[folded], True
        return None

    def _learn_all(self, value: Any, kind: str, plain: bool, depth: int) -> None:
        """Enter a whole value, and its parts that are long enough to identify it elsewhere."""
        if not isinstance(value, dict | list):
            if value is not None and not isinstance(value, bool):
                self._add(str(value), kind, plain=plain)
            return
        self._add(_canonical(value), kind)
        waiting: list[tuple[Any, int]] = [(value, depth)]
        while waiting:
            one, at = waiting.pop()
            if isinstance(one, dict | list):
                inner = one.values() if isinstance(one, dict) else one
                waiting += [(held, at + 1) for held in inner if at < _DEEPEST]
            elif isinstance(one, str) and len(one.strip()) >= _LONG:
                self._add(one, kind)

    def _add(self, text: str, kind: str, *, plain: bool = False) -> None:
        text = text.strip()
        if not text or text in self._stand_ins or is_placeholder(text):
            return
        self._counts[kind] += 1
        number = self._counts[kind]
        made = f"{kind}_redacted_{number}" if plain else f"[REDACTED:{kind}-{number}]"
        self._stand_ins[text] = made
        vars(self).pop("_index", None)

    @cached_property
    def _index(self) -> dict[str, list[str]]:
        """Return first token → the texts of the table that begin with it and are searched within
        others, the longest first. Very short texts, and small numbers, occur everywhere: they are
        replaced only where they stand alone."""
        found: dict[str, list[str]] = {}
        for text in sorted(self._stand_ins, key=lambda one: (-len(one), one)):
            first = _TOKEN.match(text)
            if first and len(text) >= _SHORTEST and not _FEW_DIGITS.match(text):
                found.setdefault(first[0], []).append(text)
        return found

    def _replaced(self, value: Any, depth: int, whole: bool = False) -> Any:
        """Return a value with its identifiers replaced. `whole` says that the member's name makes
        its value an identifier."""
        if depth > _DEEPEST:
            return "[REDACTED:too_deep]"
        if whole and isinstance(value, dict | list):
            return self._stand_ins.get(_canonical(value), "[REDACTED]")
        if isinstance(value, dict):
            made: dict[str, Any] = {}
            for name, held in value.items():
                known = self._kind(str(name), held) is not None
                made[self._in_text(str(name))] = self._replaced(held, depth + 1, known)
            return made
        if isinstance(value, list | tuple):
            return [self._replaced(held, depth + 1) for held in value]
        if value is None or isinstance(value, bool):
            return value
        alone = self._stand_ins.get(str(value).strip())
        if alone is not None and (whole or isinstance(value, str)):
            return alone
        if isinstance(value, str):
            return self._in_text(value)
        return alone if alone is not None and self._redactor.maskable(value) else value

    def _in_text(self, text: str) -> str:
        """Return a text with each text of the table replaced where it consists of whole words."""
        parts: list[str] = []
        done = 0
        for token in _TOKEN.finditer(text):
            if token.start() < done:
                continue
            for known in self._index.get(token[0], ()):
                end = token.start() + len(known)
                if text.startswith(known, token.start()) and not _joined(text, end):
                    parts += (text[done : token.start()], self._stand_ins[known])
                    done = end
                    break
        return "".join((*parts, text[done:])) if parts else text


def _joined(text: str, at: int) -> bool:
    """Return whether a word continues at a place in a text."""
    return 0 < at < len(text) and bool(_WORD.match(text[at])) and bool(_WORD.match(text[at - 1]))
