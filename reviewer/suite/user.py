# ruff: noqa: RUF012 (msgspec gives each instance its own copy of an empty default)
"""The shape of an episode's user: who answers the agent when it says something and calls no tool.

A scripted user says the first of its turns whose conditions hold; a model or a person is told
goals and facts.
Neither is shown a tool of the agent, an answer of one, the policy or what the contract expects. A
user may have tools of its own, which act on the same world as those of the agent.
"""

import re
from collections.abc import Set
from typing import Annotated, Any, ClassVar, Literal

from reviewer.suite.fields import (
    Amount,
    Check,
    Count,
    File,
    Limits,
    Name,
    Names,
    Positive,
    Text,
    Wordings,
    WordingText,
    repeated,
)
from reviewer.suite.simulator import SimulatedTool, State
from reviewer.suite.value import Value

MOST_TURNS = 50
"""The most that a user may say in one attempt."""

MOST_CALLS = 16
"""The most calls of its own tools that a user may make before it answers one message."""

USER_ENDS = "end_conversation"
"""The tool by which a user that a model plays ends the talk."""

_PLACE = re.compile(r"\{([A-Za-z_][A-Za-z0-9_]*)\}")


def facts_in(text: str) -> list[str]:
    """Return the names of the facts and tools that a text has a place for (`{name}`), in order."""
    return _PLACE.findall(text)


def filled(text: str, facts: dict[str, Any]) -> str:
    """Return a text with the values of these facts in their places; other places stay."""
    return _PLACE.sub(lambda place: str(facts.get(place[1], place[0])), text)


class Fact(Value, frozen=True):
    """Something that the user knows, or believes (`claim`)."""

    value: Annotated[str | int | float | bool, "The value, as the user says it."]
    tell: Annotated[
        Literal["freely", "asked", "never"],
        "When the user may say it: at any time, once the agent has asked, or not at all.",
    ] = "asked"
    asked_by: Annotated[
        Wordings,
        "Wordings by which the agent asks for it. Empty: the fact's name, with spaces for `_`.",
    ] = ()
    claim: Annotated[bool, "Whether the user only believes it: the world may say otherwise."] = (
        False
    )


class Goal(Value, frozen=True):
    """Something that the user wants done."""

    id: Annotated[Name, "The name by which turns say that they voice the goal."]
    asks: Annotated[Text, "What the user wants, in words."]
    words: Annotated[
        Wordings, "Wordings of which one must be used for the goal to be voiced (for a model)."
    ] = ()


class UserTool(SimulatedTool, frozen=True, kw_only=True):
    """A tool of the user's own: its calls act on the world of the episode, and are the user's."""

    asked_by: Annotated[
        Wordings,
        "Wordings by which the agent asks for a call of it. A user that a model plays and that "
        "calls it before the agent has used one makes an error. Empty: it may call it unasked.",
    ] = ()


class UserCall(Value, frozen=True):
    """A call that a scripted user makes."""

    tool: Annotated[Name, "One of the user's own tools."]
    arguments: Annotated[dict[str, Any], "Its arguments."] = {}


class Condition(Value, frozen=True):
    """When a scripted turn is said. Everything that is given must hold."""

    asks: Annotated[
        Wordings, "One of these wordings is in a question or a request of the agent's last message."
    ] = ()
    says: Annotated[Wordings, "One of these wordings is in the agent's last message."] = ()
    never_says: Annotated[Wordings, "None of these wordings is in any message of the agent."] = ()
    called: Annotated[Names, "Each of these tools has been called, and answered."] = ()
    not_called: Annotated[Names, "None of these tools has been called and answered."] = ()
    state: Annotated[State | None, "Dotted path of the state → the value that is there."] = None
    after: Annotated[Name | None, "The turn with this id has been said."] = None
    saw: Annotated[
        dict[Name, WordingText],
        "Tool of the user → a wording that is in the answer to its last call of it.",
    ] = {}

    def problem(self, given: Set[str]) -> str | None:
        if both := sorted(set(self.called) & set(self.not_called)):
            return f"`{both[0]}` cannot be both called and not called"
        return None


class UserTurn(Value, frozen=True, kw_only=True):
    """Something that a scripted user says, once or `times` times."""

    id: Annotated[Name, "The turn's name, by which others come after it."]
    when: Annotated[Condition | None, "When it is said. Null: whenever it is reached."] = None
    calls: Annotated[
        tuple[UserCall, ...],
        Limits(max_length=MOST_CALLS),
        "Calls of the user's own tools, made before anything is said.",
    ] = ()
    say: Annotated[
        WordingText | None,
        "What is said; `{fact}` stands for the value of a fact, `{tool}` for the answer to the "
        "user's last call of a tool. Null: nothing; after its calls the next turn that fits is "
        "taken.",
    ] = None
    goals: Annotated[Names, "The goals that it voices."] = ()
    times: Annotated[Positive, Limits(le=MOST_TURNS), "How often it may be said."] = 1
    end: Annotated[
        Literal["satisfied"] | None,
        "`satisfied`: the user ends the talk with it. Not for an answer to a question, since the "
        "agent could not act on the answer.",
    ] = None

    def problem(self, given: Set[str]) -> str | None:
        if self.say is None:
            if not self.calls:
                return "must say something or make a call"
            if self.end is not None or self.goals:
                return "says nothing, so it can neither end the talk nor voice a goal"
        if self.end is not None and self.when is not None and self.when.asks:
            return (
                "ends the talk with the answer to a question, on which the agent could not act: "
                "end with a later turn"
            )
        return None


class Otherwise(Value, frozen=True):
    """What a scripted user says when no turn fits; then the user gives up."""

    say: Annotated[WordingText, "What is said."]
    times: Annotated[Count, Limits(le=MOST_TURNS), "How often, before the user gives up."] = 3
    then: Annotated[Literal["gives_up"], "What the user does then."] = "gives_up"


class TalkEnd(Value, frozen=True):
    """What ends the talk, besides the user."""

    max_turns: Annotated[
        Positive,
        Limits(le=MOST_TURNS),
        "Most messages of the user after the first. An attempt that needs more fails.",
    ] = 10
    on_tool: Annotated[
        Names, "Tools that hand over: a call of one of these that goes well ends the talk."
    ] = ()
    on_final_after: Annotated[
        Names, "Turns after which the agent's next message to the user is its last."
    ] = ()


class UserRunner(Value, frozen=True, kw_only=True):
    """The model behind a simulated user: an OpenAI-compatible endpoint."""

    kind: Annotated[Literal["openai-chat"], "How the model is asked."]
    base_url: Annotated[Text, "Where it is, up to `/chat/completions`."]
    model: Annotated[Text, "Its name."]
    temperature: Annotated[float, Limits(ge=0, le=2), "How much its answers vary."] = 0.0
    seed: Annotated[int | None, "The seed that the endpoint is sent. Null: none."] = None
    api_key_env: Annotated[Text | None, "The environment variable that holds the key."] = None
    max_tokens: Annotated[Positive, "The most tokens of one answer."] = 500
    timeout_s: Annotated[float, Limits(gt=0, le=600), "Seconds to wait for an answer."] = 120.0
    prompt: Annotated[
        Text | None,
        "The prompt, in place of ours; `{goals}`, `{facts}`, `{persona}` and `{style}` are filled.",
    ] = None


class UserPrices(Value, frozen=True, kw_only=True):
    """What the model behind a simulated user costs, in USD per million tokens."""

    input_usd_per_mtok: Annotated[Amount, "Input."]
    output_usd_per_mtok: Annotated[Amount, "Output."]


def _one_of_each(items: list[Any]) -> str | None:
    return repeated([item.id for item in items])


_OF_A_SCRIPT = frozenset({"turns", "otherwise"})
_OF_A_ROLE = frozenset({"persona", "style"})
_OF_A_MODEL = _OF_A_ROLE | {"runner", "prices"}


class User(Value, frozen=True, kw_only=True):
    """Who answers the agent in an episode. Without one, the agent's first message without a call
    is its last."""

    ORDER: ClassVar[str] = "kind facts goals tools turns otherwise end persona style runner prices"

    kind: Annotated[
        Literal["scripted", "model", "person"],
        "`scripted`: says its turns. `model`: a language model plays it. `person`: the person who "
        "runs the episode in the workstation plays it.",
    ]
    facts: Annotated[dict[Name, Fact], "What the user knows: name → fact."] = {}
    goals: Annotated[tuple[Goal, ...], Check(_one_of_each), "What the user wants done."] = ()
    # Plain values, as a simulated world reads them.
    tools: Annotated[
        dict[str, dict[str, Any]],
        File(dict[Name, UserTool]),
        "Tools of the user's own (not for a person): name → simulated tool. They act on the same "
        "state as the agent's, which is not offered them and may not call them.",
    ] = {}
    turns: Annotated[
        tuple[UserTurn, ...],
        Check(_one_of_each),
        "What a scripted user says: the first turn that fits.",
    ] = ()
    otherwise: Annotated[
        Otherwise | None, "What a scripted user says when no turn fits. Null: it gives up at once."
    ] = None
    end: Annotated[TalkEnd, "What else ends the talk."] = TalkEnd()
    persona: Annotated[Text | None, "Who the user is (for a model or a person)."] = None
    style: Annotated[Text | None, "How the user talks (for a model or a person)."] = None
    runner: Annotated[UserRunner | None, "The model that plays the user."] = None
    prices: Annotated[UserPrices | None, "What that model costs. Null: its cost is not known."] = (
        None
    )

    def problem(self, given: Set[str]) -> str | None:
        strange = given & (_OF_A_SCRIPT | _OF_A_MODEL)
        if self.kind == "scripted":
            strange -= _OF_A_SCRIPT
            if not self.turns:
                return "a scripted user needs turns"
        if self.kind == "model":
            strange -= _OF_A_MODEL
            if self.runner is None:
                return "a user that a model plays needs a runner"
            if not self.goals:
                return "a user that a model plays needs goals"
        if self.kind == "person":
            strange -= _OF_A_ROLE
            if not self.goals:
                return "a user that a person plays needs goals"
            if self.tools:
                return "a person has no tools: they are for a user that a script or a model plays"
        return f"{sorted(strange)[0]} does not apply to a user of this kind" if strange else None
