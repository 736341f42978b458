"""WebArena-Verified task folders: the agent's response, the evaluator's word, the network's HAR.

The evaluator's result is the verdict; what the agent says of itself is kept beside it and decides
nothing. What was expected is the answer key: none of it is taken.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from reviewer.importing.draft import Draft, amount, encoded
from reviewer.importing.foreign_json import NotJson, parse
from reviewer.importing.formats import _har
from reviewer.importing.formats._har import NETWORK
from reviewer.importing.formats._places import folder_names
from reviewer.importing.head import Head
from reviewer.importing.reader import Broken, Foreign, Rejected
from reviewer.importing.rest import tell_rest
from reviewer.importing.source import Source
from reviewer.importing.split import Unreadable
from reviewer.trace.record import SourceVerdict

RESPONSE, EVAL = "agent_response.json", "eval_result.json"
HARMLESS = frozenset(
    # the evaluator's own requests and checks, and the answer key they are made of
    ("evaluators_results",)
)
_SAID = ({"task_type", "status", "retrieved_data"}, {"action", "status", "results"})
_PASSED = {"success": True, "failure": False, "partial_match": False}


class WebArenaVerifiedReader:
    name = "webarena-verified"
    version = "1"
    probe = True

    def sniff(self, head: Head) -> bool:
        if not isinstance(head.value, dict):
            return False
        if head.has("task_id", "status", "evaluators_results"):
            return True
        said = any(names <= set(head.value) for names in _SAID)
        return said and "error_details" in head.value and len(head.value) <= 8

    def suite_id(self, path: Path) -> str:
        return "webarena-verified"

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
        result = result if isinstance(result, dict) else {}
        draft = Draft(self.name)
        draft.note("the candidate is taken from the folder's name: no file names it")
        said = self._response(source, draft, own, judged)
        verdict = _verdict(source.notes, result)
        word = said.get("status") if isinstance(said, dict) else None
        if isinstance(word, str):
            draft.source["agent_status"] = word[:100]
            if verdict and verdict.passed is False and word.casefold() == "success":
                source.notes.add(
                    "the agent says SUCCESS, the evaluator failure: the evaluator stands"
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
            draft.note(f"no {RESPONSE} beside the result: what the agent answered is not known")
            return None
        try:
            return parse(text.encode())
        except NotJson:
            draft.note(f"{RESPONSE} is no JSON: kept as the agent's text")
            return text

    def _network(self, source: Source, draft: Draft) -> float | None:
        path = source.path.parent / NETWORK
        if not path.is_file():
            draft.note(f"no {NETWORK} beside it: nothing shows what the agent did")
            draft.absent(NETWORK)
            return None
        try:
            heard = _har.add(draft, source.walk(("log", "entries", "*"), path=path))
        except (Unreadable, OSError):
            draft.note(f"{NETWORK} could not be read to its end")
            draft.unread(NETWORK)
            return None
        draft.source["network"] = heard.summary
        return heard.elapsed


def _verdict(notes: set[str], result: dict[str, Any]) -> SourceVerdict | None:
    # Notes on the files: a result that comes later does not make another attempt of the task.
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
    return SourceVerdict(
        passed=passed,
        reward=score,
        exception=str(message)[:200] if message and word == "error" else None,
        detail={
            "status": str(word)[:100],
            "sites": sites if isinstance(sites := result.get("sites"), list) else None,
            "intent_template_id": result.get("intent_template_id"),
            "task_revision": result.get("task_revision"),
            "evaluators": [_evaluator(one) for one in _objects(result.get("evaluators_results"))],
            "version": str(result.get("webarena_verified_version") or "")[:100],
            "evaluator_checksum": str(result.get("webarena_verified_evaluator_checksum", ""))[:80],
            "data_checksum": str(result.get("webarena_verified_data_checksum", ""))[:80],
        },
    )


def _evaluator(one: dict[str, Any]) -> dict[str, Any]:
    """One evaluator's word. Its messages quote what was expected, so only their names are taken."""
    return {
        "name": str(one.get("evaluator_name"))[:100],
        "status": str(one.get("status"))[:100],
        "score": amount(one.get("score")),
        "failed": sorted(
            {
                str(made.get("assertion_name"))[:100]
                for made in _objects(one.get("assertions"))
                if made.get("status") != "success"
            }
        ),
    }


def _objects(value: Any) -> list[dict[str, Any]]:
    found = value[:100] if isinstance(value, list) else []
    return [one for one in found if isinstance(one, dict)]
