"""The text scores of a candidate's final messages, gathered from the store as plain values.

Payloads are opened only for episodes that name a reference message or a wanted phrase.
"""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from msgspec import structs

from reviewer.db.connection import Connection
from reviewer.db.queries.attempts import reviewable_traces_in
from reviewer.desk.errors import DeskError
from reviewer.desk.labels.items import side_of
from reviewer.desk.suites import ReadySuite
from reviewer.desk.traces.records import FinalMessages
from reviewer.exit_codes import ExitCode
from reviewer.report.opinions import PhraseCount, TextEvidence, TextScore
from reviewer.review.wording import compare_texts
from reviewer.suite.model import RedactionRules
from reviewer.suite.strict_json import canonical_bytes, sha256_hex
from reviewer.suite.wording import LONGEST, phrase_use

FILES = ("config.json", "model.safetensors", "tokenizer.json")
UNNAMED = (
    "no embedding model is named: "
    "--embedding-model DIR, with pip install release-reviewer[embeddings]"
)
UNINSTALLED = "the extra is not installed: pip install release-reviewer[embeddings]"
DIGITS = 4
"""Digits of a similarity: the last bits of a vector depend on the processor."""


class NotInstalled(Exception):
    """The extra is not installed; the text says how to install it."""


class Model(NamedTuple):
    """A static model. `sha256` is that of the digests of its files."""

    name: str
    sha256: str
    encode: Any

    def likeness(self, pairs: Sequence[tuple[str, str]]) -> list[float | None]:
        """Return the cosine of each pair, clipped to 0 to 1; None where a text contains no word
        that the model knows."""
        import numpy as np

        places = {
            text: n for n, text in enumerate(dict.fromkeys(t for pair in pairs for t in pair))
        }
        if not places:
            return []
        rows = np.asarray(self.encode(list(places), max_length=None), dtype=np.float64)
        norms = np.linalg.norm(rows, axis=1)
        found: list[float | None] = []
        for a, b in ((places[a], places[b]) for a, b in pairs):
            if not (norms[a] and norms[b]):
                found.append(None)
                continue
            cosine = float(rows[a] @ rows[b] / (norms[a] * norms[b]))
            found.append(round(min(1.0, max(0.0, cosine)), DIGITS))
        return found


def open_model(path: str) -> Model:
    """Open the model in a local folder. Raises NotInstalled, and DeskError for a folder without
    such a model."""
    folder = Path(path).expanduser()
    absent = [name for name in FILES if not (folder / name).is_file()]
    if absent:
        raise DeskError(
            f"--embedding-model {path}: no static model is in this folder: {absent[0]} is missing",
            "a model2vec model saved to a folder, such as potion-base-8M",
            exit_code=ExitCode.USAGE,
        )
    try:
        from model2vec import StaticModel
    except ImportError:
        raise NotInstalled(UNINSTALLED) from None
    digests = {name: sha256_hex((folder / name).read_bytes()) for name in FILES}
    try:
        model = StaticModel.from_pretrained(folder)
    except Exception as error:  # a library may raise anything on a damaged file
        raise DeskError(
            f"--embedding-model {path}: cannot be read as a static model ({type(error).__name__})",
            "name the folder of a model2vec model, with its model.safetensors and tokenizer.json",
        ) from error
    from reviewer.trace.redaction import redactor_of

    name = redactor_of(RedactionRules()).masked(folder.resolve().name)
    return Model(name, sha256_hex(canonical_bytes(digests)), model.encode)


MOST_CHECKED = 5_000
"""Most messages that a report scores; the first ones where there are more."""
NO_REFERENCE = "no episode names a reference message"
NO_MESSAGE = "no episode with a reference has a message"


class _ReferencePair(NamedTuple):
    """One message and the reference of its episode; `message` is "" for a trace without one."""

    message: str
    reference: str


def text_evidence(
    connection: Connection,
    held: ReadySuite,
    candidate_id: str,
    finals: FinalMessages,
    model: str = "",
) -> TextEvidence | None:
    """Score the final messages of one candidate; None when no episode names a text. `model` is the
    folder of an embedding model.

    Raises DeskError when the candidate has no trace or the folder contains no model, StoreError for
    a damaged payload.
    """
    expected = {e.episode_id: e.expected for e in held.suite.episodes if e.expected.names_text}
    if not expected:
        return None
    side = side_of(connection, held.suite.suite_id, candidate_id)
    keys = [key for key, name in side.names.items() if name in expected]
    traces = reviewable_traces_in(connection, side.key, keys, MOST_CHECKED + 1)
    partly = len(traces) > MOST_CHECKED
    traces = traces[:MOST_CHECKED]
    texts = finals.of(connection, traces)
    said: dict[str, list[str | None]] = {name: [] for name in expected}
    for trace in traces:
        known = texts[trace.id] or "" if trace.id in texts else None
        said[side.names[trace.episode]].append(known)
    ended = [
        _ReferencePair(message, wanted.message_reference)
        for name, wanted in expected.items()
        for message in said[name]
        if message is not None and wanted.message_reference is not None
    ]
    why = NO_MESSAGE
    if all(wanted.message_reference is None for wanted in expected.values()):
        why = NO_REFERENCE
    checks = {one: compare_texts(*one) for one in dict.fromkeys(ended)}
    found = TextEvidence(
        exact=_mean([float(checks[one].exact) for one in ended], why),
        indel=_mean([checks[one].indel for one in ended], why),
        token_f1=_mean([checks[one].token_f1 for one in ended], why),
        embedding=TextScore(why=why),
        phrases=tuple(
            _counted(name, phrase, said[name])
            for name, wanted in expected.items()
            for phrase in wanted.message_contains
            if any(map(str.isalnum, phrase))
        ),
        checked=len(traces),
        partly=partly,
    )
    return _embedded(found, ended, model) if ended else found


def _counted(episode_id: str, phrase: str, messages: Sequence[str | None]) -> PhraseCount:
    uses = [None if text is None else phrase_use(text, phrase) for text in messages]
    return PhraseCount(
        episode_id=episode_id,
        phrase=phrase,
        found=uses.count("found"),
        negated=uses.count("negated"),
        absent=uses.count("absent"),
        unknown=uses.count(None),
    )


def _mean(values: Iterable[float | None], why: str) -> TextScore:
    known = [value for value in values if value is not None]
    return TextScore(mean=sum(known) / len(known), n=len(known)) if known else TextScore(why=why)


def _embedded(found: TextEvidence, ended: Sequence[_ReferencePair], folder: str) -> TextEvidence:
    if not folder:
        return structs.replace(found, embedding=TextScore(why=UNNAMED))
    try:
        model = open_model(folder)
    except NotInstalled as absent:
        return structs.replace(found, embedding=TextScore(why=str(absent)))
    short = [one for one in ended if max(map(len, one)) <= LONGEST]
    return structs.replace(
        found,
        embedding=_mean(model.likeness(short), "the model knows no word of these texts"),
        model=model.name,
        model_sha256=model.sha256,
    )
