"""The facts of a run of promptfoo that no single result states: which tests were repeated, which of
the prompts and providers a result belongs to, which providers call tools themselves, and how many
results the run counted.

promptfoo numbers a test again each time that `--repeat` repeats it, gives providers without a label
the name of their model, and leaves out results that it could not store.
"""

import re
from collections import Counter
from collections.abc import Iterator
from typing import Any

from reviewer.importing.formats.base import at_path, mapping, objects, text
from reviewer.importing.source import request_digest

_LONGEST, _SHOWN = 60, 8
_PASSES_ON = re.compile(r"\{\{[^{}]*\}\}")
_COUNTS = ("testPassCount", "testFailCount", "testErrorCount")
_CALLS = frozenset(
    ("functionToolCallbacks", "functionCallHandler", "functionCallbackHandler", "mcp")
)
"""Settings of a provider with which promptfoo itself calls the tools that a model asks for. The
result has what they returned, and not the calls."""
_SEARCHES = frozenset(("web_search_options", "search_parameters", "web_search_enabled"))
_GIVEN_TO = frozenset(("function", "custom"))
_DECLARED = frozenset(
    ("function", "input_schema", "functionDeclarations", "function_declarations", "toolSpec")
)
"""Members of a tool that a model can only ask for: its vendor does not run it."""


class Run:
    """The facts of a run, taken from all its results before any of them is read."""

    def __init__(self, name: str = "") -> None:
        self.name = name
        """Its own name, of a file that holds several runs."""
        self.stamp: Any = None
        self.whole = True
        """False if not every result could be read: how many there are is then not known."""
        self._tests: dict[str, int] = {}
        self._described: dict[str, set[str]] = {}
        self._prompts: dict[int, tuple[str, str]] = {}
        self._stated: dict[int, int] = {}
        self._written: Counter[int] = Counter()
        self._callers: set[str] = set()
        self._names: dict[int, str] | None = None

    def prompt(self, number: int, value: Any) -> None:
        """Take one of the run's prompts, each of one provider."""
        held = mapping(value)
        self._prompts[number] = (text(held.get("provider")), text(held.get("label")))
        counts = [at_path(held, "metrics", name) for name in _COUNTS]
        if all(type(one) is int for one in counts):
            self._stated[number] = sum(counts)

    def result(self, value: Any) -> None:
        """Take one result."""
        held = mapping(value)
        self.whole = self.whole and bool(held)
        number, test = held.get("promptIdx"), held.get("testIdx")
        if type(number) is int:
            if not at_path(held, "testCase", "provider"):
                self._prompts[number] = (provider_of(held), text(at_path(held, "prompt", "label")))
            self._written[number] += 1
        if type(test) is int:
            own = _test(held)
            self._tests[own] = min(test, self._tests.get(own, test))
        if named := description_of(held):
            self._described.setdefault(named, set()).add(_given(held))
        self.settings([held.get("provider"), at_path(held, "testCase", "provider")])

    def settings(self, providers: Any) -> None:
        """Take the settings of providers, in each of the forms of a configuration."""
        for one in objects(providers if isinstance(providers, list) else [providers]):
            if "id" not in one and len(one) == 1:  # the provider's name, before its settings
                (name, held), *_ = one.items()
                one = {"id": name, **mapping(held)}
            if _calls_itself(mapping(one.get("config"))):
                self._callers.update(filter(None, (text(one.get("label")) or text(one.get("id")),)))

    def place(self, value: dict[str, Any]) -> int | None:
        """Return the number of a result's test, that of its first repetition; None where the result
        states none."""
        test = value.get("testIdx")
        return self._tests.get(_test(value), test) if type(test) is int else None

    def variant(self, value: dict[str, Any], named: str) -> str:
        """Return what distinguishes a result's test from others of its description, in every file
        alike; empty where there is no other."""
        own = _given(value)
        return own[:_SHOWN] if self._described.get(named, {own}) != {own} else ""

    def candidate(self, value: dict[str, Any]) -> str:
        """Return the candidate of a result: its provider and its prompt; numbered where that is the
        name of another one too."""
        number = value.get("promptIdx")
        if self._names is None:
            self._names = dict(_named(self._prompts))
        found = self._names.get(number) if type(number) is int else None
        if found is not None and answered_by(value) is None:
            return found
        label = text(at_path(value, "prompt", "label"))
        return f"{provider_of(value)} {_shown(label)}".strip()

    def calls_itself(self, value: dict[str, Any]) -> bool:
        """Return whether the provider of a result may have made calls that the result lacks."""
        # the answer of the Responses API, kept as it was, has every call
        whole = isinstance(at_path(value, "response", "raw", "output"), list)
        return not whole and provider_of(value) in self._callers

    def lacking(self) -> Iterator[tuple[str, int, int]]:
        """Yield each candidate of which results are missing, how many, and how many there were."""
        for number, stated in sorted(self._stated.items()):
            if self.whole and self._written[number] < stated:
                value = {"promptIdx": number}
                yield self.candidate(value), stated - self._written[number], stated


_OURS = "promptfoo:"
"""Providers of promptfoo itself, which talk with the one that a result names."""


def answered_by(value: dict[str, Any]) -> Any:
    """Return the provider that a test names for itself, which answered in place of the result's;
    None where there is none."""
    own = at_path(value, "testCase", "provider")
    return own if own and not id_of(own).startswith(_OURS) else None


def id_of(provider: Any) -> str:
    """Return the id of a provider."""
    return text(at_path(provider, "id")) or text(provider)


def provider_of(value: dict[str, Any]) -> str:
    """Return the name of the provider that answered: its label, else its id."""
    provider = answered_by(value) or value.get("provider")
    return text(at_path(provider, "label")) or id_of(provider)


def description_of(value: dict[str, Any]) -> str:
    """Return the description of a result's test, empty where it has none."""
    return text(at_path(value, "testCase", "description")) or text(value.get("description"))


def _given(value: dict[str, Any]) -> str:
    """Return the digest of the variables of a result's test, without those that promptfoo adds
    while it runs."""
    held = mapping(value.get("vars"))
    own = {k: one for k, one in held.items() if not k.startswith("_") and k != "sessionId"}
    return request_digest(own)


def _test(value: dict[str, Any]) -> str:
    case = mapping(value.get("testCase"))
    return request_digest([_given(value), {k: one for k, one in case.items() if k != "vars"}])


def _named(prompts: dict[int, tuple[str, str]]) -> Iterator[tuple[int, str]]:
    taken: Counter[str] = Counter()
    for number, (who, label) in sorted(prompts.items()):
        name = f"{who} {_shown(label)}".strip()
        taken[name] += 1
        yield number, name if taken[name] == 1 else f"{name} #{taken[name]}"


def _shown(label: str) -> str:
    """Return a prompt's label as a part of a name: nothing for a prompt that only passes the
    request on, and a digest in place of the end of a long one. It depends on nothing else in the
    file, which may still grow."""
    words = " ".join(label.split())
    if _PASSES_ON.fullmatch(words):
        return ""
    short = len(words) <= _LONGEST
    return words if short else f"{words[:_LONGEST]} {request_digest(words)[:_SHOWN]}"


def _calls_itself(config: dict[str, Any]) -> bool:
    if any(config.get(name) for name in (*_CALLS, *_SEARCHES)):
        return True
    tools = config.get("tools")
    return any(
        one.get("type") not in _GIVEN_TO and not _DECLARED & one.keys() for one in objects(tools)
    )
