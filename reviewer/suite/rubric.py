"""The shapes of rubric.json, by which people judge final messages, and of judge.json, the prompt of
an LLM judge."""

from collections.abc import Iterable, Set
from typing import Annotated, ClassVar, Literal

from reviewer.suite.errors import shown
from reviewer.suite.fields import (
    Amount,
    Count,
    Id,
    Ids,
    Limits,
    Positive,
    Text,
    Texts,
    repeated,
)
from reviewer.suite.value import Value, learned

Scale = Literal["binary", "five", "levels"]
Preset = Literal["pairwise", "correctness-completeness-relevance", "completion", "faithfulness"]

PAIR = ("{user_request}", "{left}", "{right}")
MESSAGE = ("{user_request}", "{message}")
PLACES: dict[Preset, tuple[str, ...]] = {
    "pairwise": PAIR,
    "correctness-completeness-relevance": MESSAGE,
    "completion": MESSAGE,
    "faithfulness": (*MESSAGE, "{observations}"),
}
"""The places that a prompt of each preset must have; {criteria} may be in any."""

_ALL = tuple(dict.fromkeys(place for places in PLACES.values() for place in places))


class Level(Value, frozen=True):
    value: Annotated[int, Limits(ge=1, le=9), "The digit that a reviewer presses."]
    label: Annotated[Text, "What it means."]


class Criterion(Value, frozen=True):
    """One question. Levels: two of `binary`, the anchored ones of `five`, all of `levels`.

    `weight` is shown beside a criterion's figures; nothing is ever summed by it.
    """

    criterion_id: Annotated[Id, "The criterion's id, once per rubric."]
    title: Annotated[Text, "Its name, to show."]
    asks: Annotated[Text, "The question, in a line."]
    scale: Annotated[
        Scale,
        "`binary` (1 is yes, 2 is no), `five` (1 to 5) or `levels` (1, 2, 3… each named, best "
        "last).",
    ]
    levels: Annotated[
        tuple[Level, ...],
        Limits(min_length=2),
        "The levels that have a label. Of scale `five` only these anchors need one.",
    ]
    weak: Annotated[str, "What the weak end looks like when two messages are compared."] = ""
    strong: Annotated[str, "What the strong end looks like then."] = ""
    required: Annotated[
        bool, "Whether a pair is labeled only with the side this criterion spoke for."
    ] = False
    weight: Annotated[Amount | None, "A weight, shown and never summed by. Null: none."] = None

    def problem(self, given: Set[str]) -> str | None:
        values = [level.value for level in self.levels]
        if values != sorted(set(values)):
            return "levels must increase, with no value twice"
        if self.scale == "binary" and values != [1, 2]:
            return "a binary criterion must have exactly the levels 1 and 2"
        if self.scale == "five" and (values[0] != 1 or values[-1] != 5):
            return (
                "a criterion of scale five must label at least 1 and 5, and nothing outside 1 to 5"
            )
        if self.scale == "levels" and values != list(range(1, len(values) + 1)):
            return "named levels must be numbered 1, 2, 3 without a gap"
        return None


def levels_of(criterion: Criterion) -> range:
    """Return the possible levels: for scale `five` also those without an anchor."""
    return range(1, 6 if criterion.scale == "five" else len(criterion.levels) + 1)


_NO = frozenset(("no", "false", "fail", "fails", "bad", "wrong", "does not pass", "not met"))
_YES = frozenset(("yes", "true", "pass", "passes", "good", "right", "ok", "met"))


def good_levels(criterion: Criterion) -> frozenset[int]:
    """Return the levels that speak for a message: those above the middle of a scale; for a binary
    criterion 1, which is yes, unless its labels say that 1 is no and 2 is yes."""
    levels = levels_of(criterion)
    if criterion.scale == "binary":
        first, second = (level.label.strip().casefold() for level in criterion.levels)
        return frozenset((2,) if first in _NO and second in _YES else (1,))
    return frozenset(level for level in levels if 2 * level > levels[0] + levels[-1])


class Wording(Value, frozen=True):
    """Policy-required wording: what a final message says and what it never says.

    `episodes` absent applies it to every episode of the suite.
    """

    wording_id: Annotated[Id, "The wording's id, once per rubric."]
    says: Annotated[Texts, "Phrases that a final message says, each of them."] = ()
    never: Annotated[Texts, "Phrases that it never says."] = ()
    episodes: Annotated[
        Annotated[Ids, Limits(min_length=1)] | None,
        "The episodes whose messages it holds for. Null: every episode.",
    ] = None

    def problem(self, given: Set[str]) -> str | None:
        if not self.says and not self.never:
            return "requires nothing; name a phrase in says or in never"
        blank = [text for text in (*self.says, *self.never) if not any(map(str.isalnum, text))]
        if blank:
            return f"`{shown(blank[0])}` has no word to search for"
        if both := sorted(_folded(self.says) & _folded(self.never)):
            return f"`{shown(both[0])}` is both wanted and refused"
        return None


class Rubric(Value, frozen=True):
    """How people judge final messages, alone and in blind pairs."""

    SCHEMA: ClassVar[str] = "reviewer/rubric@1"

    rubric_id: Annotated[Id, "The rubric's id."]
    version: Annotated[Text, "Its version. Labels name both."]
    criteria: Annotated[tuple[Criterion, ...], Limits(min_length=1, max_length=9), "The questions."]
    final_messages: Annotated[Count, "How many final messages are to be labeled at least."] = 0
    both_orders: Annotated[bool, "Whether pairs are shown in both orders."] = True
    wording: Annotated[
        tuple[Wording, ...], "What the policy requires messages to say and never to say."
    ] = ()

    def problem(self, given: Set[str]) -> str | None:
        return repeated(criterion.criterion_id for criterion in self.criteria) or repeated(
            wording.wording_id for wording in self.wording
        )


class JudgeQuestion(Value, frozen=True):
    """A further thing the judge is asked."""

    preset: Annotated[Preset, "What the prompt asks about, and on which scale it is answered."]
    prompt: Annotated[Text, "Text with places in braces, which are filled by plain replacement."]

    def problem(self, given: Set[str]) -> str | None:
        return _misplaced(self.preset, self.prompt)


class JudgePrompt(Value, frozen=True, kw_only=True):
    """judge.json: what an LLM judge is asked about final messages.

    `preset` says what `prompt` asks about and on which scale: `pairwise` two messages (left, right
    or tie); of one message `correctness-completeness-relevance` (0 to 5 each), `completion` (0 to
    10; from 7 it is complete) or `faithfulness` (each claim with the event that grounds it).
    """

    SCHEMA: ClassVar[str] = "reviewer/judge@1"

    judge_id: Annotated[
        Id, "The judge's id. Its role follows from calibration; it is never declared here."
    ]
    version: Annotated[Text, "Its version."]
    preset: Annotated[Preset, "What `prompt` asks about, and on which scale it is answered."] = (
        "pairwise"
    )
    prompt: Annotated[
        Text,
        "Text with places such as {user_request}, {criteria}, {left} and {right}, which are filled "
        "by plain replacement; every other brace is text.",
    ]
    also: Annotated[
        tuple[JudgeQuestion, ...],
        "What the judge is asked besides `prompt`, each preset at most once.",
    ] = ()
    model: Annotated[str, "The one model that may be asked. Empty: the caller names one."] = ""
    temperature: Annotated[Amount, "Sent as it is."] = 0.0
    max_tokens: Annotated[Positive, "Sent as it is."] = 512

    def problem(self, given: Set[str]) -> str | None:
        return _misplaced(self.preset, self.prompt) or repeated(
            [self.preset, *(asked.preset for asked in self.also)]
        )

    @property
    def asks(self) -> tuple[JudgeQuestion, ...]:
        """Everything it is asked, in the file's order."""
        return (JudgeQuestion(preset=self.preset, prompt=self.prompt), *self.also)


def _misplaced(preset: Preset, prompt: str) -> str | None:
    wanted = PLACES[preset]
    absent = [place for place in wanted if place not in prompt]
    if absent:
        return f"the prompt has no place for {', '.join(absent)}"
    empty = [place for place in _ALL if place not in wanted and place in prompt]
    if empty:
        return f"nothing is put in place of {', '.join(empty)} by preset `{preset}`"
    return None


def _folded(texts: Iterable[str]) -> set[str]:
    return {" ".join(text.casefold().split()) for text in texts}


learned(Rubric, JudgePrompt)
