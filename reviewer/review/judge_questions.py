"""The questions for a judge, each under the digest of everything that decides its reply, and their
estimated cost."""

import math
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from reviewer.review.items import Item, Message
from reviewer.review.judgments import KIND_OF, Order
from reviewer.running.prices import Prices, Usage, cost_usd
from reviewer.suite.rubric import JudgePrompt, JudgeQuestion, Rubric
from reviewer.suite.strict_json import canonical_bytes, sha256_hex

# Filling a judge's prompt: plain replacement, in one pass, of masked text only.
#
# Text written by others is put between two lines with a token that occurs in none of it, so that no
# message can end its own quotation, however the prompt delimits it.


NO_MESSAGE = "[no final message]"
NO_CRITERIA = "[none given]"
NO_OBSERVATION = "[none]"
MOST_OBSERVED = 48_000
"""Characters of all observations of one trace; a line counts those left out."""

_TOKEN = 16
_PLACES = re.compile(r"\{(user_request|criteria|left|right|message|observations)\}")


class Observation(NamedTuple):
    """The observation of a trace at one event; `text` is JSON or plain text."""

    seq: int
    tool: str
    status: str
    text: str


def prompt_digest(asked: JudgeQuestion) -> str:
    """Return sha256 of the prompt as it is frozen with the suite, before it is filled."""
    return sha256_hex(asked.prompt.encode())


def fence_token(item: str, texts: Collection[str]) -> str:
    """Return the token that ends every quotation about an item: always the same, and in none of
    `texts`. It is computed from the item's name, which is a digest of the messages: no message can
    contain its own token."""
    number = 0
    while True:
        token = sha256_hex(f"fence {number} {item}".encode())[:_TOKEN]
        if not any(token in text for text in texts):
            return token
        number += 1


def fenced(text: str, token: str) -> str:
    """Return the text as a quotation that only `token` ends."""
    return f"[quoted text {token} begins]\n{text}\n[quoted text {token} ends]"


def fill(prompt: str, values: Mapping[str, str]) -> str:
    """Return the prompt with each {place} that `values` names replaced. Inserted text is not
    scanned again, so a message that spells a place stays as it is; every other brace is text."""
    return _PLACES.sub(lambda found: values.get(found[1], found[0]), prompt)


def criteria_text(rubric: Rubric | None) -> str:
    """Return the rubric's questions, one per line, with the descriptions of both ends of the
    scale."""
    lines = []
    for criterion in rubric.criteria if rubric else ():
        ends = [
            f"{name}: {end}"
            for name, end in (("weak", criterion.weak), ("strong", criterion.strong))
            if end
        ]
        tail = f" ({'; '.join(ends)})" if ends else ""
        lines.append(f"- {criterion.title}: {criterion.asks}{tail}")
    return "\n".join(lines) or NO_CRITERIA


def observations_text(observed: Iterable[Observation]) -> tuple[str, tuple[int, ...]]:
    """Return the observations of a trace, one event per line, and the numbers of the events that
    are shown; "" without any."""
    lines: list[str] = []
    shown: list[int] = []
    left_out = size = 0
    for one in observed:
        said = "\\n".join(one.text.splitlines())  # no line of it can begin like an event
        line = f"[event {one.seq}] {one.tool} ({one.status}): {said}"
        size += len(line)
        if size > MOST_OBSERVED:
            left_out += 1
        else:
            lines.append(line)
            shown.append(one.seq)
    if left_out:
        lines.append(f"[{left_out} further observations are left out]")
    return "\n".join(lines), tuple(shown)


BYTES_PER_TOKEN = 4
"""The rough rule behind every estimate: four bytes of UTF-8 per token."""

Observe = Callable[[str], Sequence[Observation]]
"""The observations of a trace, by its id."""


class Bench(NamedTuple):
    """The settings that all questions of one judge on one suite share. `masked` removes identifiers
    from a text: every text in a prompt passes through it. `requests` are the users' words by
    episode."""

    suite_id: str
    suite_digest: str
    judge: JudgePrompt
    model: str
    url: str
    rubric: Rubric | None
    rubric_digest: str | None
    requests: Mapping[str, str]
    masked: Callable[[str], str]


class Question(NamedTuple):
    """One call. `left`, `right` and `message` are digests; `shown` has the numbers of the events of
    `trace` that a claim may name; `request` is the digest of everything that decides the reply, and
    of its subject."""

    item: Item
    asked: JudgeQuestion
    order: Order
    repeat: int
    left: str | None
    right: str | None
    message: str | None
    trace: str | None
    shown: tuple[int, ...]
    prompt: str
    request: str


class Estimate(NamedTuple):
    """`input_tokens` by the rough rule; `cost_usd` with every reply at its maximum length, None
    without prices."""

    calls: int
    input_tokens: int
    cost_usd: float | None


def questions(
    items: Iterable[Item], bench: Bench, repeats: int = 1, observe: Observe = lambda trace: ()
) -> Iterator[Question]:
    """Yield every call that is needed to judge these items: pairs in both orders, messages once for
    each further question, faithfulness for each trace, all `repeats` times. An item about which
    nothing is asked yields none."""
    for item in items:
        for asked in bench.judge.asks:
            if KIND_OF[asked.preset] != item.kind:
                continue
            for repeat in range(1, repeats + 1):
                if item.kind == "pair":
                    yield from _pair(item, asked, repeat, bench)
                else:
                    yield from _message(item, asked, repeat, bench, observe)


def estimate(asked: Sequence[Question], judge: JudgePrompt, prices: Prices) -> Estimate:
    """Estimate the tokens and the cost of these calls."""
    tokens = sum(math.ceil(len(q.prompt.encode()) / BYTES_PER_TOKEN) for q in asked)
    usage = Usage(tokens, judge.max_tokens * len(asked))
    return Estimate(len(asked), tokens, cost_usd(usage, prices))


def _pair(item: Item, asked: JudgeQuestion, repeat: int, bench: Bench) -> Iterator[Question]:
    low, high = item.messages
    orders: tuple[tuple[Order, Message, Message], ...] = (
        ("forward", low, high),
        ("swapped", high, low),
    )
    for order, left, right in orders:
        texts = {"left": bench.masked(left.text), "right": bench.masked(right.text)}
        yield _question(
            item, asked, order, repeat, bench, texts, left=left.digest, right=right.digest
        )


def _message(
    item: Item, asked: JudgeQuestion, repeat: int, bench: Bench, observe: Observe
) -> Iterator[Question]:
    (message,) = item.messages
    texts = {"message": bench.masked(message.text)}
    if asked.preset != "faithfulness":
        yield _question(item, asked, "single", repeat, bench, texts, message=message.digest)
        return
    for trace in message.traces:
        seen = [one._replace(text=bench.masked(one.text)) for one in observe(trace)]
        texts["observations"], shown = observations_text(seen)
        yield _question(
            item, asked, "single", repeat, bench, texts,
            message=message.digest, trace=trace, shown=shown,
        )  # fmt: skip


def _question(
    item: Item,
    asked: JudgeQuestion,
    order: Order,
    repeat: int,
    bench: Bench,
    texts: Mapping[str, str],
    left: str | None = None,
    right: str | None = None,
    message: str | None = None,
    trace: str | None = None,
    shown: tuple[int, ...] = (),
) -> Question:
    prompt = fill(asked.prompt, _values(item, bench, texts))
    decides = {
        "url": bench.url,
        "model": bench.model,
        "prompt": prompt,
        "temperature": bench.judge.temperature,
        "max_tokens": bench.judge.max_tokens,
        "repeat": repeat,
        "about": [item.item, trace],
    }
    request = sha256_hex(canonical_bytes(decides, "request"))
    return Question(item, asked, order, repeat, left, right, message, trace, shown, prompt, request)


def _values(item: Item, bench: Bench, texts: Mapping[str, str]) -> dict[str, str]:
    """Return the values for the places of a prompt: `texts` of others, masked, each quoted. The
    note for a missing text is outside the quotation, where no message can write it."""
    others = {"user_request": bench.masked(bench.requests.get(item.episode_id, "")), **texts}
    token = fence_token(item.item, others.values())
    absent = {"user_request": "", "observations": NO_OBSERVATION}
    values = {
        place: fenced(text, token) if text else absent.get(place, NO_MESSAGE)
        for place, text in others.items()
    }
    return {**values, "criteria": bench.masked(criteria_text(bench.rubric))}
