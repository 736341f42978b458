"""What the tour says, and where. Words of our own: no text of a trace is in it."""

from typing import Literal, NamedTuple


class Step(NamedTuple):
    """One step. `screen` is where it belongs, `target` what it points at; it stands below that,
    after what that holds, inside at its lower edge, or above. `words` is what it says, with
    `{verb}` for a key. `does` is the action that the next-step key does, `acts` names acts of the
    person that end the step. A step that leads to another screen ends there."""

    screen: str
    target: str
    side: Literal["below", "after", "inside", "above"]
    words: str
    does: str = ""
    acts: tuple[str, ...] = ()


STEPS = (
    Step(
        "scorecard",
        "#grid",
        "after",
        "A line is an episode, a column a hard gate, a cell what the attempts did. Cells fill "
        "while attempts land, here or elsewhere. The arrows move, {move.left} {move.down} "
        "{move.up} {move.right} too.",
        acts=("move", "side"),
    ),
    Step(
        "scorecard",
        "#top",
        "below",
        "May this candidate be promoted? Line 3 answers: a glyph, a word, and its reasons by "
        "number. Press 1: the cursor stands on the evidence of reason 1.",
        "screen.numbered(1)",
        ("numbered", "red"),
    ),
    Step(
        "scorecard",
        "#grid",
        "after",
        "✗FAIL and ▲CRIT hold a release, whatever else is good; ○n/m was not measured, which is "
        "never good. Press Enter: the event behind the cell.",
        "screen.enter",
    ),
    Step(
        "trajectory",
        "#events",
        "inside",
        "What the agent did, event by event, and beside it the event whole. Below stand the "
        "clauses of its contract. Press {next}: the next finding.",
        "screen.finding(1)",
        ("finding",),
    ),
    Step(
        "trajectory",
        "#top",
        "below",
        "Esc goes back where you came from, with the cursor as it was. The capitals of line 1 lead "
        "anywhere. Press {screen.compare}: this candidate beside another.",
        "app.go('compare')",
    ),
    Step(
        "compare",
        "#episodes",
        "inside",
        "Episodes lost, gained, unchanged, and which evidence changed. Press {screen.label}: what "
        "people say of final messages.",
        "app.go('label')",
    ),
    Step(
        "label",
        "#foot",
        "above",
        "Blind: nothing here says whose message it is. A side and Enter are enough; leaving saves "
        "nothing. Press {screen.decision}: the report and the decision.",
        "app.go('decision')",
    ),
    Step(
        "decision",
        "#choices",
        "above",
        "The report as it will be signed, and three choices; PROMOTE stays closed while a reason "
        "stands. Enter would sign, with your SSH key. Press {screen.scorecard}: home again.",
        "app.go('scorecard')",
    ),
    Step(
        "scorecard",
        "#foot",
        "above",
        "The last line names the keys that act here; each is a button too. {help} explains the "
        "screen you are on, ctrl+p finds every act by its name. That was the tour.",
        acts=("explain", "command_palette"),
    ),
)
