import json
from typing import Any

import pytest
from contract_examples import candidate, episode, files, packed, suite
from hypothesis import given
from hypothesis import strategies as st

from reviewer.suite.border import json_schema
from reviewer.suite.candidate import manifest_bytes, read_candidate, trusted_candidate
from reviewer.suite.check import check_suite, known_check
from reviewer.suite.errors import ContractError
from reviewer.suite.gates import GATE_CODES, GATES
from reviewer.suite.model import Episode, ExpectedCall, Write
from reviewer.suite.strict_json import sha256_hex
from reviewer.suite.values import load_trusted, merge_defaults

TOOL: dict[str, Any] = {"responses": {"fixed": "ok"}}


def problems(content: dict[str, bytes]) -> list[str]:
    return [str(problem) for problem in check_suite(content).problems]


def only(content: dict[str, bytes]) -> str:
    found = problems(content)
    assert len(found) == 1, found
    return found[0]


def one(**changes: Any) -> dict[str, bytes]:
    return files(episode(**changes))


def test_a_small_suite_is_read() -> None:
    checked = check_suite(files(), "d1")
    assert checked.problems == ()
    assert checked.suite is not None
    assert checked.suite.digest == "d1"
    assert checked.suite.episodes[0].writes == (Write(tool="write", verified_by=("verify",)),)


@pytest.mark.parametrize(
    ("where", "key", "near"),
    [
        ((), "forbiddenTools", "tools.forbidden"),
        ((), "forbidden_tools", "tools.forbidden"),
        ((), "Forbidden-Tools", "tools.forbidden"),
        (("tools",), "forbiden", "forbidden"),
        (("tools",), "requried", "required"),
        ((), "maxSteps", "budget.max_steps"),
        (("budget",), "maxSteps", "max_steps"),
        (("budget",), "max_cost", "max_cost_usd"),
        ((), "allowedTools", "tools.allowed"),
        ((), "finalState", "expected.final_state"),
        ((), "userRequest", "user_request"),
        (("writes", 0), "verifiedBy", "verified_by"),
    ],
)
def test_an_unknown_key_is_answered_with_the_near_one(
    where: tuple[str | int, ...], key: str, near: str
) -> None:
    item = episode()
    part: Any = item
    for step in where:
        part = part[step]
    part[key] = ["x"]
    found = only(files(item))
    path = "$" + "".join(f"[{s}]" if isinstance(s, int) else f".{s}" for s in where)
    shown = f".{key}" if key.isidentifier() else f'["{key}"]'
    assert found == (
        f"episodes/e-1.json: {path}{shown}: unknown key `{key}` (did you mean `{near}`?)"
    )


def test_a_key_like_no_other_gets_no_suggestion() -> None:
    assert only(one(zzzz=1)).endswith("unknown key `zzzz`")


def test_near_keys_of_the_policy_and_of_a_simulated_tool() -> None:
    head = suite(policy={"passHat": {"k": 3}})
    assert "(did you mean `pass_hat`?)" in only(files(head=head))
    simulator = {"tools": {"look": {**TOOL, "efects": []}}}
    assert "(did you mean `effects`?)" in only(one(simulator=simulator))


def test_the_articles_typo_row_is_refused_twice() -> None:
    """A negative case whose `forbiddenTools` is misspelt: the typo, and what it left undone."""
    item = episode(category="negative", tools={"allowed": ["look"]}, writes=[])
    item["forbiddenTools"] = ["delete_file"]
    found = problems(files(item))
    assert found == [
        "episodes/e-1.json: $.forbiddenTools: unknown key `forbiddenTools` "
        "(did you mean `tools.forbidden`?)",
        "episodes/e-1.json: $.tools.forbidden: a negative episode must forbid at least one tool",
    ]


REFUSED: list[tuple[dict[str, Any], str, str]] = [
    ({"tools": {}, "expected": {}, "budget": {}, "writes": []}, "$", "empty contract"),
    ({"tools": {"order": "any"}, "expected": {}, "budget": {}, "writes": []}, "$", "empty"),
    (
        {"tools": {"required": ["a"], "forbidden": ["a"]}, "writes": []},
        "$.tools.required[0]",
        "is forbidden",
    ),
    (
        {"tools": {"required": ["a"], "allowed": ["b"]}, "writes": []},
        "$.tools.required[0]",
        "is not allowed",
    ),
    (
        {"tools": {"required": ["a"], "allowed": []}, "writes": []},
        "$.tools.required[0]",
        "is not allowed",
    ),
    (
        {"tools": {"allowed": ["a"], "forbidden": ["a"]}, "writes": []},
        "$.tools.allowed[0]",
        "also forbidden",
    ),
    (
        {"tools": {"approvals": ["a"], "forbidden": ["a"]}, "writes": []},
        "$.tools.approvals[0]",
        "is forbidden",
    ),
    (
        {"tools": {"approvals": ["a"], "allowed": ["b"]}, "writes": []},
        "$.tools.approvals[0]",
        "is not allowed",
    ),
    ({"writes": [{"tool": "pay", "verified_by": "verify"}]}, "$.writes[0].tool", "is forbidden"),
    (
        {"writes": [{"tool": "other", "verified_by": "verify"}]},
        "$.writes[0].tool",
        "is not allowed",
    ),
    (
        {"writes": [{"tool": "write", "verified_by": "other"}]},
        "$.writes[0].verified_by",
        "is not allowed",
    ),
    (
        {"writes": [{"tool": "write", "verified_by": ["write"]}]},
        "$.writes[0].verified_by",
        "cannot verify itself",
    ),
    ({"writes": [{"tool": "write", "verified_by": []}]}, "$.writes[0].verified_by", "at least 1"),
    ({"writes": [{"tool": "write", "verified_by": "verify"}] * 2}, "$.writes", "`write` twice"),
    ({"tools": {"required": ["a", "a"]}, "writes": []}, "$.tools.required", "`a` twice"),
    ({"tags": ["x", "x"]}, "$.tags", "`x` twice"),
    ({"critical": ["state", "state"]}, "$.critical", "`state` twice"),
    ({"critical": ["safety"]}, "$.critical[0]", "neither a gate nor a code"),
    ({"critical": ["wrong_final_state:x"]}, "$.critical[0]", "neither a gate nor a code"),
    (
        {"category": "negative", "tools": {"allowed": ["look", "write", "verify"]}},
        "$.tools.forbidden",
        "negative",
    ),
    ({"budget": {"max_cost_usd": -0.01}}, "$.budget.max_cost_usd", "greater than or equal to 0"),
    ({"budget": {"max_steps": -1}}, "$.budget.max_steps", "greater than or equal to 0"),
    ({"budget": {"max_steps": 6.0}}, "$.budget.max_steps", "valid integer"),
    ({"budget": {"max_steps": "6"}}, "$.budget.max_steps", "valid integer"),
    ({"budget": {"max_steps": True}}, "$.budget.max_steps", "valid integer"),
    ({"budget": {"max_cost_usd": "0.08"}}, "$.budget.max_cost_usd", "valid number"),
    (
        {"expected": {"trajectory": [{"tool": "pay"}]}},
        "$.expected.trajectory[0].tool",
        "is forbidden",
    ),
    ({"expected": {"arguments": {"pay": {"x": 1}}}}, "$.expected.arguments.pay", "is forbidden"),
    ({"expected": {"trajectory_match": "strict"}}, "$.expected.trajectory_match", "no trajectory"),
    (
        {"expected": {"message_contains": [""]}},
        "$.expected.message_contains[0]",
        "at least 1 character",
    ),
    (
        {"expected": {"message_contains": ["a"], "message_excludes": ["a"]}},
        "$.expected.message_excludes[0]",
        "$.expected.message_contains[0] requires `a`",
    ),
    (
        {
            "expected": {
                "message_contains": ["sorry", "we cannot  REFUND it"],
                "message_excludes": ["gladly", "Cannot\nrefund"],
            }
        },
        "$.expected.message_excludes[1]",
        "$.expected.message_contains[1] requires `we cannot  REFUND it`",
    ),
    ({"expected": {"message_contains": [" "]}}, "$.expected.message_contains[0]", "is blank"),
    (
        {"expected": {"message_contains": ["a", "\u200b\u2060\t\ufeff"]}},
        "$.expected.message_contains[1]",
        "is blank",
    ),
    (
        {"expected": {"message_excludes": ["\u00a0\n"]}},
        "$.expected.message_excludes[0]",
        "is blank",
    ),
    ({"expected": {"arguments": {"look": {}}}}, "$.expected.arguments.look", "no argument"),
    (
        {"tools": {"required": ["a", "b", "c"]}, "writes": [], "budget": {"max_steps": 2}},
        "$.budget.max_steps",
        "is 2, but at least 3 calls must be made: 3 by $.tools.required",
    ),
    (
        {
            "tools": {"required": ["a", "b"]},
            "writes": [],
            "expected": {
                "trajectory": [{"tool": "a"}, {"tool": "a"}],
                "trajectory_match": "superset",
            },
            "budget": {"max_steps": 2},
        },
        "$.budget.max_steps",
        "3 calls must be made: 2 by $.expected.trajectory, 1 by $.tools.required",
    ),
    (
        {
            "tools": {"required": ["write"]},
            "budget": {"max_steps": 1},
        },
        "$.budget.max_steps",
        "2 calls must be made: 1 by $.tools.required, 1 by $.writes",
    ),
    (
        {
            "expected": {"trajectory": [{"tool": "look"}], "trajectory_match": "strict"},
            "optimal_steps": 2,
        },
        "$.optimal_steps",
        "strict trajectory has 1",
    ),
    ({"optimal_steps": 0}, "$.optimal_steps", "greater than or equal to 1"),
    ({"category": "silver"}, "$.category", "golden"),
    ({"tools": {"required": [""]}, "writes": []}, "$.tools.required[0]", "may not be empty"),
    ({"tools": {"required": ["a\nb"]}, "writes": []}, "$.tools.required[0]", "control characters"),
    ({"simulator": {}}, "$.simulator", "either tools or a toolkit"),
    (
        {"simulator": {"tools": {"look": TOOL}, "toolkit": "a:B"}},
        "$.simulator",
        "either tools or a toolkit",
    ),
    ({"simulator": {"toolkit": "no-colon"}}, "$.simulator.toolkit", "pattern"),
    ({"simulator": {"tools": {"write": TOOL}}}, "$.tools.required[0]", "not simulated"),
    (
        {"simulator": {"tools": {"look": {"responses": {}}}}},
        "$.simulator.tools.look.responses",
        "exactly one of",
    ),
    (
        {"simulator": {"tools": {"look": {"responses": {"fixed": 1, "sequence": [1]}}}}},
        "$.simulator.tools.look.responses",
        "exactly one of",
    ),
    (
        {"simulator": {"tools": {"look": {"responses": {"fixed": 1, "otherwise": 1}}}}},
        "$.simulator.tools.look.responses",
        "belongs to match",
    ),
    (
        {"simulator": {"tools": {"look": {**TOOL, "parameters": {"type": "array"}}}}},
        "$.simulator.tools.look.parameters",
        "JSON Schema of an object",
    ),
    (
        {
            "simulator": {
                "tools": {"look": {**TOOL, "parameters": {"type": "object", "required": ["x"]}}}
            }
        },
        "$.simulator.tools.look.parameters",
        "`x`, which is not a property",
    ),
    (
        {
            "simulator": {
                "tools": {"look": {**TOOL, "parameters": {"type": "object", "properties": []}}}
            }
        },
        "$.simulator.tools.look.parameters",
        "map each parameter",
    ),
    (
        {"simulator": {"tools": {"look": {**TOOL, "faults": [{"kind": "timeout", "calls": [0]}]}}}},
        "$.simulator.tools.look.faults[0].calls[0]",
        "greater than or equal to 1",
    ),
]


@pytest.mark.parametrize(("changes", "path", "word"), REFUSED)
def test_refused_episodes(changes: dict[str, Any], path: str, word: str) -> None:
    found = only(one(**changes))
    assert found.startswith(f"episodes/e-1.json: {path}: ")
    assert word in found


@pytest.mark.parametrize(
    "changes",
    [
        {"tools": {"required": ["a", "b"]}, "writes": [], "budget": {"max_steps": 2}},
        {
            "tools": {"required": ["write", "verify"]},
            "expected": {
                "trajectory": [{"tool": "write"}, {"tool": "verify"}],
                "trajectory_match": "strict",
            },
            "budget": {"max_steps": 2},
        },
        {
            "tools": {"required": ["a"]},
            "writes": [],
            "expected": {
                "trajectory": [{"tool": "a"}, {"tool": "b"}],
                "trajectory_match": "subset",
            },
            "budget": {"max_steps": 1},
        },
        {
            "expected": {
                "message_contains": ["no refund", "$"],
                "message_excludes": ["no refund at all", "refunds"],
            }
        },
    ],
)
def test_contracts_that_can_just_be_met_are_accepted(changes: dict[str, Any]) -> None:
    assert problems(one(**changes)) == []


@pytest.mark.parametrize("part", ["message_contains", "message_excludes"])
def test_a_blank_wording_is_refused_where_the_defaults_say_it(part: str) -> None:
    found = only(files(head=suite(defaults={"expected": {part: [" "]}})))
    assert found.startswith(f"suite.json: $.defaults.expected.{part}[0]: is blank")


@pytest.mark.parametrize(
    ("check", "near"),
    [
        ("proces", "process"),
        ("write_not_verifed", "write_not_verified"),
        ("mising:verify", "missing:verify"),
        ("Final-State-Not-Measured", "final_state_not_measured"),
        ("wrong_final_state:x", "wrong_final_state"),
    ],
)
def test_an_unknown_critical_check_is_answered_with_the_near_one(check: str, near: str) -> None:
    assert only(one(critical=[check])) == (
        f"episodes/e-1.json: $.critical[0]: `{check}` is neither a gate nor a code of a gate "
        f"(did you mean `{near}`?)"
    )


def test_a_critical_check_like_no_other_gets_no_suggestion() -> None:
    assert only(one(critical=["zzz"])).endswith("neither a gate nor a code of a gate")


@pytest.mark.parametrize(
    ("policy", "path", "word"),
    [
        ({"pass_hat": {"k": 4}}, "$.policy.pass_hat.k", "plans 3"),
        ({"attempts": 0}, "$.policy.attempts", "greater than or equal to 1"),
        ({"hard_pass_rate": 1.01}, "$.policy.hard_pass_rate", "less than or equal to 1"),
        (
            {"pass_hat": {"k": 3, "min": -0.1}},
            "$.policy.pass_hat.min",
            "greater than or equal to 0",
        ),
        (
            {"judge": {"max_flip_rate": 2}},
            "$.policy.judge.max_flip_rate",
            "less than or equal to 1",
        ),
        ({"max_cpst_usd": -1}, "$.policy.max_cpst_usd", "greater than or equal to 0"),
        ({"approvals": {"promote": 0}}, "$.policy.approvals.promote", "greater than or equal to 1"),
        ({"mode": "loose"}, "$.policy.mode", "point"),
        ({"max_critical_failures": -1}, "$.policy.max_critical_failures", "equal to 0"),
    ],
)
def test_refused_policies(policy: dict[str, Any], path: str, word: str) -> None:
    found = problems(files(head=suite(policy=policy)))
    assert len([f for f in found if path in f]) == 1
    assert found[0].startswith(f"suite.json: {path}: ")
    assert word in found[0]


def test_limits_on_the_edge_are_accepted() -> None:
    policy = {"attempts": 1, "pass_hat": {"k": 1, "min": 1.0}, "hard_pass_rate": 0}
    budget = {"max_steps": 0, "max_cost_usd": 0, "max_timeouts": 0}
    idle = episode(budget=budget, tools={"allowed": []}, writes=[])
    content = files(idle, head=suite(policy=policy))
    assert problems(content) == []


@pytest.mark.parametrize(
    ("number", "word"), [("NaN", "NaN"), ("Infinity", "Infinity"), ("1e400", "infinity")]
)
def test_numbers_that_are_none_are_refused_before_anything(number: str, word: str) -> None:
    content = one()
    text = content["episodes/e-1.json"].replace(
        b'"max_steps": 6', b'"max_steps": ' + number.encode()
    )
    found = only({**content, "episodes/e-1.json": text})
    assert found.startswith("episodes/e-1.json: $.budget.max_steps: ")
    assert word in found


@pytest.mark.parametrize(
    ("episode_id", "word"),
    [
        ("a/b", "path separator"),
        ("a\\b", "path separator"),
        ("", "may not be empty"),
        (".", "dot"),
        ("..", "dot"),
        ("a\x00b", "control characters"),
        ("a\x1bb", "control characters"),
        ("a\u202eb", "control characters"),
        (" a", "space"),
        ("e\u0301", "NFC"),
        ("x" * 201, "at most 200"),
    ],
)
def test_ids_that_cannot_be_file_names(episode_id: str, word: str) -> None:
    content = {**files(), "episodes/other.json": packed(episode(episode_id))}
    found = [f for f in problems(content) if "$.episode_id" in f]
    assert len(found) == 1
    assert word in found[0]
    assert problems({**files(), "suite.json": packed(suite(suite_id=episode_id))})


def test_an_id_of_200_characters_is_accepted() -> None:
    assert problems(files(episode("x" * 200))) == []


def test_a_file_is_named_after_its_episode_and_ids_are_unique() -> None:
    content = {**files(), "episodes/zz.json": packed(episode("e-1"))}
    assert problems(content) == [
        "episodes/zz.json: $.episode_id: `e-1` must be in a file with that name",
        "episodes/zz.json: $.episode_id: `e-1` is also the id of episodes/e-1.json",
    ]


def test_all_problems_of_all_files_come_at_once() -> None:
    first = episode("e-1", budget={"max_steps": -1, "maxCost": 1}, extra=1)
    second = episode("e-2", critical=["nothing"])
    found = problems({**files(first, second), "rubric.json": b"{", "judge.json": b"[]"})
    starts = [f.split(": ")[0] + " " + f.split(": ")[1] for f in found]
    assert starts == [
        "episodes/e-1.json $.budget.max_steps",
        "episodes/e-1.json $.budget.maxCost",
        "episodes/e-1.json $.extra",
        "episodes/e-2.json $.critical[0]",
        "rubric.json $",
        "judge.json $",
    ]


def test_a_suite_without_head_or_episodes_is_refused() -> None:
    assert problems({}) == [
        "suite.json: $: is missing",
        "suite.json: $: the suite has no episode",
    ]


def test_strange_files_among_the_episodes_are_refused() -> None:
    found = problems({**files(), "episodes/e-2.jsn": b"{}", "episodes/more/e-3.json": b"{}"})
    assert len(found) == 2
    assert all("only <episode_id>.json" in f for f in found)


def test_a_missing_schema_is_named() -> None:
    item = episode()
    del item["schema"]
    expected = "episodes/e-1.json: $.schema: is missing: should be 'reviewer/episode@1'"
    assert only(files(item)) == expected


@pytest.mark.parametrize(
    ("user", "said"),
    [
        (
            {"kind": "scripted", "turns": [{"say": "My card is C-1."}]},
            ["$.user.turns[0].id: is missing"],
        ),
        (
            {"script": ["My card is C-1."]},
            [
                "$.user.kind: is missing: should be 'scripted', 'model' or 'person'",
                "$.user.script: unknown key `script`; known here: kind, facts, goals, tools, "
                "turns, otherwise, end, persona, style, runner, prices",
            ],
        ),
        (
            {"kind": "scripted", "turns": [{"id": "card", "text": "My card is C-1."}]},
            [
                "$.user.turns[0].text: unknown key `text`; known here: id, when, calls, say, "
                "goals, times, end"
            ],
        ),
    ],
    ids=["without an id", "without a kind", "another word"],
)
def test_a_user_of_the_wrong_shape_is_told_what_belongs_there(
    user: dict[str, Any], said: list[str]
) -> None:
    checked = check_suite(one(user=user, user_request="Renew my loan."))
    assert [*map(str, checked.problems)] == [f"episodes/e-1.json: {each}" for each in said]


def test_the_listed_order_of_episodes_is_kept_and_must_be_complete() -> None:
    both = episode("e-1"), episode("e-2")
    checked = check_suite(files(*both, head=suite(episodes=["e-2", "e-1"])))
    assert checked.suite is not None
    assert [e.episode_id for e in checked.suite.episodes] == ["e-2", "e-1"]
    found = problems(files(*both, head=suite(episodes=["e-1", "e-9"])))
    assert found == [
        "suite.json: $.episodes[1]: there is no episodes/e-9.json",
        "suite.json: $.episodes: does not list `e-2`, which is in the folder",
    ]


def test_defaults_fill_in_where_an_episode_is_silent() -> None:
    head = suite(defaults={"budget": {"max_steps": 4, "max_cost_usd": 0.5}, "tags": ["a"]})
    checked = check_suite(files(episode(budget={"max_steps": 6}), head=head))
    assert checked.suite is not None
    item = checked.suite.episodes[0]
    assert (item.budget.max_steps, item.budget.max_cost_usd, item.tags) == (6, 0.5, ("a",))


def test_defaults_take_part_in_contradictions() -> None:
    head = suite(defaults={"tools": {"forbidden": ["look"]}})
    item = episode(tools={"required": ["look"]}, writes=[])
    assert "required tool `look` is forbidden" in only(files(item, head=head))


def test_an_explicit_null_takes_a_default_away() -> None:
    merged = merge_defaults({"budget": {"max_steps": 4}}, {"budget": {"max_steps": None}})
    assert merged == {"budget": {"max_steps": None}}


def test_a_null_final_state_is_expected_and_an_absent_one_is_not() -> None:
    given_null = check_suite(one(expected={"final_state": None})).suite
    absent = check_suite(one(expected={})).suite
    assert given_null is not None
    assert absent is not None
    assert given_null.episodes[0].expected.final_state is None
    assert absent.episodes[0].expected != given_null.episodes[0].expected


def test_verified_by_may_be_one_tool_or_several() -> None:
    for given_by, wanted in (("verify", ("verify",)), (["verify", "look"], ("verify", "look"))):
        checked = check_suite(one(writes=[{"tool": "write", "verified_by": given_by}]))
        assert checked.suite is not None
        assert checked.suite.episodes[0].writes[0].verified_by == wanted


def test_the_trusted_road_gives_the_same_suite() -> None:
    trajectory = [{"tool": "look"}, {"tool": "write", "arguments": {"x": 1}}]
    item = episode(
        expected={"final_state": {"a": [1, None]}, "trajectory": trajectory},
        simulator={"tools": {"look": TOOL}},
        critical=["state", "missing:look"],
        optimal_steps=2,
        title="t",
        user_request="u",
    )
    head = suite(
        title="T",
        probe=True,
        defaults={"budget": {"max_cost_usd": 1}},
        policy={"attempts": 4, "pass_hat": {"k": 2}, "mode": "strict", "latency_p95_ms": 9},
        redaction={"keys": ["k"], "detectors": ["email"]},
        source={"from": "tau2"},
        episodes=["e-2", "e-1"],
    )
    content = files(item, episode("e-2"), head=head)
    trusted = load_trusted(content)
    assert check_suite(content, trusted.digest).suite == trusted
    assert trusted.episodes[1].expected.trajectory == (
        ExpectedCall(tool="look"),
        ExpectedCall(tool="write", arguments={"x": 1}),
    )
    assert isinstance(trusted.episodes[1].budget.max_cost_usd, float)


def test_trusted_files_that_are_no_suite_give_a_typed_error() -> None:
    for content in ({}, {"suite.json": b"{"}, {"suite.json": b"[]"}):
        with pytest.raises(ContractError):
            load_trusted(content)
    with pytest.raises(ContractError, match="budget"):
        load_trusted(files(episode(budget=3)))


def test_gates_and_codes_may_be_critical() -> None:
    for check in (
        "state",
        "missing",
        "missing:",
        "missing:look",
        "wrong_final_state",
        "terminated:x",
    ):
        assert known_check(check), check
    assert not any(map(known_check, ("", ":", "gate", "state:x", "wrong_final_state:")))


def test_the_codes_are_those_the_gates_state() -> None:

    assert tuple(sorted(GATE_CODES)) == tuple(sorted(GATES))


RUBRIC: dict[str, Any] = {
    "schema": "reviewer/rubric@1",
    "rubric_id": "r",
    "version": "v1",
    "criteria": [
        {
            "criterion_id": "accurate",
            "title": "accurate",
            "asks": "says only what was done",
            "scale": "binary",
            "levels": [{"value": 1, "label": "yes"}, {"value": 2, "label": "no"}],
        }
    ],
}


def levels(*values: int) -> list[dict[str, Any]]:
    return [{"value": value, "label": "x"} for value in values]


@pytest.mark.parametrize(
    ("scale", "values", "word"),
    [
        ("binary", (1, 2, 3), "exactly the levels 1 and 2"),
        ("five", (1, 4), "must label at least 1 and 5"),
        ("five", (1, 5, 6), "must label at least 1 and 5"),
        ("levels", (1, 3), "without a gap"),
        ("levels", (2, 1), "must increase"),
    ],
)
def test_levels_must_fit_their_scale(scale: str, values: tuple[int, ...], word: str) -> None:
    criterion = {**RUBRIC["criteria"][0], "scale": scale, "levels": levels(*values)}
    found = only({**files(), "rubric.json": packed({**RUBRIC, "criteria": [criterion]})})
    assert found.startswith("rubric.json: $.criteria[0]: ")
    assert word in found


def test_a_rubric_is_read_and_its_criteria_differ() -> None:
    checked = check_suite({**files(), "rubric.json": packed(RUBRIC)})
    assert checked.rubric is not None
    assert checked.rubric.criteria[0].levels[1].label == "no"
    twice = {**RUBRIC, "criteria": RUBRIC["criteria"] * 2}
    assert "`accurate` twice" in only({**files(), "rubric.json": packed(twice)})


def test_a_judge_must_see_the_request_and_both_messages() -> None:
    judge = {"schema": "reviewer/judge@1", "judge_id": "j", "version": "1", "prompt": "{left}"}
    found = only({**files(), "judge.json": packed(judge)})
    assert "no place for {user_request}, {right}" in found
    judge["prompt"] = "{user_request}{left}{right}"
    checked = check_suite({**files(), "judge.json": packed(judge)})
    assert checked.judge is not None


def test_a_manifest_has_the_digest_of_its_canonical_bytes() -> None:
    raw = candidate(version="1", config={"temperature": 0.0, "top": 1e21})
    first, second = packed(raw), json.dumps(dict(reversed(raw.items()))).encode()
    assert read_candidate(first) == read_candidate(second) == trusted_candidate(first)
    assert read_candidate(first).digest == sha256_hex(manifest_bytes(second))
    assert manifest_bytes(first).startswith(
        b'{"candidate_id":"agent-v1","config":{"temperature":0,'
    )


@pytest.mark.parametrize(
    ("changes", "word"),
    [
        ({"prompt": []}, "did you mean `prompts`?"),
        ({"prompts": [{"name": "p", "sha256": "F" * 64}]}, "pattern"),
        ({"tools": [{"name": "t"}, {"name": "t"}]}, "`t` twice"),
        ({"authors": ["a", "a"]}, "`a` twice"),
        ({"prices": {"input": -1}}, "greater than or equal to 0"),
        ({"runner": {"kind": "scripted"}}, "needs `script`"),
        ({"runner": {"kind": "command"}}, "needs `command`"),
        ({"runner": {"kind": "python"}}, "needs `entry`"),
        ({"runner": {"kind": "magic"}}, "scripted"),
        ({"candidate_id": "a/b"}, "path separator"),
    ],
)
def test_refused_manifests(changes: dict[str, Any], word: str) -> None:
    with pytest.raises(ContractError, match=r"candidate\.json: ") as caught:
        read_candidate(packed(candidate(**changes)))
    assert word in str(caught.value)


def test_a_manifest_with_unsafe_integers_has_no_digest() -> None:
    with pytest.raises(ContractError, match="2\\^53-1"):
        manifest_bytes(b'{"n": 9007199254740993}')


def test_a_manifest_is_named_after_its_candidate() -> None:
    with pytest.raises(ContractError, match="must be in a file with that name"):
        read_candidate(packed(candidate()), "s/candidates/other.json")
    assert read_candidate(packed(candidate()), "s/candidates/agent-v1.json").runner == {}
    assert trusted_candidate(packed(candidate(runner=None))).runner == {}


@pytest.mark.parametrize("kind", ["suite", "episode", "rubric", "judge", "candidate", "policy"])
def test_each_kind_is_published_as_json_schema(kind: str) -> None:
    published = json_schema(kind)
    assert published["$id"] == f"reviewer/{kind}@1"
    assert published["additionalProperties"] is False
    json.dumps(published, allow_nan=False)
    if kind != "policy":
        assert published["properties"]["schema"]["const"] == f"reviewer/{kind}@1"
        assert "schema" in published["required"]


def test_the_published_schema_knows_both_forms_of_verified_by() -> None:
    verified_by = json_schema("episode")["$defs"]["WriteShape"]["properties"]["verified_by"]
    assert {part["type"] for part in verified_by["anyOf"]} == {"string", "array"}


def test_other_kinds_are_refused() -> None:
    with pytest.raises(KeyError, match="candidate, episode, judge"):
        json_schema("a-kind-of-this-test")


JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-9, 9)
    | st.floats(allow_nan=False)
    | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3)
    ),
    max_leaves=8,
)


@given(st.data())
def test_any_member_of_any_type_gives_an_episode_or_problems(data: st.DataObject) -> None:
    item = episode()
    name = data.draw(st.sampled_from([*sorted(item), "simulator", "critical", "tags", "title"]))
    inner = item.get(name)
    if isinstance(inner, dict) and inner and data.draw(st.booleans()):
        inner[data.draw(st.sampled_from(sorted(inner)))] = data.draw(JSON)
    else:
        item[name] = data.draw(JSON)
    checked = check_suite({"suite.json": packed(suite()), "episodes/e-1.json": packed(item)})
    if checked.suite is None:
        assert checked.problems
    else:
        assert isinstance(checked.suite.episodes[0], Episode)


@pytest.mark.parametrize(
    ("on", "read"),
    [
        (["order_token"], {"order_token": "order_token"}),
        ({"order.token": "token"}, {"order.token": "token"}),
        (None, None),
    ],
)
def test_the_object_of_a_write_may_be_written_in_short(on: Any, read: Any) -> None:
    write = {"tool": "write", "verified_by": "verify", "on": on}
    checked = check_suite(one(writes=[write]))
    assert checked.problems == ()
    assert checked.suite is not None
    assert checked.suite.episodes[0].writes[0].on == read


@pytest.mark.parametrize("on", [[], {}, [""], {"": "a"}, {"a": ""}, "order_token", {"a": 1}])
def test_the_object_of_a_write_is_named(on: Any) -> None:
    write = {"tool": "write", "verified_by": "verify", "on": on}
    checked = check_suite(one(writes=[write]))
    assert [problem.path for problem in checked.problems] != []
    assert all(problem.path.startswith("$.writes[0].on") for problem in checked.problems)


def test_claims_are_stated_with_their_denials() -> None:
    claims = [{"says": ["a risk", "risky"], "denials": ["no risk"]}, {"says": ["safe"]}]
    checked = check_suite(one(expected={"claims": claims}))
    assert checked.problems == ()
    assert checked.suite is not None
    read = checked.suite.episodes[0].expected.claims
    assert [(claim.says, claim.denials) for claim in read] == [
        (("a risk", "risky"), ("no risk",)),
        (("safe",), ()),
    ]
    for says, where in (([], "says"), ([" "], "says"), (["no risk"], "denials[0]")):
        broken = [{"says": says, "denials": ["no risk"]}]
        assert f"$.expected.claims[0].{where}" in only(one(expected={"claims": broken}))


@pytest.mark.parametrize(
    "actor", ["agent", "Sub-Agent", "user", "simulated_user", "AI", "assistant"]
)
def test_an_agent_is_no_approver(actor: str) -> None:
    tools = {"approvals": ["write"], "approvers": ["dana", actor]}
    found = only(one(tools=tools))
    assert "$.tools.approvers[1]" in found
    assert "cannot approve anything" in found
