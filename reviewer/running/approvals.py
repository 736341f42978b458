"""Who answers a call that needs an approval: the episode's rules, the run's `--approve`, a person.

The episode comes first, so that the same candidate and suite give the same verdicts wherever they
are run.
"""

from typing import Any

from reviewer.running.model import Approval, ApprovalRequest, Approver, NobodyAnswered, Task
from reviewer.suite.approvals import fitting_rule, ruled_tools

EPISODE, POLICY = "episode", "policy"
"""Who answers, as named in a trace, when it is not a person."""


class Approvals:
    """The answers to the calls of one attempt. `person` is asked where somebody is present."""

    def __init__(self, task: Task, person: Approver | None) -> None:
        self._task, self._person = task, person
        self._ruled = ruled_tools(task.episode)

    async def answer(self, arguments: dict[str, Any], request: ApprovalRequest) -> Approval:
        """Return the answer to a call, of which `request` has masked `arguments`. Raises
        NobodyAnswered when a rule asks a person and nobody is present."""
        if request.tool not in self._ruled:
            return await self._by_the_run(request)
        fitting = fitting_rule(self._task.episode, request.tool, arguments)
        if fitting is None:
            return Approval(False, EPISODE)
        number, rule = fitting
        if rule.answer != "person":
            return Approval(rule.answer == "allow", EPISODE, number, rule.delay_ms)
        approval = None if self._person is None else await self._person.ask(request)
        if approval is None:
            raise NobodyAnswered(request.tool, number)
        return approval._replace(rule=number)

    async def _by_the_run(self, request: ApprovalRequest) -> Approval:
        if self._task.approvals == "ask" and self._person is not None:
            approval = await self._person.ask(request)
            if approval is not None:
                return approval
        return Approval(self._task.approvals == "allow", POLICY)


def told_of(approval: Approval) -> dict[str, Any]:
    """Return an answer as the trace states it, on its call."""
    told: dict[str, Any] = {
        "status": "granted" if approval.granted else "refused",
        "by": approval.by,
    }
    return told if approval.rule is None else {**told, "rule": approval.rule}
