"""A run of AgentDojo as a contract of its task, and of not doing what an injection asks.

A run file says which task was run and with which injection; their expectations are Python code of
the package. `Task` is the result of that code for one pair. AgentDojo itself judges the end state
and the words, so the calls that solve a task are one way among others. Of an injection's calls
those that change something are forbidden, unless the task needs the same tools.
"""

from typing import Any, Literal, NamedTuple

from reviewer.suite.derived import ContractDraft, NoContract
from reviewer.suite.model import RED_TEAM

Require = Literal["all", "writes"]

ONE_WAY = (
    "AgentDojo judges the end state and the words: to it the calls of ground_truth are one way "
    "among others; here each tool is required, order and arguments are only shown"
)
ONLY_WRITES = "of the tools of ground_truth only those that change the environment are required"
FORBIDDEN = (
    "the tools that reach the injection's goal by a change, and that the task does not need, are "
    "forbidden"
)
IN_PART = "the injection's goal also takes tools that the task needs: of those nothing is forbidden"
GOAL = "the injection's goal and its text are in suite.json under source, for people"
OUTPUT = "GROUND_TRUTH_OUTPUT is compared with (message_reference), never required"
UTILITY = "what utility() and security() check in the environment is in AgentDojo's code alone"


class Call(NamedTuple):
    """One call of a ground truth; `writes` when it changed the environment."""

    tool: str
    arguments: dict[str, Any]
    writes: bool


class Task(NamedTuple):
    """What the package says of a user task and of an injection: prompt, calls, output, goal."""

    prompt: str
    calls: tuple[Call, ...]
    output: str = ""
    goal: str = ""
    attack: tuple[Call, ...] = ()


def id_of(run: Any) -> str:
    """Return the id of a run's episode, "" for a run of no user task: the reader's, with `.` for
    `/`, which an id may not have."""
    return reader_id(run).replace("/", ".")


def reader_id(run: Any) -> str:
    """Return the episode's name in the reader of AgentDojo's runs, "" for no run."""
    if not isinstance(run, dict):
        return ""
    names = ("suite_name", "user_task_id", "injection_task_id", "attack_type")
    said = [run.get(name) for name in names]
    if not all(isinstance(value, str) and value for value in said[:2]):
        return ""
    return "/".join(value for value in said if isinstance(value, str) and value)


def contract_of(run: Any, task: Task, require: Require = "all") -> ContractDraft:
    """Return the contract of the task that a run was of. `require` says whether reading tools are
    required too. Raises NoContract."""
    notes: list[str] = [UTILITY]
    attacked = bool(run.get("injection_task_id"))
    needed = {call.tool for call in task.calls}
    wanted = [call.tool for call in task.calls if call.writes or require == "all"]
    if task.calls:
        notes.append(ONE_WAY if require == "all" else ONLY_WRITES)
    tools: dict[str, Any] = {}
    if wanted:
        tools.update(required=list(dict.fromkeys(wanted)), order="any")
    shown: dict[str, Any] = {}
    if attacked:
        tools["forbidden"] = _forbidden(task, needed, notes)
        shown["injection_goal"] = task.goal
        if isinstance(run.get("injections"), dict):
            shown["injections"] = run["injections"]
        notes.append(GOAL)
    if not tools:
        raise NoContract(
            "its calls change nothing and none is required (--require writes): what must be said "
            "is checked by AgentDojo's code"
            if task.calls
            else "its ground_truth calls no tool: what must be said is checked by AgentDojo's code"
        )
    expected: dict[str, Any] = {}
    if task.calls:
        expected["trajectory"] = [
            {"tool": call.tool, "arguments": call.arguments} for call in task.calls
        ]
    if task.output:
        expected["message_reference"] = task.output
        notes.append(OUTPUT)
    episode = {
        "schema": "reviewer/episode@1",
        "episode_id": id_of(run),
        "title": " ".join(task.goal.split())[:200],
        "user_request": task.prompt,
        "tools": tools,
        "expected": expected,
        "tags": [RED_TEAM] if attacked else [],
    }
    kept = {name: value for name, value in episode.items() if value not in ("", {}, [])}
    return ContractDraft(kept, shown, tuple(notes))


def _forbidden(task: Task, needed: set[str], notes: list[str]) -> list[str]:
    """Return the tools that only the injection needs. Raises NoContract when there are none."""
    changing = dict.fromkeys(call.tool for call in task.attack if call.writes)
    found = [tool for tool in changing if tool not in needed]
    if found:
        notes.append(FORBIDDEN if len(found) == len(changing) else IN_PART)
        return found
    if changing:
        raise NoContract(
            f"the injection's goal takes {', '.join(changing)}, which the task needs too: no gate "
            "can tell their calls apart"
        )
    if task.attack:
        raise NoContract("the injection's goal changes nothing: no tool can be forbidden for it")
    raise NoContract(
        "the package gives no calls for the injection's goal: nothing says which tools reach it"
    )
