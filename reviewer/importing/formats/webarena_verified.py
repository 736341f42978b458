"""WebArena-Verified task folders: the agent's response, the evaluator's result, the network's HAR.

The evaluator's result is the verdict; the agent's own statement is stored besides and decides
nothing. Expectations are the answer key and never read. Of the HTTP archive, cookies, headers,
bodies and the values of parameters with secrets are never read.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlsplit, urlunsplit

from reviewer.importing.draft import Draft, amount, elapsed_ms, encoded
from reviewer.importing.facts import FormatFacts
from reviewer.importing.foreign_json import NotJson, parse
from reviewer.importing.formats.base import (
    SAYS_BOTH,
    Format,
    agreed,
    at_path,
    folder_names,
    mapping,
    objects,
    sequence,
    tell_rest,
)
from reviewer.importing.head import Head
from reviewer.importing.pipeline.split import Unreadable
from reviewer.importing.reader import Broken, Foreign, Rejected
from reviewer.importing.source import Source
from reviewer.importing.walking import Part
from reviewer.trace.record import SourceVerdict
from reviewer.trace.strictjson import RepeatedMembers

# HTTP archives as evidence ------------------------------------------------------------------------

NETWORK = "network.har"
NO_REQUESTS = frozenset(
    # the writer of the archive, and load times of pages: no requests
    (one,)
    for one in ("version", "creator", "browser", "pages", "comment")
)
MOST_SHOWN = 1000
MOST_URL = 2000
# Resources that a page loads for its appearance say nothing about the agent's acts.
_LOOKS = re.compile(r"javascript|css|font|image/|video/|audio/|octet-stream|wasm")
_SECRET = re.compile(
    r"(?i)token|secret|passw|pwd|session|auth(?!or)|signature|credential|^code$|^sid$"
    r"|(?:^|api|[_.\-\[])key\]?$"
)


class Traffic(NamedTuple):
    """Counts of requests by kind, and the time from the first to the last."""

    summary: dict[str, Any]
    elapsed: float | None


class _Request(NamedTuple):
    method: str
    url: str
    status: int
    mime: str
    at: str | None
    took: float | None

    @property
    def telling(self) -> bool:
        """Return whether the request fetched or sent data, or failed."""
        return self.method != "GET" or not 200 <= self.status < 300 or not _LOOKS.search(self.mime)


def add_archive(draft: Draft, parts: Iterable[Part]) -> Traffic:
    """Write the archive's requests into a draft, in file order: requests that fetch or send data as
    calls with their answers, and all of them as counts. Raises Unreadable."""
    methods: Counter[str] = Counter()
    statuses: Counter[str] = Counter()
    first = last = None
    shown = 0
    for part in parts:
        inside = part.path[:2] == ("log", "entries") and len(part.path) == 3
        entry = _entry(part) if inside and not part.problem else None
        if entry is None:
            if inside or part.problem:
                draft.note("some entries of the HTTP archive could not be read")
            if part.problem or not (part.path[:1] == ("log",) and part.path[1:] in NO_REQUESTS):
                draft.unread(f"{NETWORK}:{_where(part)}")
            continue
        methods[entry.method] += 1
        statuses[str(entry.status) if entry.status > 0 else "none"] += 1
        first, last = first or entry.at, entry.at or last
        if entry.telling and shown == MOST_SHOWN:
            draft.note(f"requests after the first {MOST_SHOWN} that tell something are counted")
            draft.unread(f"{NETWORK}:{_where(part)}")
        elif entry.telling:
            shown += 1
            _show(draft, entry)
    entries = methods.total()
    if shown < entries:
        draft.note("scripts, styles, fonts and pictures a page loaded are only counted")
    summary = {"entries": entries, "methods": dict(methods), "statuses": dict(statuses)}
    return Traffic({**summary, "shown": shown}, elapsed_ms(first, last))


def _where(part: Part) -> str:
    return ".".join(str(step)[:40] for step in part.path)


def _entry(part: Part) -> _Request | None:
    try:
        value: Any = parse(part.raw)
        asked, answered = value["request"], value["response"]
        if any(isinstance(one, RepeatedMembers) for one in (value, asked)):
            return None
        if not isinstance(asked["method"], str) or not isinstance(asked["url"], str):
            return None
        content, status = answered.get("content"), answered.get("status")
        at = value.get("startedDateTime")
        return _Request(
            asked["method"][:20] or "GET",
            shown_url(asked["url"]),
            status if type(status) is int else -1,
            str(content.get("mimeType", "")).split(";")[0][:100]
            if isinstance(content, dict)
            else "",
            at if isinstance(at, str) else None,
            amount(value.get("time")),
        )
    except (NotJson, KeyError, TypeError, AttributeError, ValueError):
        return None


def _show(draft: Draft, entry: _Request) -> None:
    draft.call(entry.method, {"url": entry.url}, actor="browser", at=entry.at)
    draft.result(
        {"status": entry.status if entry.status > 0 else None, "type": entry.mime},
        status="ok" if 100 <= entry.status < 400 else "error",
        latency_ms=entry.took,
    )


def shown_url(url: str) -> str:
    """Return an address without user names, passwords, secret parameters and its fragment. Raises
    ValueError for an invalid one."""
    split = urlsplit(url[:MOST_URL])
    if split.scheme not in ("http", "https", "ws", "wss", ""):
        return f"{split.scheme}:…"
    host = split.netloc.rpartition("@")[2]
    pairs = "&".join(_masked(pair) for pair in split.query.split("&"))
    return urlunsplit((split.scheme, host, split.path, pairs, ""))


def _masked(pair: str) -> str:
    name, equals, _ = pair.partition("=")
    return f"{name}=…" if equals and _SECRET.search(name) else pair


# The reader ---------------------------------------------------------------------------------------

RESPONSE, EVAL = "agent_response.json", "eval_result.json"
HARMLESS = frozenset(
    # the evaluator's own requests and checks, and the answer key behind them
    ("evaluators_results",)
)
_SAID = ({"task_type", "status", "retrieved_data"}, {"action", "status", "results"})
TOLERANCE = 1e-6
MOST_LISTED = 100
"""Most evaluators, and assertions of one, that are read."""
_PASSED = {"success": True, "failure": False, "partial_match": False}


class WebArenaVerifiedReader(Format):
    name = "webarena-verified"
    facts = FormatFacts(
        by="`evaluators_results`, or the agent's response",
        steps="network requests only",
        tools="HTTP method",
        times="yes",
        verdict="the evaluator's",
        beside="`agent_response.json`, `network.har`",
    )

    def sniff(self, head: Head) -> bool:
        if not isinstance(head.value, dict):
            return False
        if head.has("task_id", "status", "evaluators_results"):
            return True
        said = any(names <= set(head.value) for names in _SAID)
        return said and "error_details" in head.value and len(head.value) <= 8

    def candidate_id(self, path: Path) -> str:
        return folder_names(path, 2)[1] or "unnamed"

    def placed(self, path: Path) -> tuple[str, ...]:
        return folder_names(path, 2)

    def companions(self, path: Path) -> tuple[Path, ...]:
        found = [path.parent / name for name in (EVAL, RESPONSE, NETWORK)]
        if path.name == RESPONSE and found[0].is_file():
            return ()  # it is itself a companion of the result
        return tuple(file for file in found if file.name != path.name and file.is_file())

    def traces(self, source: Source) -> Iterator[Foreign | Broken]:
        yield source.attempt(lambda: self._foreign(source), *folder_names(source.path, 1))

    def _foreign(self, source: Source) -> Foreign:
        own = source.load()
        judged = isinstance(own, dict) and "evaluators_results" in own
        result = own if judged else source.beside(source.path.parent / EVAL)
        result = mapping(result)
        draft = Draft(self.name)
        draft.note("the candidate is taken from the folder's name: no file names it")
        said = self._response(source, draft, own, judged)
        verdict = _verdict(source.notes, result)
        word = at_path(said, "status")
        if isinstance(word, str):
            draft.source["agent_status"] = word[:100]
            if verdict and verdict.passed is False and word.casefold() == "success":
                source.notes.add(
                    "the agent says SUCCESS, the evaluator failure: the evaluator counts"
                )
        task_id = result.get("task_id", folder_names(source.path, 1)[0])
        if isinstance(task_id, bool) or not isinstance(task_id, (int, str)):
            raise Rejected("type:task_id")
        elapsed = self._network(source, draft)
        tell_rest(result, draft, EVAL, HARMLESS)
        if isinstance(said, (dict, list)):
            tell_rest(said, draft, RESPONSE)
        answer = said if isinstance(said, str) else encoded(said).decode() if said else ""
        if answer:
            draft.message("agent", answer)
        return draft.foreign(
            episode_id=task_id,
            candidate_id=source.candidate or self.candidate_id(source.path),
            final_message=answer or None,
            latency_ms=elapsed,
            termination="completed" if answer else None,
            verdict=verdict,
            title=f"task {task_id}",
        )

    def _response(self, source: Source, draft: Draft, own: Any, judged: bool) -> Any:
        if not judged:
            return own
        path = source.path.parent / RESPONSE
        text = source.text(path, 1 << 20)
        if text is None:
            draft.note(f"no {RESPONSE} next to the result: what the agent answered is not known")
            return None
        try:
            return parse(text.encode())
        except NotJson:
            draft.note(f"{RESPONSE} is no JSON: kept as the agent's text")
            return text

    def _network(self, source: Source, draft: Draft) -> float | None:
        path = source.path.parent / NETWORK
        if not path.is_file():
            draft.note(f"no {NETWORK} next to it: nothing shows what the agent did")
            draft.absent(NETWORK)
            return None
        try:
            heard = add_archive(draft, source.walk(("log", "entries", "*"), path=path))
        except (Unreadable, OSError):
            draft.note(f"{NETWORK} could not be read to its end")
            draft.unread(NETWORK)
            return None
        draft.source["network"] = heard.summary
        return heard.elapsed


def _verdict(notes: set[str], result: dict[str, Any]) -> SourceVerdict | None:
    # These notes belong to the files: a later result does not make another attempt of the task.
    if not result:
        notes.add(f"no {EVAL}: not scored")
        return None
    word = result.get("status")
    passed = _PASSED.get(word) if isinstance(word, str) else None
    if word == "error":
        notes.add("the evaluator itself failed: its score of 0 is no measurement")
    elif passed is None:
        notes.add("the evaluator's status is not one that is known: not scored")
    message = result.get("error_msg")
    score = None if word == "error" else amount(result.get("score"))
    checks = [one.get("status") for one in objects(sequence(result.get("evaluators_results")))]
    parts = [_PASSED.get(one) for one in checks if isinstance(one, str)]
    agrees = agreed(passed, [*parts, None if score is None else score >= 1 - TOLERANCE])
    if agrees is not passed:
        notes.add(SAYS_BOTH)
    return SourceVerdict(
        passed=agrees,
        reward=score,
        exception=str(message)[:200] if message and word == "error" else None,
        detail={
            "status": str(word)[:100],
            "sites": sites if isinstance(sites := result.get("sites"), list) else None,
            "intent_template_id": result.get("intent_template_id"),
            "task_revision": result.get("task_revision"),
            "evaluators": [
                _evaluator(one)
                for one in objects(sequence(result.get("evaluators_results"))[:MOST_LISTED])
            ],
            "version": str(result.get("webarena_verified_version") or "")[:100],
            "evaluator_checksum": str(result.get("webarena_verified_evaluator_checksum", ""))[:80],
            "data_checksum": str(result.get("webarena_verified_data_checksum", ""))[:80],
        },
    )


def _evaluator(one: dict[str, Any]) -> dict[str, Any]:
    """Return one evaluator's result. Its messages quote expectations, so only their names are
    read."""
    return {
        "name": str(one.get("evaluator_name"))[:100],
        "status": str(one.get("status"))[:100],
        "score": amount(one.get("score")),
        "failed": sorted(
            {
                str(made.get("assertion_name"))[:100]
                for made in objects(sequence(one.get("assertions"))[:MOST_LISTED])
                if made.get("status") != "success"
            }
        ),
    }
