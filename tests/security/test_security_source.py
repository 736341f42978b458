"""What the program's own source may not do, whatever it is given: read off every module."""

import ast
from functools import cache
from pathlib import Path
from typing import NamedTuple

import pytest
from doors import REPOSITORY

SOURCES = sorted((REPOSITORY / "reviewer").rglob("*.py"))
RUNS_TEXT = {"eval", "exec", "compile", "__import__"}
SHELLS = {"os.system", "os.popen", "subprocess.getoutput", "subprocess.getstatusoutput",
          "asyncio.create_subprocess_shell"}  # fmt: skip
LOADS = {"pickle", "cPickle", "_pickle", "dill", "cloudpickle", "joblib", "marshal", "shelve",
         "yaml", "ruamel", "jsonpickle", "code", "codeop", "runpy"}  # fmt: skip
NET = {"httpx", "requests", "urllib.request", "http.client", "aiohttp", "websockets", "socket",
       "ftplib", "smtplib", "telnetlib", "ssl", "duckdb", "distributed", "dask", "ray"}  # fmt: skip

ITS_OWN_COPY = "reviewer/cli/head_start.py"
"""Reads answers, pickled, from the pipe of a copy that it made of its own process."""
MAY_REACH = {
    "reviewer/cli/serve.py",  # listens, when asked to
    "reviewer/db/archive/engine.py",  # DuckDB, which is kept from loading what reaches anything
    "reviewer/desk/imports/listening/door.py",  # `listen`: waits for what its clients send
    "reviewer/running/candidates/openai_http.py",  # a judge or a candidate that a manifest names
    "reviewer/running/engines/on_dask.py",  # the scheduler that an order names
    "reviewer/running/engines/on_ray.py",  # the cluster that an order names
    "reviewer/running/mcp_child.py",  # connects to its own server on loopback, to empty its queue
    "reviewer/signing/agent.py",  # the ssh-agent's socket on this machine
}
IN_ITS_OWN_ROOM = "reviewer/running/python_child.py"
"""The process that a Python candidate runs in, which imports the candidate."""


IN_A_SUITE = "reviewer/running/tau2_world.py"
"""A toolkit that suites take over: it runs in the sandbox of toolkits alone, where it imports the
modules beside it."""


SHUT_IN = "reviewer/running/checks/check_child.py"
"""The process that runs a suite's own checks, each in a fork that may do nothing but compute."""

EVENTS_ALONE = "reviewer/suite/yaml_text.py"
"""Takes the events of YAML from its parser, and makes the values itself: nothing there loads."""
OF_EVENTS = {"parse", "SafeLoader", "YAMLError", "MarkedYAMLError"}


class Call(NamedTuple):
    name: str
    line: int
    keywords: frozenset[str | None]
    fixed: bool
    """Whether the first argument is written out."""


class Module(NamedTuple):
    """What of a module's tree the rules ask for: the trees of all modules are large."""

    calls: tuple[Call, ...]
    imports: frozenset[str]
    of_yaml: frozenset[str]


@cache
def read(source: str) -> Module:
    calls, imports, of_yaml = [], set(), set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Call):
            keywords = frozenset(one.arg for one in node.keywords)
            fixed = bool(node.args) and isinstance(node.args[0], ast.Constant)
            calls.append(Call(dotted(node.func), node.lineno, keywords, fixed))
        elif isinstance(node, ast.Attribute):
            if dotted(node.value) == "yaml":
                of_yaml.add(node.attr)
        elif isinstance(node, ast.Import):
            imports |= {one.name for one in node.names}
        elif isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
            imports |= {node.module, *(f"{node.module}.{one.name}" for one in node.names)}
    return Module(tuple(calls), frozenset(imports), frozenset(of_yaml))


def place(path: Path) -> str:
    return path.relative_to(REPOSITORY).as_posix()


def dotted(node: ast.expr) -> str:
    """`a.b.c` for such an expression, else empty."""
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute):
        front = dotted(node.value)
        return f"{front}.{node.attr}" if front else ""
    return ""


def held(names: set[str], wanted: set[str]) -> set[str]:
    return {one for one in names if any(f"{one}.".startswith(f"{name}.") for name in wanted)}


def faults(source: str, where: str) -> list[str]:
    """What a module does that none may."""
    module = read(source)
    found = []
    for call in module.calls:
        runs = call.name in RUNS_TEXT or call.name.removeprefix("builtins.") in RUNS_TEXT
        if (runs and where != SHUT_IN) or call.name in SHELLS:
            found.append(f"{where}:{call.line}: {call.name}()")
        if "shell" in call.keywords:
            found.append(f"{where}:{call.line}: shell=")
    names = set(module.imports)
    if where == EVENTS_ALONE and names & LOADS == {"yaml"}:
        names.discard("yaml")
        others = sorted(module.of_yaml - OF_EVENTS)
        found += [f"{where}: yaml.{n}" for n in others if not n.endswith("Event")]
    if where != ITS_OWN_COPY:
        found += [f"{where}: imports {one}" for one in sorted(held(names, LOADS))]
    if not where.startswith("reviewer/web/") and where not in MAY_REACH:
        found += [f"{where}: imports {one}" for one in sorted(held(names, NET))]
    return found


@pytest.mark.parametrize(
    "source",
    [
        "eval('1')",
        "import builtins\nbuiltins.exec('1')",
        "import os\nos.system('ls')",
        "import subprocess\nsubprocess.run('ls', shell=True)",
        "import pickle",
        "from yaml import load",
        "def f():\n    import httpx",
        "from urllib import request",
    ],
)
def test_each_of_them_would_be_seen(source: str) -> None:
    assert faults(source, "x.py")


def test_the_reader_of_yaml_may_take_events_and_nothing_else() -> None:
    for call, seen in (("yaml.parse(x)", False), ("yaml.load(x)", True), ("yaml.scan(x)", True)):
        assert bool(faults(f"import yaml\n{call}", EVENTS_ALONE)) is seen
    assert faults("from yaml import parse", EVENTS_ALONE)
    assert faults("import yaml\nimport pickle", EVENTS_ALONE)


def test_no_module_runs_a_text_opens_a_shell_or_loads_objects() -> None:
    assert len(SOURCES) > 300
    told = [
        one for path in SOURCES for one in faults(path.read_text(encoding="utf-8"), place(path))
    ]
    assert told == []


def test_the_exceptions_are_needed() -> None:
    """An exception that nothing needs any more is taken off the list."""
    assert faults((REPOSITORY / SHUT_IN).read_text(encoding="utf-8"), "elsewhere.py")
    for where in (ITS_OWN_COPY, EVENTS_ALONE, *MAY_REACH):
        names = set(read((REPOSITORY / where).read_text(encoding="utf-8")).imports)
        assert held(names, LOADS | NET), where


def test_modules_are_imported_by_names_of_our_own() -> None:
    """`import_module` with a name that is not written out stands in few places, each of which makes
    it from a table of ours; but for the candidate's own process, which is given it."""
    places = set()
    for path in SOURCES:
        for call in read(path.read_text(encoding="utf-8")).calls:
            if call.name.endswith("import_module") and not call.fixed:
                places.add(place(path))
    assert places == {
        "reviewer/cli/parser.py",
        "reviewer/cli/main.py",
        "reviewer/gates/__init__.py",
        "reviewer/gates/verdict.py",
        "reviewer/importing/formats/__init__.py",
        "reviewer/running/engines/__init__.py",
        "reviewer/tui/app/finding.py",
        "reviewer/tui/app/places.py",
        "reviewer/tui/screens/scenes.py",
        IN_ITS_OWN_ROOM,
        IN_A_SUITE,
        SHUT_IN,
    }


def test_nothing_of_ours_imports_a_toolkit_of_suites() -> None:
    for path in SOURCES:
        assert "reviewer.running.tau2_world" not in read(path.read_text("utf-8")).imports, path
