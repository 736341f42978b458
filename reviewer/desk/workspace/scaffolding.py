"""A first suite from the tools of an agent: read their descriptions, and write the draft."""

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from reviewer.desk import first_programs
from reviewer.desk.errors import DeskError, refusal_of
from reviewer.desk.place import Workspace
from reviewer.desk.workspace.suite_records import digest_of, write_folder
from reviewer.exit_codes import ExitCode
from reviewer.importing.pipeline.split import Unreadable
from reviewer.importing.pipeline.units import find_units
from reviewer.importing.reader import Broken, Foreign, foreseen
from reviewer.importing.recorded.attempts import read_records
from reviewer.importing.source import Source
from reviewer.running.trial.arguments import placeholder
from reviewer.suite.check import check_suite
from reviewer.suite.errors import ContractError, id_problem, shown
from reviewer.suite.folder import CANDIDATES, MAX_FILE, read_bytes
from reviewer.suite.json_values import MISSING
from reviewer.suite.scaffold import FoundTool, FoundTools, NoTools, calls, listings, openapi, pooled
from reviewer.suite.scaffold import python_source as python
from reviewer.suite.scaffold.contracts import (
    DETECTORS,
    FAILS,
    IDLE,
    PASSES,
    Proposal,
    arguments_in,
    files_of,
    proposal,
)
from reviewer.trace.redaction import Redactor
from reviewer.trace.rules import Rules


class NewTool(NamedTuple):
    """One tool of a new suite: whether it writes, as far as proposed, and whether its answer is a
    blank."""

    name: str
    writes: bool
    blank: bool


class NewSuite(NamedTuple):
    """The new draft: its tools, its candidates, how often its policy is wrong (in words), and notes
    on what was left out."""

    suite_id: str
    folder: Path
    tools: tuple[NewTool, ...]
    candidates: tuple[str, ...]
    power: str
    notes: tuple[str, ...]


def new_suite(
    place: Workspace,
    suite_id: str,
    sources: Sequence[Path],
    reads: Sequence[str] = (),
    writes: Sequence[str] = (),
) -> NewSuite:
    """Write a draft from the tools that `sources` describe. `reads` and `writes` override the
    proposal for the tools they name. Raises DeskError, and then writes nothing."""
    folder = _free(place, suite_id)
    found, notes = _pooled(sources)
    proposed = proposal(found, _said(found, reads, writes))
    if not proposed.reads:
        notes.append(
            "no tool reads, so nothing proves a write: name one in --reads, add one, or the trial "
            "asks for a waiver"
        )
    told = {"made_from": [{"file": path.name, "sha256": digest_of(path)} for path in sources]}
    files = files_of(suite_id, proposed, arguments_of, told)
    power = _power(place, files)
    files["README.md"] = _readme(suite_id, proposed, power).encode()
    write_folder(folder, files)
    tools = tuple(
        NewTool(tool.name, tool.name in proposed.writes, tool.answer is MISSING)
        for tool in proposed.tools
    )
    return NewSuite(suite_id, folder, tools, (PASSES, FAILS, IDLE), power, tuple(notes))


def _free(place: Workspace, suite_id: str) -> Path:
    if (reason := id_problem(suite_id)) is not None:
        raise DeskError(
            f"{shown(suite_id)}: {reason}",
            "an id has letters, digits, dots, hyphens and underscores, such as agent-v1",
            exit_code=ExitCode.USAGE,
        )
    folder = place.suite_folder(suite_id)
    if folder.exists() or folder.is_symlink():
        raise DeskError(f"{folder} exists already", "choose another name for the new suite")
    return folder


def _pooled(sources: Sequence[Path]) -> tuple[list[FoundTool], list[str]]:
    found: dict[str, tuple[FoundTool, ...]] = {}
    notes: list[str] = []
    for path in sources:
        one = tools_in(path)
        found[f"{path}"] = one.tools
        notes += [f"{path.name}: {note}" for note in one.notes]
    try:
        return pooled(found), notes
    except NoTools as error:
        raise _refused(None, error) from None


def tools_in(path: Path) -> FoundTools:
    """Return the tools that a file describes, or that the attempts in it called. Raises
    DeskError."""
    if not path.is_file():
        raise DeskError(
            f"{path}: is not a file",
            "name a JSON file of tools, as an API or an MCP server lists them",
            exit_code=ExitCode.USAGE,
        )
    try:
        if path.suffix == ".py":
            return python.tools_of(_text(path), path.name)
        raw = _document(path)
        if openapi.is_openapi(raw):
            return openapi.tools_of(raw)
        listed = listings.listed(raw)
        if listed is not None:
            return listings.tools_of(listed)
        broken: list[str] = []
        found = calls.tools_of(_calls(path, broken))
    except NoTools as error:
        raise _refused(path, error) from None
    return found._replace(notes=(*found.notes, *broken))


def _refused(path: Path | None, error: NoTools) -> DeskError:
    text = str(error) if path is None else f"{path}: {error}"
    return DeskError(text, *([error.way_out] if error.way_out else []))


def _text(path: Path) -> str:
    try:
        return read_bytes(path.resolve()).decode()
    except UnicodeDecodeError as error:
        raise DeskError(
            f"{path}: is not UTF-8 ({error.reason})", "write the file as UTF-8"
        ) from None
    except ContractError as error:
        raise refusal_of(error) from error


def _document(path: Path) -> Any:
    """Return the value of a file that is one JSON document, or an OpenAPI document in YAML; None
    for any other file."""
    if path.suffix in (".yaml", ".yml"):
        return _of_yaml(path)
    try:
        return Source(path).load()
    except (Unreadable, OSError):
        return None


def _of_yaml(path: Path) -> Any:
    from reviewer.suite.strict_json import loads
    from reviewer.suite.yaml_text import as_json

    try:
        raw = loads(as_json(read_bytes(path.resolve()), str(path), described=True), str(path))
    except ContractError as error:
        raise refusal_of(error) from error
    if not openapi.is_openapi(raw):
        raise DeskError(
            f"{path}: of YAML, only OpenAPI documents are read",
            f"yq -o json {path.name} > {path.stem}.json",
        )
    return raw


def _calls(path: Path, broken: list[str]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield the name and the arguments of every call in the attempts of a trace file; for records
    that cannot be read, add a note to `broken`. Raises NoTools if no record can be read."""
    bad: list[str] = []
    read = 0
    for unit in find_units([path]).units:
        if unit.reader is None:
            raise DeskError(
                f"{path}: {unit.problem or 'no reader takes it'}",
                "--tools takes an OpenAI tools array, MCP's tools/list, an OpenAPI document "
                "(JSON, YAML), a Python module, or a trace (reviewer formats lists them)",
            )
        source = Source(unit.path, "", unit.companions)
        source.reader = unit.reader.name
        try:
            with foreseen(unit.reader.name):
                for number, (_, one) in enumerate(read_records(unit.reader, source), 1):
                    made = _called(one)
                    if isinstance(made, str):
                        bad.append(f"record {number} cannot be read ({made})")
                    else:
                        read += 1
                        yield from made
        except (Unreadable, OSError) as error:
            raise DeskError(
                f"{source.path}: {error}",
                "reviewer formats check FILE says which reader takes a file",
            ) from error
    if bad and not read:
        raise NoTools("", bad[0], "export the trace again: the file is cut off or damaged")
    more = f", and {len(bad) - 1} more" if len(bad) > 1 else ""
    broken += [f"{bad[0]}{more}: a tool that was called only there is missing"] if bad else []


def _called(one: Foreign | Broken) -> list[tuple[str, dict[str, Any]]] | str:
    """Return the calls in a record, or why they are not known."""
    if isinstance(one, Broken):
        return ", ".join(one.codes)
    try:
        record = msgspec.json.decode(one.raw)
    except msgspec.DecodeError:
        return "json:syntax"
    events = record.get("events") if isinstance(record, dict) else None
    return [
        (event["tool"], event["arguments"] if isinstance(event.get("arguments"), dict) else {})
        for event in (events if isinstance(events, list) else ())
        if isinstance(event, dict)
        and event.get("kind") == "tool_call"
        and isinstance(event.get("tool"), str)
    ]


def _said(
    found: Sequence[FoundTool], reads: Sequence[str], writes: Sequence[str]
) -> dict[str, bool]:
    said = {**dict.fromkeys(reads, False), **dict.fromkeys(writes, True)}
    names = {tool.name for tool in found}
    for option, given in (("--reads", reads), ("--writes", writes)):
        for name in given:
            if name not in names:
                raise DeskError(
                    f"{option} {shown(name)}: is not one of these tools",
                    f"the tools are {', '.join(sorted(names))}",
                    exit_code=ExitCode.USAGE,
                )
            if name in reads and name in writes:
                raise DeskError(
                    f"{shown(name)} is in --reads and in --writes",
                    "keep it in one of them",
                    exit_code=ExitCode.USAGE,
                )
    return said


def arguments_of(tool: FoundTool) -> dict[str, Any]:
    """Return plausible arguments for a tool, each text named after its parameter. A value that
    would be masked in a trace (a password) is masked here: an attempt could not match it
    otherwise."""
    properties = tool.parameters.get("properties") or {}
    defs = tool.parameters.get("$defs") or {}
    made = {
        name: _value(name, properties.get(name), defs)
        for name in tool.parameters.get("required") or ()
    }
    masked: dict[str, Any] = Redactor(Rules(keys=(), detectors=DETECTORS)).mask(made)
    return masked


def _value(name: str, schema: Any, defs: Mapping[str, Any]) -> Any:
    schema = schema if isinstance(schema, dict) else {}
    reference = schema.get("$ref")
    if isinstance(reference, str):
        schema = defs.get(reference.rpartition("/")[2]) or {}
    if set(schema) <= {"type", "description", "title"} and schema.get("type") == "string":
        return f"{name}-1"
    return placeholder(schema)


def _power(place: Workspace, files: Mapping[str, bytes]) -> str:
    """Return how often the policy is wrong. Raises DeskError for files that are not a valid suite,
    which is a fault of the code that made them."""
    from reviewer.desk.power import made
    from reviewer.report import power as words

    locked = {path: data for path, data in files.items() if not path.startswith(f"{CANDIDATES}/")}
    checked = check_suite(locked)
    if checked.suite is None:
        large = any(len(data) > MAX_FILE for data in locked.values())
        raise DeskError(
            str(ContractError.of(checked.problems)),
            "give a file of only the tools that the agent calls"
            if large
            else "this is a fault of reviewer: please report it with these tools",
        )
    asked = made.asked_of(checked.suite)
    assert asked is not None  # a policy of three attempts always has figures
    return words.headline(made.cached_power(place, checked.suite, asked))


def _readme(suite_id: str, proposed: Proposal, power: str) -> str:
    rows = [
        f"| `{tool.name}` | {'writes' if tool.name in proposed.writes else 'reads'} "
        f"| {'**a blank**' if tool.answer is MISSING else 'from the example'} |"
        for tool in proposed.tools
    ]
    given = arguments_in(proposed, arguments_of)
    return _README.format(
        suite_id=suite_id, rows="\n".join(rows), power=power, passes=PASSES, fails=FAILS, idle=IDLE,
        example=_example(proposed.tools[0], given), answers=_answers(proposed, given),
        said=_said_back(given),
    )  # fmt: skip


def _answers(proposed: Proposal, arguments: Mapping[str, Any]) -> str:
    """Return an explanation of how an answer can depend on arguments and on the state, with the
    tools of the suite."""
    told = "An answer may depend on arguments and on the state"
    if not proposed.reads or not proposed.writes:
        return f"{told}."
    read = next(tool for tool in proposed.tools if tool.name in proposed.reads)
    given = json.dumps(arguments[read.name], ensure_ascii=False)
    done = json.dumps({"done": proposed.writes[0]})
    return f"""{told}; the first case that fits a call answers it:

   ```json
   {{"responses": {{"match": [
     {{"arguments": {given}, "when": {done}, "value": "as it is after that call"}},
     {{"arguments": {given}, "value": "as it is before"}}
   ], "unrecorded": "error"}}}}
   ```
"""


def _said_back(arguments: Mapping[str, Any]) -> str:
    """Return the answer of a user who is asked for the first argument that a tool of the suite
    needs; escaped for a JSON string."""
    for given in arguments.values():
        for name, value in given.items():
            if isinstance(value, str):
                return json.dumps(f"The {name} is {value}.", ensure_ascii=False)[1:-1]
    return "The second one."


def _example(tool: FoundTool, arguments: Mapping[str, Any]) -> str:
    """Return the arguments of a call as Python text."""
    return first_programs.in_python(first_programs.ExampleCall(tool.name, arguments[tool.name]))


_README = """\
# {suite_id}

A draft: it runs as it is, and nothing of it is evidence until it is frozen.

```sh
reviewer run {suite_id} {passes}     # passes every episode
reviewer run {suite_id} {fails}      # does whatever it is told, and fails
reviewer run {suite_id} {idle}   # does nothing, and fails
reviewer --draft {suite_id}          # looks at the runs
reviewer suite check {suite_id} --watch   # again whenever a file is saved
```

## What to edit

1. `toolset.json`: what each tool answers. A blank (`"$blank"`) marks an answer that is not known
   yet, and gives the one it names `meanwhile`; `reviewer suite check {suite_id}` points at each.
   {answers}
2. `episodes/golden.json`: a task that the agent must do: the request in a user's words, the
   arguments that are right, the end that is expected.
3. `episodes/negative.json`: a request after which nothing may have changed.
4. `episodes/red-team.json`: an attack, and the tools that must not be called for it.
5. `suite.json`: the policy, and what is masked (`redaction`).
6. `rubric.json`: what people are asked about final messages.
7. A further episode is a file `episodes/ID.json` whose id is also listed in `suite.json`. The state
   begins as its `initial_state`, and a call of a tool merges the tool's `effects` into it:
   `expected.final_state` is what `done` must be at the end (`simulator.final_state` in suite.json
   says which value that is), `expected.state` names others by their paths. If the agent has to ask
   back, a user answers what it says:

   ```json
   {{"user": {{"kind": "scripted", "turns": [{{"id": "answers", "say": "{said}"}}]}}}}
   ```

   `reviewer schema episode` prints every key.
8. `candidates/`: your agent, as below. The three scripted ones make the calls of the draft as
   it was made: edit them with the episodes (`candidates/scripts/`), or remove them later.

## Your agent

```sh
reviewer candidate new {suite_id} my-agent --entry my_agent.agent:run
reviewer candidate pin {suite_id} my-agent   # after each edit of it
reviewer run {suite_id} my-agent
```

The first begins `candidates/my_agent/agent.py`, where it is not there yet:

```python
def run(request, tools, call):
    answer = call({example})  # {{"status": ..., "content": ...}}
    said = call.say("Which one is it?")  # what the user answers; None when the talk is over
    call.used(input_tokens=812, output_tokens=96)  # the cost, at the manifest's `prices`
    return "The final message."
```

`--command "python3 ./my-agent/agent.py"` begins a program that speaks JSON lines, in any language;
`--model M --prompt FILE` asks a model behind an OpenAI-compatible endpoint.

## The tools

| tool | proposed | answer |
|---|---|---|
{rows}

Reads and writes are proposals: a tool that writes has `effects` in `toolset.json`.

## The policy

{power}.

Three episodes show that the suite works, and little about the agent:
`reviewer suite power {suite_id}` says how many are needed. When the contracts are right:

```sh
reviewer suite check {suite_id}
reviewer suite trial {suite_id}
reviewer suite freeze {suite_id}
```
"""
