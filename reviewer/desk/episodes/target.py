"""Where an episode is written: into a draft, or into a new suite."""

import json
from collections import Counter
from collections.abc import Mapping, Set
from pathlib import Path
from typing import Any

from reviewer.desk.errors import DeskError
from reviewer.desk.opened import DeskState
from reviewer.desk.place import write_private
from reviewer.desk.workspace.suite_records import write_folder
from reviewer.exit_codes import ExitCode
from reviewer.importing.recorded.offered import Definition
from reviewer.suite.check import check_suite
from reviewer.suite.derived import NoContract, encoded
from reviewer.suite.drafted import yaml_of
from reviewer.suite.errors import id_problem, shown
from reviewer.suite.folder import PROOFS, has_lock, locked_files
from reviewer.suite.json_values import same
from reviewer.suite.model import RedactionRules, Suite
from reviewer.suite.strict_json import load_object
from reviewer.suite.values import EPISODES, SUITE_FILE, TOOLSET_FILE, converted
from reviewer.trace.rules import DETECTORS

_REDACTION: dict[str, Any] = {"keys": [], "detectors": list(DETECTORS)}


class Target:
    """Where the episode is written: a draft, or a new suite. An existing episode of its name is
    overwritten if it was made from the trace `replaces`."""

    def __init__(
        self, folder: Path, suite_id: str, episode_id: str, new: bool, replaces: str = ""
    ) -> None:
        self.folder, self.suite_id, self.new = folder, suite_id, new
        self._episode = f"{EPISODES}{episode_id}.json"
        self._script = f"{PROOFS}{episode_id}.json"
        self._id = episode_id
        self._files = {} if new else locked_files(folder)
        self._head: dict[str, Any] = {}
        if not new:
            if has_lock(folder):
                raise DeskError(
                    f"{folder}: is frozen: nothing can be added to it",
                    "leave out --into: the episode gets its own suite",
                    f"or add it to a draft of the next version: reviewer suite draft {suite_id} "
                    "--as NEW_ID, then --into NEW_ID",
                )
            if SUITE_FILE not in self._files:
                raise DeskError(
                    f"{folder}: is not a suite: it has no {SUITE_FILE}",
                    "name the folder of a draft: reviewer suite list shows them",
                )
            self._head = load_object(self._files[SUITE_FILE], SUITE_FILE)
            if (written := yaml_of(self._episode)) and (folder / written).exists():
                raise DeskError(f"{folder / written} exists already", "--id names the episode")
            for path in (self._episode, self._script):
                if (folder / path).exists() and not self._made_of(replaces):
                    raise _taken(folder / path, replaces)
        told = _REDACTION if new else self._head.get("redaction", {})
        self.rules = converted(told, RedactionRules, SUITE_FILE)

    @property
    def listed(self) -> frozenset[str] | None:
        """Return the tools of toolset.json, None in a suite without one."""
        if TOOLSET_FILE not in self._files:
            return None
        return frozenset(tool["name"] for tool in self._listed())

    def definitions(self, names: Set[str]) -> dict[str, Definition]:
        """Return the definitions in toolset.json of those of these tools that it lists: they say
        what each tool takes, whatever a trace shows."""
        return {
            tool["name"]: Definition(tool["name"], tool["description"], tool["parameters"])
            for tool in self._listed()
            if tool["name"] in names
        }

    def _listed(self) -> list[dict[str, Any]]:
        """Return the valid tools of toolset.json."""
        if TOOLSET_FILE not in self._files:
            return []
        listed = load_object(self._files[TOOLSET_FILE], TOOLSET_FILE).get("tools")
        return [
            tool
            for tool in (listed if isinstance(listed, list) else ())
            if isinstance(tool, dict)
            and isinstance(tool.get("name"), str)
            and isinstance(tool.get("description"), str)
            and isinstance(tool.get("parameters"), dict)
        ]

    def _made_of(self, trace: str) -> bool:
        """Return whether the existing episode was made from this trace; False when there is
        none."""
        data = self._files.get(self._episode)
        source = load_object(data, self._episode).get("source") if trace and data else None
        traces = source.get("traces") if isinstance(source, dict) else None
        first = traces[0] if isinstance(traces, list) and traces else None
        return isinstance(first, dict) and first.get("trace") == trace

    def write(
        self, episode: dict[str, Any], script: Mapping[str, Any] | None, sha256: str
    ) -> list[str]:
        """Write the files, and return what keeps the suite from being frozen. `script` is that of
        the proof, if any, and `sha256` that of the file from which the episode was made."""
        if TOOLSET_FILE in self._files and "simulator" in episode:
            episode = _beside_toolset(episode, load_object(self._files[TOOLSET_FILE], TOOLSET_FILE))
        episode = self._whole_state(episode)
        try:
            files = {self._episode: encoded(episode)}
            if script is not None:
                files[self._script] = encoded(dict(script))
            if self.new:
                files[SUITE_FILE] = encoded(self._new_head(episode, script, sha256))
            elif isinstance(self._head.get("episodes"), list):
                listed = [*dict.fromkeys([*self._head["episodes"], self._id])]
                files[SUITE_FILE] = encoded({**self._head, "episodes": listed})
        except NoContract as why:
            raise DeskError(
                f"{self.folder}: {why}", "mark what is right and what is wrong, then run this again"
            ) from None
        if self.new:
            write_folder(self.folder, files)
        else:
            for path in (self._script, self._episode, SUITE_FILE):
                if path in files:
                    write_private(self.folder / path, files[path])
        locked = {path: data for path, data in files.items() if not path.startswith("candidates/")}
        checked = check_suite({**self._files, **locked}, to_freeze=True)
        return [str(one) for one in checked.problems]

    def _whole_state(self, episode: dict[str, Any]) -> dict[str, Any]:
        """Return the episode with a final state of its own: the suite's default final state belongs
        to other worlds."""
        defaults = self._head.get("defaults")
        given = defaults.get("simulator") if isinstance(defaults, dict) else None
        simulator = episode.get("simulator", {})
        silent = "simulator" in episode and "final_state" not in simulator
        if not silent or not isinstance(given, dict) or "final_state" not in given:
            return episode
        return {**episode, "simulator": {**simulator, "final_state": None}}

    def _new_head(
        self, episode: Mapping[str, Any], script: Mapping[str, Any] | None, sha256: str
    ) -> dict[str, Any]:
        loops = {} if script is None else {"policy": {"gates": {"loops": _most_alike(script) + 1}}}
        return {
            "schema": Suite.SCHEMA,
            "suite_id": self.suite_id,
            "title": f"{self._id}: an episode",
            "episodes": [self._id],
            "source": {"made_by": episode["source"]["made_by"], "sha256": sha256},
            **loops,
            "redaction": _REDACTION,
        }


def _most_alike(script: Mapping[str, Any]) -> int:
    """Return how often the attempts of a proof make the same call, at least two."""
    counts = [2]
    for told in script["episodes"].values():
        for plan in told["plans"].values():
            made = [call for turn in plan["turns"] for call in turn.get("calls", ())]
            counts += Counter(json.dumps(call, sort_keys=True) for call in made).values()
    return max(counts)


def suite_folder(suites: Path, named: str) -> Path:
    """Return the folder of a suite, by its id or as a path."""
    below = suites / named
    inside = named not in ("", ".", "..") and "/" not in named and "\\" not in named
    return below if inside and below.is_dir() else Path(named)


def _taken(path: Path, replaces: str) -> DeskError:
    why = ", and it was not made from this trace" if replaces else ""
    ways = () if replaces else ("--replace overwrites one that was made from this trace",)
    return DeskError(f"{path} exists already{why}", "--id names the episode", *ways)


def target_of(
    opened: DeskState, into: str, out: str, episode_id: str, replaces: str = ""
) -> Target:
    """Return where an episode is written: `into` a draft, or `out` into the folder of a new suite;
    without either, into a new suite of the workspace. An episode made from the trace `replaces` is
    overwritten. Raises DeskError."""
    if into and out:
        raise DeskError(
            "--into and --out are both given",
            "use one of them: --into for an existing draft, --out for a new folder",
            exit_code=ExitCode.USAGE,
        )
    if into:
        folder = suite_folder(opened.place.suites, into)
        if not folder.is_dir():
            raise DeskError(f"{into}: is neither a suite nor a folder", "--out makes a new suite")
        return Target(folder, folder.resolve().name, episode_id, False, replaces)
    folder = Path(out) if out else opened.place.suites / f"{episode_id}-v1"
    name = folder.resolve().name
    if folder.exists() and replaces:
        return Target(folder, name, episode_id, False, replaces)
    if folder.exists():
        raise DeskError(
            f"{folder} exists already",
            "--into adds to an existing draft",
            "--replace overwrites an episode that was made from this trace",
        )
    if (reason := id_problem(name)) is not None:
        raise DeskError(f"{shown(name)}: {reason}", "--out names the folder of the new suite")
    return Target(folder, name, episode_id, True)


def _beside_toolset(episode: dict[str, Any], toolset: Mapping[str, Any]) -> dict[str, Any]:
    """Return the episode without the parts that toolset.json already says of its tools."""
    told = [tool for tool in toolset.get("tools", ()) if isinstance(tool, dict)]
    listed = {tool.get("name"): tool.get("simulator") for tool in told}
    tools = {}
    for name, behavior in episode["simulator"]["tools"].items():
        own = behavior
        if name in listed:
            described = ("description", "parameters")
            own = {member: value for member, value in own.items() if member not in described}
            if same(listed[name], own):
                continue
        tools[name] = own
    rest = {name: value for name, value in episode["simulator"].items() if name != "tools"}
    return {**episode, "simulator": {**rest, "tools": tools} if tools else rest}
