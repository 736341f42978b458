"""Arguments for a trial agent's calls, made from what the suite itself says.

Of several sources the first that names a value is used: what the contract expects, what the call
has to prove, the effect that leads to the required end, the case that the simulator answers, a
value seen under the same name, and finally the simplest value that the schema accepts.
"""

import json
from collections.abc import Iterator, Mapping
from itertools import pairwise
from typing import Any

from reviewer.running.model import ToolSpec
from reviewer.suite.bounded_schema import fits
from reviewer.suite.json_values import Path, path_of
from reviewer.suite.model import Episode
from reviewer.suite.pattern_text import text_for

_CASES = 2
"""Number of cases of one tool that an agent which does more than it is asked looks up."""
_DEEPEST = 8
"""Depth to which placeholders and seen values are searched inside one another."""


class Arguments:
    """Makes the arguments of one attempt's calls, and remembers those it made and saw."""

    def __init__(self, episode: Episode, tools: Mapping[str, ToolSpec]) -> None:
        self._episode = episode
        self._tools = tools
        own: dict[str, dict[str, Any]] = (episode.simulator or {}).get("tools") or {}
        self._simulated = {**own, **episode.user_tools}
        self._met: dict[str, list[Any]] = {}
        self._made: dict[str, dict[str, Any]] = {}
        self._objects = {write.tool: write.on or {} for write in episode.writes}
        self._text = f"{episode.user_request} {_dumped(episode.initial_state)}".casefold()
        self.learn(episode.initial_state)

    def learn(self, value: Any) -> None:
        """Remember every plain value by the name that it has there."""
        for name, part in _named(value, 0):
            held = self._met.setdefault(name, [])
            if part not in held:
                held.append(part)

    def of(
        self,
        tool: str,
        whole: Mapping[str, Any] | None = None,
        proves: str | None = None,
        effect: Mapping[str, Any] | None = None,
    ) -> dict[str, Any]:
        """Return arguments for a call of `tool`: exactly `whole` where the contract gives them;
        those that read what the write `proves` changed; those of a required `effect`."""
        made = dict(whole) if whole is not None else self._assembled(tool, proves, effect or {})
        self._made[tool] = made
        self.learn(made)
        return made

    def _assembled(
        self, tool: str, proves: str | None, effect: Mapping[str, Any]
    ) -> dict[str, Any]:
        properties, required = self._parameters(tool)
        expected = self._expected(tool)
        proof = self._proof(tool, proves, properties) if proves is not None else {}
        known = {**effect, **proof, **_plain(expected)}
        case = self._case(tool, known)
        made: dict[str, Any] = {}
        for name in dict.fromkeys((*case, *known, *required, *self._objects.get(tool, {}))):
            if name in known:
                made[name] = known[name]
            elif name in case:
                made[name] = case[name]
            else:
                made[name] = self._value(name, properties.get(name, {}))
        for path, value in expected:
            _put(made, path, value)
        return made

    def _parameters(self, tool: str) -> tuple[dict[str, Any], list[str]]:
        spec = self._tools.get(tool)
        schema = {} if spec is None else spec.parameters
        properties = schema.get("properties")
        return (properties if isinstance(properties, dict) else {}), schema.get("required") or []

    def free_text(self, tool: str) -> str | None:
        """Return an argument of the tool that accepts any text and that nothing here relies on."""
        properties, _ = self._parameters(tool)
        bound = {path[0] for path, _ in self._expected(tool)}
        told = self._simulated.get(tool, {})
        cases = [*((told.get("responses") or {}).get("match") or ()), *told.get("effects", ())]
        bound |= {name for case in cases for name in case.get("arguments") or {}}
        bound |= {*self._objects.get(tool, {})}
        for write in self._objects.values():
            bound |= {*write.values()}
        for name, schema in properties.items():
            if name not in bound and isinstance(schema, dict) and _takes_any_text(schema):
                return name
        return None

    def takes_more(self, tool: str) -> bool:
        """Return whether the tool's schema accepts arguments that it does not name."""
        spec = self._tools.get(tool)
        return spec is None or spec.parameters.get("additionalProperties", True) is not False

    def _expected(self, tool: str) -> list[tuple[Path, Any]]:
        wanted = self._episode.expected.arguments.get(tool, {})
        return [(path_of(path), value) for path, value in wanted.items()]

    def _proof(self, tool: str, write: str, properties: Mapping[str, Any]) -> dict[str, Any]:
        """Return arguments that name the object of a write that was made."""
        made, pairs = self._made.get(write, {}), self._objects.get(write)
        if pairs:
            return {its: made[mine] for mine, its in pairs.items() if mine in made}
        return {name: part for name, part in made.items() if name in properties}

    def _case(self, tool: str, known: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return the arguments of the simulator's case that the request is most likely about."""
        told = self._simulated.get(tool, {})
        cases = (told.get("responses") or {}).get("match") or ()
        best: Mapping[str, Any] = {}
        most = 0 if not self._parameters(tool)[1] else -1
        for case in cases:
            given = case["arguments"]
            if any(name in known and known[name] != part for name, part in given.items()):
                continue
            said = sum(self._said(part) for part in given.values())
            if said > most:
                best, most = given, said
        return best

    def cases(self, tool: str) -> list[dict[str, Any] | None]:
        """Return the arguments of the first simulator cases that the request mentions, where the
        contract expects none."""
        told = self._simulated.get(tool, {})
        cases = (told.get("responses") or {}).get("match") or ()
        if self._expected(tool):
            return []
        asked = [
            dict(case["arguments"])
            for case in cases
            if all(self._said(part) for part in case["arguments"].values())
        ]
        return [*asked[:_CASES]]

    def _said(self, value: Any) -> bool:
        text = str(value).casefold()
        return len(text) > 0 and text in self._text

    def _value(self, name: str, schema: Any) -> Any:
        schema = schema if isinstance(schema, dict) else {}
        for value in self._met.get(name, ()):
            if _fits(value, schema):
                return value
        return placeholder(schema)


def placeholder(schema: Mapping[str, Any], depth: int = 0) -> Any:
    """Return the simplest value that a JSON Schema accepts, as far as that can be determined."""
    if "const" in schema:
        return schema["const"]
    for name in ("enum", "examples"):
        if isinstance(schema.get(name), list) and schema[name]:
            return schema[name][0]
    if "default" in schema:
        return schema["default"]
    for name in ("anyOf", "oneOf", "allOf"):
        if isinstance(schema.get(name), list) and schema[name] and depth < _DEEPEST:
            return placeholder(schema[name][0], depth + 1)
    kind = schema.get("type", "string")
    kind = kind[0] if isinstance(kind, list) and kind else kind
    if kind in ("integer", "number"):
        return _number(schema)
    if kind == "boolean":
        return True
    if kind == "null":
        return None
    if kind == "array":
        items = schema.get("items")
        item = placeholder(items, depth + 1) if isinstance(items, dict) else "text"
        return [item] * min(_count(schema.get("minItems")), 100) if depth < _DEEPEST else []
    if kind == "object":
        properties = schema.get("properties") or {}
        names = (schema.get("required") or []) if depth < _DEEPEST else []
        return {name: placeholder(properties.get(name) or {}, depth + 1) for name in names}
    plain = _TEXTS.get(str(schema.get("format")), "text").ljust(
        min(_count(schema.get("minLength")), 1000), "x"
    )
    if isinstance(schema.get("pattern"), str) and not _fits(plain, schema):
        made = text_for(schema["pattern"])
        return made if made is not None and _fits(made, schema) else plain
    return plain


_TEXTS = {"date": "2026-01-31", "date-time": "2026-01-31T09:00:00Z", "time": "09:00:00Z"}


def _number(schema: Mapping[str, Any]) -> float | int:
    low = schema.get("minimum")
    if low is None and isinstance(schema.get("exclusiveMinimum"), int | float):
        low = schema["exclusiveMinimum"] + 1
    number = low if isinstance(low, int | float) else 1
    high = schema.get("maximum")
    return min(number, high) if isinstance(high, int | float) else number


def _count(value: Any) -> int:
    return int(value) if isinstance(value, int | float) and value >= 0 else 0


def _takes_any_text(schema: Mapping[str, Any]) -> bool:
    narrow = ("enum", "const", "pattern", "format", "maxLength")
    return schema.get("type") == "string" and not any(name in schema for name in narrow)


def _fits(value: Any, schema: Mapping[str, Any]) -> bool:
    try:
        return fits(schema, value)
    except Exception:  # a reference outside this part of the schema, or an invalid schema
        return False


def _plain(expected: list[tuple[Path, Any]]) -> dict[str, Any]:
    return {path[0]: value for path, value in expected if len(path) == 1 and type(path[0]) is str}


def _put(made: dict[str, Any], path: Path, value: Any) -> None:
    """Set the value at `path`, creating the objects and lists on the way."""
    place: Any = made
    for step, after in pairwise(path):
        fresh: Any = [] if isinstance(after, int) else {}
        if isinstance(step, int):
            place.extend([None] * (step + 1 - len(place)))
            if not isinstance(place[step], type(fresh)):
                place[step] = fresh
        elif not isinstance(place.get(step), type(fresh)):
            place[step] = fresh
        place = place[step]
    last = path[-1]
    if isinstance(last, int):
        place.extend([None] * (last + 1 - len(place)))
    place[last] = value


def _named(value: Any, depth: int) -> Iterator[tuple[str, Any]]:
    if depth > _DEEPEST:
        return
    if isinstance(value, Mapping):
        for name, part in value.items():
            if isinstance(part, str | int | float):
                yield str(name), part
            else:
                yield from _named(part, depth + 1)
    elif isinstance(value, list | tuple):
        for part in value:
            yield from _named(part, depth + 1)


def _dumped(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, default=str)
