"""Values are checked against schemas in bounded steps, with the verdicts and words of
`jsonschema`."""

from typing import Any

import pytest
from jsonschema import Draft202012Validator

from reviewer.suite.bounded_schema import TooLarge, faults, fits, validator_of
from reviewer.suite.linear_patterns import Steps

_NAMES = {
    "patternProperties": {"^n_": {"type": "integer"}, "_s$": {"type": "string"}},
    "properties": {"a": {}},
}
_CASES: list[tuple[dict[str, Any], Any]] = [
    ({"pattern": r"^[A-Z]{2}-\d+$"}, "AB-12"),
    ({"pattern": r"^[A-Z]{2}-\d+$"}, "ab-12"),
    ({"pattern": "a"}, 7),
    ({"properties": {"a": {"pattern": "^x"}}}, {"a": "y", "b": 1}),
    ({"propertyNames": {"pattern": "^x"}}, {"xa": 1, "y": 2}),
    (_NAMES, {"n_a": "1", "b_s": 2, "a": None}),
    ({**_NAMES, "additionalProperties": False}, {"z": 1, "y": 2, "a": 3, "n_1": 4}),
    ({**_NAMES, "additionalProperties": {"type": "null"}}, {"z": 1, "y": None}),
    ({**_NAMES, "additionalProperties": True}, {"z": 1}),
    ({**_NAMES, "unevaluatedProperties": False}, {"z": 1, "a": 2}),
    ({"properties": {"a": {}}, "additionalProperties": False}, {"a": 1, "b": 2}),
    ({"uniqueItems": True}, [1, 2, 1.0]),
    ({"uniqueItems": True}, [1, True, 0, False, "1", None, [1], [True], {"a": 1}, {"a": True}]),
    ({"uniqueItems": True}, [{"a": 1, "b": [2]}, {"b": [2.0], "a": 1}]),
    ({"uniqueItems": False}, [1, 1]),
    ({"uniqueItems": True}, "aa"),
    ({"anyOf": [{"type": "integer"}, {"pattern": "^x"}]}, "y"),
    ({"$ref": "#/$defs/a", "$defs": {"a": {"minimum": 3}}}, 2),
    ({"type": "object", "required": ["a"], "minProperties": 2}, {}),
]


@pytest.mark.parametrize(("schema", "value"), _CASES)
def test_verdicts_and_words_are_those_of_jsonschema(schema: dict[str, Any], value: Any) -> None:
    def told(found: Any) -> list[tuple[str, str]]:
        return [(fault.json_path, fault.message) for fault in found]

    plain = told(Draft202012Validator(schema).iter_errors(value))
    assert told(faults(validator_of(schema), value, 9)) == plain
    assert fits(schema, value) == (not plain)


@pytest.mark.parametrize(
    ("schema", "value"),
    [
        ({"pattern": "^(a+)+$"}, "a" * 100 + "!"),
        (
            {"patternProperties": {"^(a+)+$": {}}, "additionalProperties": False},
            {"a" * 99 + "!": 1},
        ),
    ],
)
def test_a_pattern_that_doubles_is_no_obstacle(schema: dict[str, Any], value: Any) -> None:
    assert len(faults(validator_of(schema), value, 9)) == 1


def test_a_list_without_an_order_is_looked_through_once() -> None:
    assert not faults(validator_of({"uniqueItems": True}), [{"n": n} for n in range(20_000)])


def nested(levels: int) -> Any:
    value: Any = {}
    for _ in range(levels):
        value = {"a": value}
    return value


_AGAIN = {"properties": {"a": {"$ref": "#"}}}
_BOTH = {"anyOf": [{**_AGAIN, "required": ["b"]}, {**_AGAIN, "required": ["c"]}]}


@pytest.mark.parametrize(
    ("schema", "value"),
    [
        (_BOTH, nested(50)),
        ({"pattern": r"^(a*)\1$"}, "a" * 100),
        ({**_NAMES, "unevaluatedProperties": False}, {"a" * 100: 1}),
        ({"multipleOf": 0.01}, 10**400),
    ],
)
def test_what_cannot_be_checked_in_bounded_steps_is_said(schema: Any, value: Any) -> None:
    with pytest.raises(TooLarge):
        faults(validator_of(schema), value, 3, Steps(100_000))
