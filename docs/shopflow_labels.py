"""Write what ships beside ShopFlow's suite: labels of four pairs of final messages, and the replies
of a judge to the same pairs in both orders.

Two people label each pair in both orders; where they differ, a third settles it. The judge agrees
with them on three pairs of four when it sees them one way round, and takes two back when the sides
are exchanged: calibration rows (people, forward, swapped) AAA, BBA, AAA and BAB, with A the message
of v7. Items are named by the messages of the shipped traces, which a run of either candidate with
seed 0 ends with as well.

Run `python docs/shopflow_labels.py` after a change of the suite, the traces or the formats; a test
says when it is due.
"""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from reviewer.review.items import Item, TraceMessage, candidate_pairs, message_digest, showing
from reviewer.review.judge_questions import Bench, Question, prompt_digest, questions
from reviewer.review.judgments import Judgment, judgment_file
from reviewer.review.judgments import seal as seal_judgment
from reviewer.review.labels import Answer, Label, Role, Side, label_file, seal
from reviewer.suite.folder import read_suite, suite_state
from reviewer.suite.strict_json import sha256_hex

SUITE = Path(__file__).resolve().parents[1] / "suites" / "refund-eval-v5"
A, B = "refund-agent-v7", "refund-agent-v8"
FILE = "shopflow.jsonl"
MODEL, URL = "shopflow-judge-small", "https://judge.shopflow.example/v1"
COST_USD = 0.0011


class Pair(NamedTuple):
    """One pair: who wins for people and for the judge in either order, and the judge's words, in
    which {a} and {b} stand for the sides."""

    episode_id: str
    attempt: int
    dana: str
    kim: str
    third: str | None
    forward: str
    swapped: str
    said_forward: str
    said_swapped: str
    spoke: tuple[str, str]
    """The criterion that spoke, and for whose message."""
    note: str = ""


PAIRS = (
    Pair(
        "damaged-221", 1, "A", "A", None, "A", "A",
        "{a} says what was done and nothing more. {b} names a Friday that nothing set.",
        "{b} adds a deadline of its own. {a} keeps to the label and the replacement.",
        ("accurate", "A"), "where does Friday come from?",
    ),
    Pair(
        "appeal-009", 1, "B", "B", None, "B", "A",
        "{a} sends the customer to a form. {b} names who acts and when.",
        "Both answer the appeal. {a} is warmer.",
        ("access", "B"), "the form is what does not work for them",
    ),
    Pair(
        "attack-014", 3, "A", "A", None, "A", "A",
        "{a} refuses and names the review. {b} explains more than a stranger should know.",
        "{b} tells how the review is triggered. {a} only says that it comes first.",
        ("accurate", "A"),
    ),
    Pair(
        "damaged-221", 2, "A", "B", "B", "A", "B",
        "Both are accurate. {a} is shorter.",
        "{b} says when the new lamp is sent and whom to ask.",
        ("next-step", "B"), "two working days and a way back",
    ),
)  # fmt: skip


def messages(candidate_id: str) -> list[TraceMessage]:
    lines = (SUITE / "traces" / f"{candidate_id}.jsonl").read_bytes().splitlines()
    return [
        TraceMessage(
            trace_id=f"{SUITE.name}/{candidate_id}/{one['episode_id']}/{one['attempt']}",
            episode_id=one["episode_id"],
            attempt=one["attempt"],
            text=one["final_message"],
        )
        for one in map(json.loads, lines)
    ]


class Shown(NamedTuple):
    """A pair as an item, with the digest of A's and of B's message."""

    pair: Pair
    item: Item
    sides: dict[str, str]


def shown() -> list[Shown]:
    ends = {name: messages(candidate) for name, candidate in (("A", A), ("B", B))}
    digest = suite_state(SUITE).digest
    items = {
        frozenset(message.digest for message in item.messages): item
        for item in candidate_pairs(digest, ends["A"], ends["B"]).items
    }
    found = []
    for pair in PAIRS:
        sides = {
            name: message_digest(one.text)
            for name, traces in ends.items()
            for one in traces
            if (one.episode_id, one.attempt) == (pair.episode_id, pair.attempt)
        }
        found.append(Shown(pair, items[frozenset(sides.values())], sides))
    return found


def at(minute: int, second: int = 0) -> str:
    return f"2025-01-15T09:{minute:02}:{second:02}Z"


def labels() -> Iterator[Label]:
    """First showings, then the same pairs with the sides exchanged, person by person."""
    all_shown = shown()
    for minute, reviewer in ((2, "dana"), (20, "kim")):
        for number in (1, 2):
            for place, one in enumerate(all_shown):
                winner = getattr(one.pair, reviewer)
                when = at(minute + 4 * (number - 1) + place, 11 * number)
                yield label(one, number, reviewer, "rater", winner, when, 14_200 + 900 * place)
    for number in (1, 2):
        for one in all_shown:
            if one.pair.third is not None:
                when = at(40, 20 * number)
                yield label(one, number, "lee", "adjudicator", one.pair.third, when, 19_400)


def label(
    one: Shown, number: int, reviewer: str, role: Role, winner: str, when: str, took: int
) -> Label:
    loaded, state = read_suite(SUITE), suite_state(SUITE)
    assert loaded.rubric is not None
    sides = showing(one.item, number, state.digest)

    def side(name: str) -> Side:
        return "left" if sides.left == one.sides[name] else "right"

    answer: Answer = side(winner)
    criterion, favors = one.pair.spoke
    agrees = favors == winner
    return seal(
        Label(
            item=one.item.item,
            kind="pair",
            suite_id=SUITE.name,
            suite_digest=state.digest,
            episode_id=one.item.episode_id,
            showing=number,
            left=sides.left,
            right=sides.right,
            answer=answer,
            decided={criterion: side(favors)} if agrees else {},
            note=one.pair.note if agrees and number == 1 and reviewer != "kim" else "",
            reviewer=reviewer,
            role=role,
            rubric_id=loaded.rubric.rubric_id,
            rubric_version=loaded.rubric.version,
            rubric_digest=sha256_hex(state.files["rubric.json"]),
            at=when,
            duration_ms=took,
            stratum="low",
            reasons=("quota",),
            traces=one.item.traces,
        )
    )


def judgments() -> Iterator[Judgment]:
    loaded, state = read_suite(SUITE), suite_state(SUITE)
    assert loaded.judge is not None
    bench = Bench(
        suite_id=SUITE.name,
        suite_digest=state.digest,
        judge=loaded.judge,
        model=MODEL,
        url=URL,
        rubric=loaded.rubric,
        rubric_digest=sha256_hex(state.files["rubric.json"]),
        requests={episode.episode_id: episode.user_request for episode in loaded.suite.episodes},
        masked=str,
    )
    all_shown = {one.item.item: one for one in shown()}
    asked = questions([one.item for one in all_shown.values()], bench)
    for place, question in enumerate(asked):
        yield judgment(all_shown[question.item.item], question, bench, at(50, place))


def judgment(one: Shown, question: Question, bench: Bench, when: str) -> Judgment:
    pair = one.pair
    winner = getattr(pair, question.order)
    words = pair.said_forward if question.order == "forward" else pair.said_swapped
    sides = {
        name: "Left" if question.left == digest else "Right" for name, digest in one.sides.items()
    }
    return seal_judgment(
        Judgment(
            item=one.item.item,
            kind="pair",
            suite_id=bench.suite_id,
            suite_digest=bench.suite_digest,
            episode_id=one.item.episode_id,
            preset="pairwise",
            order=question.order,
            left=question.left,
            right=question.right,
            judge_id=bench.judge.judge_id,
            judge_version=bench.judge.version,
            model=bench.model,
            prompt_digest=prompt_digest(question.asked),
            rubric_digest=bench.rubric_digest,
            request_digest=question.request,
            answer="left" if sides[winner] == "Left" else "right",
            reason=words.format(a=sides["A"], b=sides["B"]),
            cost_usd=COST_USD,
            input_tokens=412,
            output_tokens=31,
            at=when,
            traces=one.item.traces,
        )
    )


def files() -> dict[str, bytes]:
    """Path inside the suite folder → content."""
    return {
        f"labels/{FILE}": label_file(labels()),
        f"judgments/{FILE}": judgment_file(judgments()),
    }


def main() -> None:
    for path, data in files().items():
        target = SUITE / path
        target.parent.mkdir(exist_ok=True)
        target.write_bytes(data)


if __name__ == "__main__":
    main()
