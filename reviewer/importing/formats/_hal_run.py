"""A HAL run file gone through once: what it says of each task, and where its logged calls stand."""

from typing import Any, NamedTuple

from reviewer.importing.foreign_json import NotJson, parse
from reviewer.importing.formats._python_text import NotLiteral, literal
from reviewer.importing.source import Source
from reviewer.importing.walking import EACH, Part

_WALKED = (
    ("results", EACH),
    ("raw_eval_results", EACH),
    ("raw_logging_results", EACH),
    ("task_prompts", EACH),
    ("wall_clock_times", EACH),
    ("task_step_counts", EACH),
)
# Members of a task's result that are taken: `explanation` quotes the true answer.
_TAKEN = ("score", "reward", "cost", "metrics", "conversation_history", "taken_actions")


class Place(NamedTuple):
    """Where a logged call stands in the file."""

    start: int
    length: int
    id: str
    started_at: str


class Task:
    """What a run says of one task. `passed_on` are calls that another one handed on."""

    def __init__(self) -> None:
        self.result: dict[str, Any] = {}
        self.variations = False
        self.prompt = ""
        self.wall_clock: Any = None
        self.call_time: Any = None
        self.steps: Any = None
        self.calls: list[Place] = []
        self.passed_on: set[str] = set()
        self.compact: dict[str, Any] | None = None


class Run:
    """The run as a whole and its tasks, in the order the file first names them."""

    def __init__(self) -> None:
        self.tasks: dict[str, Task] = {}
        self.benchmark = ""
        self.candidate = ""
        self.summary: dict[str, Any] = {}
        self._lists: dict[str, set[str]] = {}
        self._accuracy: Any = None

    def task(self, task_id: Any) -> Task:
        """The task of that id, a new one where it was not met before."""
        return self.tasks.setdefault(str(task_id), Task())

    def passed(self, task_id: str) -> bool | None:
        """What the lists of the results say; None when neither names the task."""
        good = task_id in self._lists.get("successful_tasks", ())
        bad = task_id in self._lists.get("failed_tasks", ())
        return None if good == bad else good

    def doubts(self) -> list[str]:
        """What does not add up."""
        found = []
        good, bad = (self._lists.get(n, set()) for n in ("successful_tasks", "failed_tasks"))
        if good & bad:
            found.append(f"{len(good & bad)} tasks stand in both lists of the results: not scored")
        listed = len(good | bad)
        stated = self._accuracy if type(self._accuracy) in (int, float) else None
        if listed and stated is not None and abs(len(good) / listed - stated) > 1e-3:
            told = "the accuracy stated is not that of the lists: tasks never run are in neither"
            found.append(told)
        return found

    def configured(self, config: Any) -> None:
        """The run's own settings."""
        if not isinstance(config, dict):
            return
        self.benchmark = str(config.get("benchmark_name") or "")
        args = config.get("agent_args")
        model = args.get("model_name") if isinstance(args, dict) else None
        name, version = str(config.get("agent_name") or ""), config.get("agent_version")
        named = [name, version if isinstance(version, str) else None]
        named.append(model if isinstance(model, str) and model not in name else None)
        self.candidate = " ".join(str(part) for part in named if part)
        kept = {
            k: config.get(k) for k in ("run_id", "date", "benchmark_name", "prompt_sensitivity")
        }
        self.summary.update({k: v for k, v in kept.items() if v is not None})

    def resulted(self, name: str, value: Any) -> None:
        """One member of `results`."""
        if name in ("successful_tasks", "failed_tasks"):
            self._lists[name] = {str(one) for one in _listed(value)}
            for one in _listed(value):
                self.task(one)
        elif name == "accuracy":
            self._accuracy = value
        elif name == "total_cost" and type(value) in (int, float) and value > 0:
            self.summary["total_cost_usd"] = value
        elif name == "latencies" and isinstance(value, dict):
            for task_id, one in value.items():
                if isinstance(one, dict):
                    self.task(task_id).call_time = one.get("total_time")

    def evaluated(self, task_id: str, value: Any) -> None:
        """One member of `raw_eval_results`, where those are the results of tasks."""
        if isinstance(value, list) and value and all(isinstance(one, dict) for one in value):
            self.task(task_id).variations = True
        elif isinstance(value, dict) and ("score" in value or "reward" in value):
            self.task(task_id).result = {name: value[name] for name in _TAKEN if name in value}

    def logged(self, part: Part, name: str | int, value: Any) -> None:
        """One logged call, or all of a task in one as newer harnesses write it."""
        if not isinstance(value, dict):
            return
        if isinstance(name, str):
            self.task(name).compact = value
            return
        about = value.get("attributes")
        task_id = value.get("weave_task_id")
        if task_id is None and isinstance(about, dict):
            task_id = about.get("weave_task_id")
        output = value.get("output")
        if task_id is None or not isinstance(output, dict) or not output.get("usage"):
            return
        task = self.task(task_id)
        started, length = value.get("started_at"), len(part.raw)
        place = Place(part.end - length, length, str(value.get("id")), str(started or ""))
        task.calls.append(place)
        if value.get("parent_id"):
            task.passed_on.add(str(value["parent_id"]))


def _listed(value: Any) -> list[Any]:
    """A list, or one that was written as Python prints it."""
    if isinstance(value, str):
        try:
            value = literal(value)
        except NotLiteral:
            return []
    return [v for v in value if isinstance(v, (str, int))] if isinstance(value, list) else []


def run_of(source: Source) -> Run:
    """The file, walked once. A part that cannot be read is noted. Raises Unreadable."""
    run = Run()
    for part in source.walk(*_WALKED):
        try:
            value = None if part.problem else parse(part.raw, source.notes)
        except NotJson:
            value = None
        if value is None and (part.problem or part.raw != b"null"):
            source.notes.add("parts of the run file could not be read")
        elif part.path:
            _note(run, part, value)
    return run


def _note(run: Run, part: Part, value: Any) -> None:
    top, name = part.path[0], part.path[1] if len(part.path) > 1 else ""
    if top == "config":
        run.configured(value)
    elif top == "results":
        run.resulted(str(name), value)
    elif top == "raw_eval_results":
        run.evaluated(str(name), value)
    elif top == "raw_logging_results":
        run.logged(part, name, value)
    elif top == "task_prompts" and isinstance(value, str):
        run.task(name).prompt = value
    elif top == "wall_clock_times":
        run.task(name).wall_clock = value
    elif top == "task_step_counts":
        run.task(name).steps = value
