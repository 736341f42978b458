"""A person plays the user of an episode: what is asked, recorded, and counted against it."""

from typing import Any

import pytest
from run_builders import Stage, call, said
from test_run_talk import asks, faults, spoken, talking

from reviewer.running.model import Approval, ApprovalRequest, PersonTurn, Turn, TurnRequest
from reviewer.running.talk.talk import talk_of
from reviewer.suite.border import faults_of
from reviewer.suite.check import episode_problems
from reviewer.suite.model import Episode

PERSON: dict[str, Any] = {
    "kind": "person",
    "goals": [{"id": "cancel", "asks": "cancel the booking", "words": ["cancel"]}],
    "facts": {
        "user_id": {"value": "mia_12"},
        "card": {"value": "4929", "tell": "never"},
    },
    "persona": "Mia, in a hurry.",
    "end": {"max_turns": 3},
}


class Typist:
    """A person who says these turns, and then leaves; `asked` are the requests."""

    def __init__(self, *turns: PersonTurn | None) -> None:
        self.turns, self.asked = list(turns), list[TurnRequest]()

    async def ask(self, request: ApprovalRequest) -> Approval:
        return Approval(False, "person")

    async def speak(self, request: TurnRequest) -> PersonTurn | None:
        self.asked.append(request)
        return self.turns.pop(0) if self.turns else None


@pytest.fixture
def stage(monkeypatch: pytest.MonkeyPatch) -> Stage:
    return Stage(monkeypatch)


CANCEL = Turn((call("cancel"),))
BYE = PersonTurn("Thanks, cancel is all.", "user_stop")


def test_a_persons_turns_are_the_users(stage: Stage) -> None:
    mia = Typist(PersonTurn(" It is mia_12, cancel it. "), BYE)
    record = stage.play(
        talking(PERSON), asks("What is your user id?"), CANCEL, asks("Done."), approver=mia
    )
    assert record["termination"] == "user_stop"
    assert record["source"]["user"]["kind"] == "person"
    assert record["source"]["user"]["messages"] == 2
    assert faults(record) == []
    assert "simulated_user" not in record["source"]
    assert spoken(record) == [
        ("agent", "What is your user id?"),
        ("user", "It is mia_12, cancel it."),
        ("agent", "Done."),
        ("user", "Thanks, cancel is all."),
    ]
    first, second = mia.asked
    assert first.talk[-1] == (True, "What is your user id?")
    assert second.talk[-2:] == ((False, "It is mia_12, cancel it."), (True, "Done."))
    assert (first.left, second.left) == (3, 2)
    assert first.user.persona == "Mia, in a hurry."


def test_a_person_begins_where_there_is_no_request(stage: Stage) -> None:
    mia = Typist(PersonTurn("Please cancel it."), BYE)
    record = stage.play(talking(PERSON, user_request=""), CANCEL, asks("Done."), approver=mia)
    assert mia.asked[0].talk == ()
    assert spoken(record)[0] == ("user", "Please cancel it.")
    assert record["termination"] == "user_stop"


@pytest.mark.parametrize("there", [True, False])
def test_a_person_who_leaves_spoils_the_attempt(stage: Stage, there: bool) -> None:
    record = stage.play(
        talking(PERSON), asks("What is your user id?"), approver=Typist() if there else None
    )
    assert record["termination"] == "user_error"
    assert faults(record) == [("user:fault", "hindered")]


def test_a_person_who_gives_up_ends_the_talk(stage: Stage) -> None:
    gone = Typist(PersonTurn(None, "user_gave_up"))
    record = stage.play(talking(PERSON), asks("What is your user id?"), approver=gone)
    assert record["termination"] == "user_gave_up"
    assert faults(record) == []


@pytest.mark.parametrize(
    ("turn", "code"),
    [
        (PersonTurn("My card is 4929."), "user:revealed:card"),
        (PersonTurn("Booking QX7781."), "user:invented"),
        (PersonTurn("How may I help you?"), "user:spoke_as_agent"),
        (PersonTurn("Bye.", "user_stop"), "user:dropped:cancel"),
    ],
)
def test_the_same_errors_are_counted(stage: Stage, turn: PersonTurn, code: str) -> None:
    record = stage.play(
        talking(PERSON), asks("What is it?"), CANCEL, said("Done."), approver=Typist(turn)
    )
    assert code in [found for found, _ in faults(record)]
    assert record["termination"] == "user_error"


def test_the_persons_time_is_not_the_agents(stage: Stage) -> None:
    class Slow(Typist):
        async def speak(self, request: TurnRequest) -> PersonTurn | None:
            await meters[-1].clock.let_pass(1_500.0)
            return await super().speak(request)

    meters: list[Any] = []
    kept = talk_of

    def watched(task: Any, meter: Any, *rest: Any) -> Any:
        meters.append(meter)
        return kept(task, meter, *rest)

    stage._monkeypatch.setattr("reviewer.running.attempt.talk_of", watched)
    slow = Slow(PersonTurn("It is mia_12, cancel it."), BYE)
    record = stage.play(
        talking(PERSON, budget={"max_latency_ms": 2_000}),
        asks("What is your user id?"), CANCEL, asks("Done."), approver=slow,
    )  # fmt: skip
    assert record["termination"] == "user_stop"
    assert record["latency_ms"] < 2_000  # of the 3,000 that passed while the person thought


@pytest.mark.parametrize(
    ("more", "reason"),
    [
        ({"goals": []}, "a user that a person plays needs goals"),
        ({"turns": [{"id": "a", "say": "b"}]}, "turns does not apply to a user of this kind"),
        ({"prices": {"input_usd_per_mtok": 1, "output_usd_per_mtok": 1}}, "prices does not apply"),
    ],
)
def test_what_a_person_cannot_have_is_refused(more: dict[str, Any], reason: str) -> None:
    told = {"schema": "reviewer/episode@1", "episode_id": "e", "user": {**PERSON, **more}}
    assert any(reason in fault.reason for fault in faults_of(told, Episode))


def test_a_person_needs_nothing_else() -> None:
    assert list(episode_problems(talking(PERSON, user_request=""))) == []
