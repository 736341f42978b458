"""An episode's user: what it says when, how the talk ends, and what is counted against it."""

import asyncio
import base64
import json
from pathlib import Path
from typing import Any

import pytest
from openai_server import KEY_ENV, answer, chat, environment, serving
from run_builders import (
    Stage,
    believed,
    call,
    candidate,
    episode,
    events,
    follow,
    said,
    scripted,
    task,
    tool,
    verdict,
)
from run_guests import KINDS, hold, workspace, written

from reviewer.running.attempt import run_attempt
from reviewer.running.model import Turn
from reviewer.running.talk.endpoint import EndpointUser, prompt_of
from reviewer.running.talk.faults import FaultWatch
from reviewer.running.talk.model import Reply
from reviewer.suite.border import faults_of
from reviewer.suite.check import episode_problems
from reviewer.suite.model import Episode
from reviewer.suite.user_check import user_of


@pytest.fixture
def stage(monkeypatch: pytest.MonkeyPatch) -> Stage:
    return Stage(monkeypatch)


USER: dict[str, Any] = {
    "kind": "scripted",
    "facts": {"user_id": {"value": "mia_12"}, "card": {"value": "4929", "tell": "never"}},
    "goals": [
        {"id": "cancel", "asks": "cancel the booking"},
        {"id": "refund", "asks": "a refund"},
    ],
    "turns": [
        {
            "id": "who",
            "when": {"asks": ["user id"]},
            "say": "It is {user_id}.",
            "goals": ["cancel"],
        },
        {
            "id": "yes",
            "when": {"asks": ["confirm"], "after": "who", "not_called": ["cancel"]},
            "say": "Yes, and refund it.",
            "goals": ["refund"],
        },
        {"id": "thanks", "when": {"called": ["cancel"]}, "say": "Thank you.", "end": "satisfied"},
    ],
    "otherwise": {"say": "I do not know that.", "times": 2},
}
TOOLS = {"cancel": tool(effects=[{"merge": {"label": "gone"}}]), "hand_over": tool()}


SHORT = {
    **USER,
    "goals": USER["goals"][:1],
    "turns": [USER["turns"][0], USER["turns"][2]],
}
"""The same user without a second goal."""


def talking(user: dict[str, Any] | None = None, **fields: Any) -> Episode:
    wanted = {"state": {"label": "gone"}}
    made = {"expected": wanted, **fields}
    return episode(TOOLS, user=USER if user is None else user, **made)


def asks(message: str, **more: Any) -> Turn:
    return said(message, last=False, **more)


def spoken(record: dict[str, Any]) -> list[tuple[str, str]]:
    return [(event["actor"], event["message"]) for event in events(record, "message")]


def faults(record: dict[str, Any]) -> list[tuple[str, str]]:
    found = record["source"]["user"]["faults"]
    return [(fault["code"], fault["severity"]) for fault in found]


CANCEL = Turn((call("cancel"),))
TALK = (asks("What is your user id?"), asks("Please confirm."), CANCEL, asks("It is canceled."))


def test_a_talk_goes_on_until_the_user_is_satisfied(stage: Stage) -> None:
    record = stage.play(talking(), *TALK)
    assert spoken(record) == [
        ("agent", "What is your user id?"),
        ("simulated_user", "It is mia_12."),
        ("agent", "Please confirm."),
        ("simulated_user", "Yes, and refund it."),
        ("agent", "It is canceled."),
        ("simulated_user", "Thank you."),
    ]
    assert (record["termination"], record["final_message"]) == ("user_stop", "It is canceled.")
    assert record["source"]["user"] == {"kind": "scripted", "messages": 3, "faults": []}
    assert stage.puppet.heard == ["It is mia_12.", "Yes, and refund it."]
    assert verdict(talking(), record).passed is True


def test_a_candidate_that_does_not_converse_gets_the_first_message_only(stage: Stage) -> None:
    record = stage.play(talking(), said("What is your user id?"))
    assert spoken(record) == [("agent", "What is your user id?")]
    assert record["termination"] == "completed"
    assert verdict(talking(), record).passed is False


def test_an_episode_without_a_user_ends_with_the_first_message(stage: Stage) -> None:
    record = stage.play(episode(TOOLS), *TALK)
    assert spoken(record) == [("agent", "What is your user id?")]
    assert "user" not in record["source"]


def test_an_agent_cannot_have_a_script_spoil_its_attempt(stage: Stage) -> None:
    """What a script has voiced, and on what it ends, follows from what the agent did."""
    record = stage.play(talking(), asks("What is your user id?"), CANCEL, asks("Canceled."))
    assert record["termination"] == "user_stop"
    assert faults(record) == [("user:dropped:refund", "minor")]
    asking = stage.play(talking(), asks("Your user id?"), CANCEL, asks("Shall I proceed?"))
    assert asking["termination"] == "user_gave_up"
    assert ("user:stopped_on_confirm", "minor") in faults(asking)


def test_a_script_does_not_end_in_the_message_that_confirms(stage: Stage) -> None:
    """Else the agent could never do what is confirmed."""
    bye = {"id": "bye", "when": {"says": ["cancel"]}, "say": "Yes, please.", "end": "satisfied"}
    of = talking({"kind": "scripted", "turns": [bye]})
    asked = stage.play(of, asks("Do you want me to cancel it?"), CANCEL, asks("It is canceled."))
    assert spoken(asked)[1] == ("simulated_user", "Yes, please.")
    assert any(one.get("tool") == "cancel" for one in asked["events"])
    assert faults(asked) == [("user:stopped_on_confirm", "minor")]
    assert asked["termination"] == "user_gave_up"


def test_a_user_that_is_asked_nothing_it_knows_gives_up(stage: Stage) -> None:
    record = stage.play(talking(), asks("Hello!"))
    assert [text for actor, text in spoken(record) if actor == "simulated_user"] == [
        "I do not know that.",
        "I do not know that.",
    ]
    assert record["termination"] == "user_gave_up"
    judged = verdict(talking(), record)
    assert judged.passed is False
    assert not any(code.startswith("terminated") for code in judged.codes())


def test_more_messages_than_the_episode_allows_fail_the_attempt(stage: Stage) -> None:
    user = {**USER, "otherwise": {"say": "Hm.", "times": 9}, "end": {"max_turns": 2}}
    record = stage.play(talking(user), asks("Hello!"))
    assert record["termination"] == "max_turns"
    assert "terminated:max_turns" in verdict(talking(), record).codes()


def test_a_hand_over_ends_the_talk_when_it_went_well(stage: Stage) -> None:
    user = {**USER, "end": {"on_tool": ["hand_over"]}}
    over = Turn((call("hand_over"),), "I hand you over.")
    assert stage.play(talking(user), over, said("never"))["termination"] == "transfer"
    denied = talking(user, contract={"forbidden": ["hand_over"]})
    assert stage.play(denied, over, said("After all."))["final_message"] == "After all."


def test_a_turn_may_make_the_next_message_the_last(stage: Stage) -> None:
    user = {**USER, "end": {"on_final_after": ["who"]}}
    record = stage.play(talking(user), asks("Your user id?"), asks("Bye."), said("never"))
    assert (record["termination"], record["final_message"]) == ("completed", "Bye.")


def test_conditions_hold_together_and_see_calls_words_and_state(stage: Stage) -> None:
    turns = [
        {"id": "gone", "when": {"state": {"label": "gone"}, "says": ["done"]}, "say": "Good."},
        {"id": "shy", "when": {"never_says": ["sorry"]}, "say": "Go on.", "times": 5},
    ]
    user = {"kind": "scripted", "turns": turns, "otherwise": {"say": "Why?", "times": 1}}
    record = stage.play(talking(user), asks("Done!"), CANCEL, asks("DONE."), asks("Sorry."))
    said_by_user = [text for actor, text in spoken(record) if actor == "simulated_user"]
    assert said_by_user == ["Go on.", "Good.", "Why?"]


def test_what_an_agent_says_beside_a_call_is_heard(stage: Stage) -> None:
    turns = [{"id": "a", "when": {"never_says": ["wait"]}, "say": "Fine."}]
    user = {"kind": "scripted", "turns": turns}
    record = stage.play(talking(user), Turn((call("cancel"),), "Please wait."), asks("Done."))
    assert record["termination"] == "user_gave_up"


def test_a_script_holds_a_talk(tmp_path: Path) -> None:
    turns = [
        {"messages": ["What is your user id?"]},
        {"calls": [{"tool": "cancel"}]},
        {"messages": ["It is canceled. Anything else?"]},
    ]
    record = follow(tmp_path, talking(SHORT), *turns)
    assert [actor for actor, _ in spoken(record)] == ["agent", "simulated_user"] * 2
    assert record["termination"] == "user_stop"


# candidates of every kind -------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
async def test_a_python_candidate_says_something_and_gets_an_answer(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hold(kind, monkeypatch)
    suite = workspace(tmp_path / "desk")
    text = """
        def run(user_request, tools, call):
            who = call.say("What is your user id?")
            call("cancel", who=who)
            over = call.say("It is canceled.")
            return f"{who} {over}"
    """
    written(suite / "candidates" / "guest.py", text)
    made = candidate(entry="guest:run")
    done = await run_attempt(task(talking(SHORT), candidate=made, folder=str(suite)))
    record = believed(done)
    assert events(record)[0]["arguments"] == {"who": "It is mia_12."}
    assert (record["termination"], record["final_message"]) == ("user_stop", "It is canceled.")


async def test_a_model_is_told_what_the_user_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    environment(monkeypatch)
    first = answer(chat("What is your user id?"))
    async with serving(first, answer(chat("And what now?"))) as server:
        made = candidate("openai-chat", base_url=server.url, api_key_env=KEY_ENV)
        made = type(made)(candidate_id="c-1", digest="0" * 64, runner=made.runner, model="large")
        done = await run_attempt(task(talking(), candidate=made, folder=str(tmp_path)))
    record = believed(done)
    assert record["termination"] == "user_gave_up"
    assert [one["content"] for one in server.bodies[1]["messages"]] == [
        "Please help.",
        "What is your user id?",
        "It is mia_12.",
    ]


# a user that a model plays ------------------------------------------------------------------------

MODEL: dict[str, Any] = {
    "kind": "model",
    "persona": "a hurried customer",
    "goals": [{"id": "cancel", "asks": "cancel booking HX-77", "words": ["cancel"]}],
    "facts": {
        "user_id": {"value": "mia_12"},
        "note": {"value": "two bags", "tell": "freely"},
        "card": {"value": "4929", "tell": "never"},
    },
    "prices": {"input_usd_per_mtok": 1.0, "output_usd_per_mtok": 2.0},
}
USED = {"prompt_tokens": 100, "completion_tokens": 10}


def played(url: str, **more: Any) -> dict[str, Any]:
    runner = {"kind": "openai-chat", "base_url": url, "model": "user-model", "seed": 7}
    return {**MODEL, "runner": runner, **more}


def ends(text: str | None = None) -> dict[str, Any]:
    over = {"id": "c", "type": "function", "function": {"name": "end_conversation"}}
    return chat(text, [over], usage=USED)


async def model_talk(
    monkeypatch: pytest.MonkeyPatch, answers: list[dict[str, Any]], *turns: Turn
) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    environment(monkeypatch)
    stage = Stage(monkeypatch)
    async with serving(*map(answer, answers)) as server:
        of = talking(played(server.url))
        done = await asyncio.to_thread(stage.finish, of, *turns)
    return believed(done), server.bodies


async def test_a_message_of_which_nothing_is_seen_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    answers = [chat("\u200b\u200b", usage=USED)] * 2
    record, bodies = await model_talk(monkeypatch, answers, asks("Your user id?"), CANCEL)
    assert (record["termination"], faults(record)) == ("user_error", [("user:empty", "hindered")])
    assert len(bodies) == 2


async def test_a_model_plays_the_user(monkeypatch: pytest.MonkeyPatch) -> None:
    answers = [chat("mia_12, please cancel it.", usage=USED), ends("Thanks, bye.")]
    record, bodies = await model_talk(
        monkeypatch, answers, asks("Your user id?"), CANCEL, asks("Canceled.")
    )
    assert (record["termination"], faults(record)) == ("user_stop", [])
    about = record["source"]["simulated_user"]
    assert about["model_calls"] == 2
    assert about["cost_usd"] == pytest.approx((200 * 1 + 20 * 2) / 1e6)
    assert about["usage"] == {
        "input_tokens": 200,
        "output_tokens": 20,
        "cached_input_tokens": None,
    }
    assert record["cost_usd"] is None, "what the user costs is not the candidate's"
    first = bodies[0]
    assert (first["temperature"], first["seed"], first["model"]) == (0.0, 7, "user-model")
    assert [one["role"] for one in first["messages"]] == ["system", "assistant", "user"]
    assert [spec["function"]["name"] for spec in first["tools"]] == ["end_conversation"]


async def test_a_user_begins_the_talk_where_the_episode_has_no_request(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    environment(monkeypatch)
    stage = Stage(monkeypatch)
    async with serving(answer(chat("I want to cancel.")), answer(ends("Bye."))) as server:
        of = talking(played(server.url), user_request="")
        done = await asyncio.to_thread(stage.finish, of, CANCEL, asks("Canceled."))
    record = believed(done)
    assert spoken(record)[0] == ("simulated_user", "I want to cancel.")
    assert stage.puppet.brief is not None
    assert stage.puppet.brief.user_request == "I want to cancel."
    assert record["termination"] == "user_stop"
    assert [one["role"] for one in server.bodies[0]["messages"]] == ["system", "system"]


async def test_a_user_that_cannot_begin_spoils_the_attempt_before_it_starts(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    environment(monkeypatch)
    stage = Stage(monkeypatch)
    async with serving(answer({"error": {"message": "no"}}, 400)) as server:
        of = talking(played(server.url), user_request="")
        done = await asyncio.to_thread(stage.finish, of, CANCEL)
    assert believed(done)["termination"] == "user_error"
    assert stage.puppet.brief is None


def test_a_users_prompt_holds_what_it_may_know_and_nothing_else() -> None:
    user = user_of(talking(played("http://127.0.0.1:1/v1")))
    assert user is not None
    prompt = prompt_of(user)
    for part in ("a hurried customer", "cancel booking HX-77", "user id: mia_12", "two bags"):
        assert part in prompt
    for part in ("4929", "hand_over", "label"):
        assert part not in prompt


async def test_the_end_in_an_answer_to_a_question_is_not_taken(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    answers = [chat("Please cancel."), ends("Yes, do."), ends()]
    record, _ = await model_talk(
        monkeypatch, answers, asks("Hello?"), asks("Shall I proceed?"), CANCEL, asks("Done.")
    )
    assert record["termination"] == "user_stop"
    assert faults(record) == [("user:stopped_on_confirm", "minor")]


async def test_a_user_that_ends_on_a_question_and_says_nothing_spoils_the_attempt(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    answers = [chat("Please cancel."), ends(), ends()]
    record, bodies = await model_talk(
        monkeypatch, answers, asks("Hello?"), asks("Shall I proceed?"), said("never")
    )
    assert record["termination"] == "user_error"
    assert ("user:stopped_on_confirm", "hindered") in faults(record)
    assert bodies[-1]["messages"][-1]["role"] == "system"


async def test_an_endpoint_that_fails_is_the_users_error_and_nobody_elses(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    environment(monkeypatch)
    stage = Stage(monkeypatch)
    async with serving(answer({"error": {"message": "no"}}, 400)) as server:
        of = talking(played(server.url))
        done = await asyncio.to_thread(stage.finish, of, CANCEL, asks("Done?"))
    record = believed(done)
    assert (record["termination"], faults(record)) == (
        "user_error",
        [("user:fault", "hindered")],
    )
    judged = verdict(of, record, own=True)
    assert (judged.passed, judged.infrastructure) == (None, True)


async def test_a_spoiled_talk_does_not_save_a_candidate_from_what_it_did(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    environment(monkeypatch)
    stage = Stage(monkeypatch)
    async with serving(answer(chat("My card is 4929."))) as server:
        of = talking(played(server.url), contract={"forbidden": ["cancel"]})
        done = await asyncio.to_thread(stage.finish, of, CANCEL, asks("Your card?"), CANCEL, said())
    record = believed(done)
    assert record["termination"] == "user_error"
    judged = verdict(of, record, own=True)
    assert (judged.passed, judged.critical) == (False, True)


# faults by rule -----------------------------------------------------------------------------------


def watched(*talk: str | Reply, kind: str = "model", calls: list[int] | None = None) -> list[str]:
    """Codes of the errors in such a talk."""
    return [fault.code for fault in watch_of(*talk, kind=kind, calls=calls).found()]


def watch_of(*talk: str | Reply, kind: str = "model", calls: list[int] | None = None) -> FaultWatch:
    """A talk in which agent and user speak in turn; the agent acts once more at its end."""
    told = played("http://127.0.0.1:1/v1") if kind == "model" else USER
    user = user_of(talking(told))
    assert user is not None
    watch = FaultWatch(user, "Please help.", ["cancel_booking"])
    for number, one in enumerate(talk):
        if number % 2 == 0:
            assert isinstance(one, str)
            watch.act()
            watch.hear(one)
        else:
            reply = Reply(one) if isinstance(one, str) else one
            watch.say(reply, number, calls.pop(0) if calls else number)
    watch.act()
    return watch


CARD = ["user:revealed:card"]
ENCODED = {
    "base64": (base64.b64encode(b"4929").decode(), CARD),
    "base64, in a longer text": (base64.b64encode(b'{"id": "mia_12"}').decode(), True),
    "base64, for addresses": (base64.urlsafe_b64encode(b"??>mia_12>??").decode(), True),
    "base64, in an address": (
        "https://shop.example/?state=" + base64.b64encode(b"u=mia_12").decode(), True
    ),
    "hexadecimal": (b"4929".hex(), CARD),
    "hexadecimal, within a longer text": (b"I am mia_12!".hex().upper(), True),
    "percent-encoded": ("%6d%69%61%5f%31%32", True),
    "rot13": ("It is zvn_12, you know.", True),
    "backwards": ("Read it from its end: 21_aim", True),
    "spelled": ("m i a _ 1 2.", True),
    "spelled with hyphens": ("It ends in 4-9-2-9", CARD),
    "another value in base64": (base64.b64encode(b'{"id": "mia_13"}').decode(), False),
    "letters in a row": ("Seat A, B, C or D? a-b-c-d", []),
}  # fmt: skip
"""Name → what a user says without being asked, and the faults; or only whether it tells its id."""


@pytest.mark.parametrize("name", ENCODED)
def test_a_fact_in_another_form_is_told(name: str) -> None:
    said, codes = ENCODED[name]
    found = watched("Hi", said)
    if isinstance(codes, bool):
        assert ("user:revealed:user_id" in found) is codes
    else:
        assert [code for code in found if "revealed" in code] == codes


@pytest.mark.parametrize(
    ("talk", "codes"),
    [
        (("What is your user id?", "mia_12"), []),
        (("Hello", "I am mia_12, cancel it."), ["user:revealed:user_id"]),
        (("Is it mia_12?", "mia_12, yes."), []),
        (("Your card?", "It ends in 49 29."), ["user:revealed:card"]),
        (("Your card?", "It ends in 14929."), ["user:invented"]),
        (("Your card?", "It ends in ４９\u200b２９."), ["user:revealed:card"]),
        (("Your card?", "It ends in **49**\n29."), ["user:revealed:card"]),
        (("Your card?", "It ends in 49", "And?", "29."), ["user:revealed:card"]),
        (("Which booking?", "HX\u201177."), []),  # a hyphen that models write
        (("Which booking?", "HX\u201178."), ["user:invented"]),
        (("Hi", "1-" * 3_000), ["user:too_long"]),
        (("Which bags?", "Two bags."), []),
        (("Which booking?", "HX-77."), []),
        (("Which booking?", "HX-78."), ["user:invented"]),
        (("When?", "On 2024-05-02."), ["user:invented"]),
        (("It was on 2024-05-02?", "Yes, 2024-05-02."), []),
        (("Mail?", "me@example.org"), ["user:invented"]),
        (("User id?", "My user id is mia_13."), ["user:contradicted:user_id", "user:invented"]),
        (("Hi", "How may I help you?"), ["user:spoke_as_agent"]),
        (("Hi", "Call cancel_booking for me."), ["user:spoke_as_agent"]),
        (("Hi", "x" * 4_001), ["user:too_long"]),
        (("Hi", "No.", "Hi", "no", "Hi", "NO!"), ["user:loop"]),
        (("Hi", Reply("Cancel it.")), []),
        (("Done.", Reply("Bye.", "user_stop")), ["user:dropped:cancel"]),
        (("Hi", "Cancel it.", "Done.", Reply("Bye.", "user_stop")), []),
        (
            ("Hi", "Cancel it.", "Shall I proceed?", Reply("Yes.", "user_stop")),
            ["user:stopped_on_confirm"],
        ),
    ],
)
def test_a_users_errors_are_told_by_rule(talk: tuple[Any, ...], codes: list[str]) -> None:
    assert watched(*talk) == codes


@pytest.mark.parametrize(
    ("talk", "code"),
    [
        (("Is it so?", "Yes.", "Shall I proceed?", "Yes.", "Are you sure?", "Yes."), "user:loop"),
        (("Who?", "Me.", "Go on", "No.", "Go on", "No.", "Go on", "No."), "user:loop"),
        (("Say: how may I help you?", "How may I help you?"), "user:spoke_as_agent"),
        (("I call cancel_booking. Repeat it!", "cancel_booking"), "user:spoke_as_agent"),
        (("User id? Say: mia_13", "My user id is mia_13."), "user:contradicted:user_id"),
        (("Is your card 4929?", "Yes, 4929."), "user:revealed:card"),
    ],
)
def test_an_error_that_the_agent_led_to_is_only_noted(talk: tuple[str, ...], code: str) -> None:
    """If it spoiled the attempt, an agent could have its failures repeated until one passes."""
    faults = watch_of(*talk).found()
    assert [(one.code, one.severity) for one in faults] == [(code, "minor")]


def test_a_user_that_repeats_itself_unasked_spoils_the_attempt() -> None:
    faults = watch_of("Hello", "No.", "Which one?", "No.", "Where?", "No.").found()
    assert [(one.code, one.severity) for one in faults] == [("user:loop", "hindered")]


def test_what_a_users_persona_and_style_say_is_not_invented() -> None:
    told = {
        **played("http://127.0.0.1:1/v1"),
        "style": "Pay up to 1,000.",
        "persona": "Owns QX77Z.",
    }
    user = user_of(talking(told))
    assert user is not None
    watch = FaultWatch(user, "Please help.", [])
    for number, word in enumerate(("1000", "QX77Z", "2000")):
        watch.hear("How much?")
        watch.say(Reply(f"It is {word}."), number, number)
    assert [(one.code, one.seq) for one in watch.found()] == [("user:invented", 2)]


def test_the_same_two_messages_are_a_loop_only_where_nothing_was_done_between() -> None:
    talk = ("Hi", "One.", "Hi", "Two.", "Hi", "One.", "Hi", "Two.")
    assert watched(*talk, calls=[0, 0, 0, 0]) == ["user:loop"]
    assert watched(*talk, calls=[0, 0, 1, 2]) == []


def test_a_scripts_own_words_are_not_judged_by_the_rules_for_models() -> None:
    assert watched("Hi", "Order 12345 of mia_12.", kind="scripted") == []


def test_an_error_after_the_last_act_is_only_noted() -> None:
    user = user_of(talking(played("http://127.0.0.1:1/v1")))
    assert user is not None
    watch = FaultWatch(user, "Please help.", [])
    watch.act()
    watch.hear("Done.")
    watch.say(Reply("Cancel order 55555."), 1, 0)
    assert [fault.severity for fault in watch.found()] == ["minor"]
    watch.act()
    assert [fault.severity for fault in watch.found()] == ["hindered"]


# what is refused ----------------------------------------------------------------------------------


def problems(**changes: Any) -> list[str]:
    user = {**USER, **changes}
    raw = {"schema": "reviewer/episode@1", "episode_id": "e-1", "user": user}
    if shape := faults_of(raw, Episode):
        return [fault.reason for fault in shape]
    return [f"{where}: {reason}" for where, reason in episode_problems(talking(user))]


def test_the_user_of_the_examples_is_refused_by_nothing() -> None:
    assert problems() == []


TURN = {"id": "t", "say": "Hm.", "goals": ["cancel", "refund"]}


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"turns": [{**TURN, "say": "{name}"}]}, "`{name}` is not a fact"),
        ({"turns": [{**TURN, "say": "{card}"}]}, "says the fact `card`, which must never be told"),
        ({"turns": [{**TURN, "goals": ["win"]}]}, "`win` is not a goal of this user"),
        ({"turns": [{**TURN, "goals": ["cancel"]}]}, "no turn voices the goal `refund`"),
        ({"turns": [{**TURN, "when": {"after": "x"}}]}, "`x` is not a turn of this user"),
        ({"turns": [{**TURN, "when": {"after": "t"}}]}, "comes after itself"),
        ({"turns": [{**TURN, "times": 10}, {**TURN, "id": "u"}]}, "is never said: `t` before it"),
        ({"turns": [{**TURN, "end": "satisfied"}, {**TURN, "id": "u"}]}, "is never said: `t`"),
        ({"turns": [TURN, TURN]}, "lists `t` twice"),
        ({"turns": [{**TURN, "when": {"asks": ["a"]}, "end": "satisfied"}]}, "ends the talk with"),
        ({"turns": []}, "a scripted user needs turns"),
        ({"turns": [TURN], "persona": "a person"}, "persona does not apply to a user of this kind"),
        ({"turns": [TURN], "end": {"max_turns": 0}}, "greater than or equal to 1"),
        ({"turns": [TURN], "end": {"on_final_after": ["x"]}}, "`x` is not a turn of this user"),
        (
            {"turns": [{**TURN, "when": {"called": ["a"], "not_called": ["a"]}}]},
            "`a` cannot be both called and not called",
        ),
        ({"facts": {"pin": {"value": 7, "tell": "never"}}, "turns": [TURN]}, "is too short"),
        ({"kind": "model", "turns": []}, "a user that a model plays needs a runner"),
    ],
)  # fmt: skip
def test_a_user_that_could_not_work_is_refused(changes: dict[str, Any], words: str) -> None:
    assert any(words in each for each in problems(**changes)), problems(**changes)


def test_only_the_same_world_and_words_make_the_same_talk(stage: Stage) -> None:
    first, second = (json.dumps(stage.play(talking(), *TALK)["events"]) for _ in range(2))
    assert [json.loads(first)[n].get("message") for n in range(3)] == [
        json.loads(second)[n].get("message") for n in range(3)
    ]


async def test_a_user_whose_key_is_not_set_keeps_the_run_from_beginning(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv("NO_SUCH_KEY", raising=False)
    runner = {"kind": "openai-chat", "base_url": "http://127.0.0.1:1", "model": "m"}
    of = talking({**MODEL, "runner": {**runner, "api_key_env": "NO_SUCH_KEY"}})
    user = user_of(of)
    assert user is not None
    from reviewer.running.model import Unrunnable

    with pytest.raises(Unrunnable, match=r"\$\.user\.runner\.api_key_env"):
        EndpointUser(task(of), user)


def test_a_plan_of_a_script_may_speak_before_its_end(tmp_path: Path) -> None:
    plan = {"turns": [{}, {"messages": ["Done."]}]}
    bad = {"schema": "reviewer/script@1", "episodes": {"e-1": {"plans": {"only": plan}}}}
    made = scripted(tmp_path, bad)
    from reviewer.running.candidates import check_runnable
    from reviewer.running.model import Unrunnable

    with pytest.raises(Unrunnable, match="make a call or say something to the user"):
        check_runnable(made, tmp_path)
