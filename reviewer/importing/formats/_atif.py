"""What ATIF documents tell, as events of one attempt: standalone trajectories and Harbor trials.

An attempt may be told by several documents: parts that continue each other, and trajectories of
sub-agents that a step refers to, in the same file or in others.
"""

from collections.abc import Callable
from typing import Any

from reviewer.importing.draft import Draft, amount, elapsed_ms, name_of, tokens, words
from reviewer.importing.formats._atif_parts import (
    actor_of,
    invocation,
    mapping,
    objects,
    paired,
    references,
    status_of,
    timed,
)
from reviewer.importing.formats._atif_totals import Usage
from reviewer.importing.reader import Rejected

PLACEHOLDERS = frozenset({"[tool call]", "(no assistant text)"})
DEEPEST = 16

Find = Callable[[dict[str, Any]], dict[str, Any] | None]
"""The document that a reference names by its path, None when it is not there."""


class Teller:
    """Tells documents into a draft. Copied context is told where it first stood, a sub-agent's
    trajectory where the first step refers to it."""

    def __init__(self, draft: Draft, find: Find) -> None:
        self.draft = draft
        self.final: str | None = None
        """The agent's last words."""
        self.request = ""
        """The first words of the user."""
        self.usage = Usage()
        self._find = find
        self._said: list[dict[str, Any]] = []
        self._stamps: list[str] = []
        self._models: dict[str, None] = {}
        self._copied = 0
        self._copied_request = ""

    def part(self, document: dict[str, Any], skip: int = 0) -> None:
        """Tell one part of the agent's own trajectory, less its first `skip` steps. Raises
        Rejected (`missing:steps`, `type:...`)."""
        self._document(document, "agent", {}, 0, skip)
        self.usage.declared(mapping(document, "final_metrics"))

    def close(self) -> None:
        """Note what is known only at the end."""
        draft = self.draft
        if self._copied:
            draft.note("steps that repeat earlier context are counted once, where they first stood")
        self.request = self.request or self._copied_request
        served = list(self._models)
        if served:
            draft.source["served_models"] = served

    @property
    def started_at(self) -> str | None:
        return self._stamps[0] if self._stamps else None

    def elapsed_ms(self) -> float | None:
        """From the first step's time to the last one's, noted; None where times cannot tell."""
        if len(self._stamps) < 2:
            return None
        if len(set(self._stamps)) == 1:
            self.draft.note("every step bears the same time: no latency is read off it")
            return None
        spent = elapsed_ms(self._stamps[0], self._stamps[-1])
        if spent is None:
            self.draft.note("times of the steps run backwards or mix clocks: no latency")
        else:
            self.draft.note("latency is the time from the first step to the last one")
        return spent

    def _document(
        self,
        document: dict[str, Any],
        actor: str,
        shelf: dict[str, dict[str, Any]],
        depth: int,
        skip: int = 0,
    ) -> None:
        if depth > DEEPEST:
            raise Rejected("too_deep:subagent_trajectories")
        self._said.append(document)
        if "steps" not in document:
            raise Rejected("missing:steps")
        steps = objects(document, "steps")
        own = objects(document, "subagent_trajectories")
        shelf = {**shelf, **{str(one.get("trajectory_id")): one for one in own}}
        if [step.get("step_id") for step in steps] != list(range(1, len(steps) + 1)):
            self.draft.note("step ids are not 1, 2, 3 ...: steps may be missing")
        stated = mapping(document, "final_metrics").get("total_steps")
        if isinstance(stated, int) and stated != len(steps):
            self.draft.note("final_metrics count other steps than the file holds")
        for number, step in enumerate(steps):
            if number >= skip:
                self._step(step, f"steps[{number}].", actor, shelf, depth)
        for one in own:
            if not self._was_told(one):
                self.draft.note("a sub-agent's trajectory that no step refers to stands at the end")
                self._document(one, actor_of(one), shelf, depth + 1)

    def _was_told(self, document: dict[str, Any]) -> bool:
        return any(one is document for one in self._said)

    def _step(
        self,
        step: dict[str, Any],
        where: str,
        actor: str,
        shelf: dict[str, dict[str, Any]],
        depth: int,
    ) -> None:
        text = words(step.get("message"))
        source = step.get("source")
        if step.get("is_copied_context") is True:
            self._copied += 1
            if source == "user" and not depth and not self._copied_request:
                self._copied_request = text if isinstance(text, str) else ""
            return
        who = self._who(source, actor, depth)
        calls = objects(step, "tool_calls", where)
        if isinstance(text, str) and text.strip() in PLACEHOLDERS:
            self.draft.note("placeholders for missing text were left out")
            text = ""
        more = self._facts(step, who not in ("user", "system"), depth)
        if reasoning := step.get("reasoning_content"):
            self.draft.message(who, {"reasoning": reasoning})
        if text or not calls:
            self.draft.message(who, text, **more)
            more = {}
        if isinstance(text, str) and text.strip() and not depth:
            self.final = text if who == "agent" else self.final
            self.request = self.request or (text if who == "user" else "")
        results = objects(mapping(step, "observation", where), "results", where)
        self._acts(calls, results, who, more)
        for result in results:
            for ref in references(result, where):
                self._delegated(ref, shelf, depth)

    def _who(self, source: Any, actor: str, depth: int) -> str:
        if source == "agent":
            return actor
        if source not in ("user", "system"):
            self.draft.note("steps of a source that is none of system, user, agent: as system")
        return "user" if source == "user" and not depth else "system"

    def _facts(self, step: dict[str, Any], asked: bool, depth: int) -> dict[str, Any]:
        """When a step was, how long it took, what it used."""
        found = timed(step)
        stamp = step.get("timestamp")
        if stamp is not None:
            found.setdefault("at", stamp)
            text = self.draft.at(stamp)
            if text is None:
                self.draft.note("times that are no times were left out")
            elif not depth:
                self._stamps.append(text)
        model = step.get("model_name")
        if isinstance(model, str) and model:
            self._models[model[:200]] = None
        metrics = mapping(step, "metrics")
        if asked and step.get("llm_call_count") != 0:
            self.usage.step(metrics)
        counts = tokens(
            input_tokens=metrics.get("prompt_tokens"),
            output_tokens=metrics.get("completion_tokens"),
            cached_tokens=metrics.get("cached_tokens"),
        )
        if counts and any(counts.values()):
            found["tokens"] = counts
        cost = amount(metrics.get("cost_usd"))
        return {**found, "cost_usd": cost} if cost else found

    def _acts(
        self,
        calls: list[dict[str, Any]],
        results: list[dict[str, Any]],
        who: str,
        more: dict[str, Any],
    ) -> None:
        """The calls of a step and what came of them: by id, else by position when as many results
        name no call as calls have no result; else they belong to the step as a whole."""
        draft = self.draft
        for call in calls:
            more = {**more, **timed(call)}
            made = draft.call(
                call.get("function_name"), call.get("arguments"), call.get("tool_call_id"), who,
                **more,
            )  # fmt: skip
            state = status_of(call)
            if state is not None:
                made["status"] = state
            more = {}
        tools = {name_of(call.get("function_name")) for call in calls}
        for result, answered in zip(results, paired(calls, results), strict=True):
            if answered is None and (calls or result.get("source_call_id")):
                draft.note("results that name no call of their step belong to the step as a whole")
            said = {"function_name": next(iter(tools))} if len(tools) == 1 else {}
            self._result(result, answered or said, who, loose=answered is None)
        draft.settle()

    def _result(
        self, result: dict[str, Any], call: dict[str, Any], who: str, *, loose: bool
    ) -> None:
        seen, refs = result.get("content"), result.get("subagent_trajectory_ref")
        if seen is None and refs:
            seen = {"subagent_trajectory_ref": refs}
        self.draft.result(
            None if seen is None else words(seen),
            call.get("tool_call_id"),
            call.get("function_name"),
            status_of(result) or status_of(call),
            loose=loose,
            at=invocation(call).get("end_timestamp"),
            actor=None if who == "agent" else who,
        )

    def _delegated(self, ref: dict[str, Any], shelf: dict[str, dict[str, Any]], depth: int) -> None:
        known = ref.get("trajectory_id")
        document = shelf.get(known) if isinstance(known, str) else None
        if document is None and isinstance(ref.get("trajectory_path"), str):
            document = self._find(ref)
        if document is None:
            self.draft.note("a sub-agent's trajectory is referred to but is not there")
        elif not self._was_told(document):
            self._document(document, actor_of(document), shelf, depth + 1)
