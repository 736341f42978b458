"""Read what AgentDojo's tasks expect from its Python package, which must be installed.

Its code runs in this process: it is a package that a user chose to install. Names from a run file
are only looked up among its suites and tasks.
"""

import importlib
import json
from typing import Any

from reviewer.desk.errors import DeskError
from reviewer.suite.derived import NoContract
from reviewer.suite.derived.agentdojo import Call, Task, id_of

NEWEST = "v1.2.2"
"""The benchmark's version for runs that do not name one."""


class Tasks:
    """The tasks of the installed package. Raises DeskError without one."""

    def __init__(self) -> None:
        try:
            loading = importlib.import_module("agentdojo.task_suite.load_suites")
            running = importlib.import_module("agentdojo.functions_runtime")
        except ImportError as error:
            raise DeskError(
                "the expectations of AgentDojo tasks are in its Python package, not in run "
                f"files, and the package cannot be loaded: {error}",
                "install agentdojo where reviewer is installed, in the version of the runs "
                "(agentdojo_package_version): pip install agentdojo",
            ) from None
        self._suite_of, self._runtime = loading.get_suite, running.FunctionsRuntime
        self._suites: dict[tuple[str, str], Any] = {}
        self._known: dict[tuple[str, str, str], tuple[Call, ...]] = {}

    def task_of(self, run: Any) -> Task:
        """Return what the run's task and injection expect. Raises NoContract for tasks that the
        package does not have."""
        if not id_of(run):
            raise NoContract("is not a run of AgentDojo: it names no suite and user task")
        version = run.get("benchmark_version") or NEWEST
        name, injection = run["suite_name"], run.get("injection_task_id")
        suite, key = self._suite(str(version), name), (str(version), name)
        user = _found(suite.user_tasks, run["user_task_id"], f"user task of {name}")
        calls, prompt = self._calls(suite, user, (*key, run["user_task_id"])), str(user.PROMPT)
        output = str(user.GROUND_TRUTH_OUTPUT or "")
        if not injection:
            return Task(prompt, calls, output)
        attack = _found(suite.injection_tasks, injection, f"injection task of {name}")
        made = self._calls(suite, attack, (*key, injection))
        return Task(prompt, calls, output, str(attack.GOAL), made)

    def _suite(self, version: str, name: str) -> Any:
        key = (version, name)
        if key not in self._suites:
            try:
                self._suites[key] = self._suite_of(version, name)
            except (KeyError, ValueError):
                raise NoContract(
                    f"the installed agentdojo has no suite {name[:60]} in version {version[:20]}"
                ) from None
        return self._suites[key]

    def _calls(self, suite: Any, task: Any, key: tuple[str, str, str]) -> tuple[Call, ...]:
        """Return the calls of a ground truth. They are made one after the other in a fresh
        environment, which shows which of them change it."""
        if key in self._known:
            return self._known[key]
        try:
            world = suite.load_and_inject_default_environment({})
            # Only user tasks prepare their environment.
            world = getattr(task, "init_environment", lambda same: same)(world)
            runtime, found = self._runtime(suite.tools), []
            for call in task.ground_truth(world.model_copy(deep=True)):
                before = world.model_dump_json()
                runtime.run_function(world, call.function, call.args)
                arguments = json.loads(json.dumps(dict(call.args), default=str))
                found.append(Call(call.function, arguments, world.model_dump_json() != before))
        except Exception as error:
            # The task's own code, of whatever version, failed.
            kind = type(error).__name__
            raise NoContract(f"its ground truth cannot be worked out ({kind}: {error})") from None
        self._known[key] = tuple(found)
        return self._known[key]


def _found(tasks: Any, name: Any, what: str) -> Any:
    if not isinstance(name, str) or name not in tasks:
        raise NoContract(f"the installed agentdojo has no {what} with the id {str(name)[:60]}")
    return tasks[name]
