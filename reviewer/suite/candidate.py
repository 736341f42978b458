# ruff: noqa: RUF012 (msgspec gives each instance its own copy of an empty default)
"""The candidate manifest: which agent, by digest. It is the subject of a signed decision."""

from collections.abc import Mapping, Set
from functools import lru_cache
from typing import Annotated, Any, ClassVar, Literal

from reviewer.suite.errors import ContractError, shown
from reviewer.suite.fields import (
    COMPUTED,
    Amount,
    EntryPoint,
    File,
    Id,
    Limits,
    Name,
    Names,
    Positive,
    Sha256,
    Text,
    repeated,
)
from reviewer.suite.strict_json import canonical_bytes, load_object, sha256_hex
from reviewer.suite.value import Value, learned
from reviewer.suite.values import converted


class Prompt(Value, frozen=True, kw_only=True):
    """A prompt, by digest. `path`, inside the suite folder, is where its text stands; a runner that
    sends it checks the digest first."""

    name: Annotated[Name, "The prompt's name, once per manifest."]
    version: Annotated[str, "Its version."] = ""
    sha256: Annotated[Sha256, "Digest of its text."]
    path: Annotated[Text | None, "Where its text is, inside the suite folder."] = None


class Tool(Value, frozen=True):
    name: Annotated[Name, "The tool's name, once per manifest."]
    version: Annotated[str, "Its version."] = ""
    sha256: Annotated[Sha256 | None, "Digest of its definition. Null: not known."] = None


Pointer = Annotated[str, Limits(pattern=r"^(/[^/]+)+$", max_length=500)]


class Output(Value, frozen=True, kw_only=True):
    """What an agent prints, and where in it the final message and the tokens are. A place is a
    JSON Pointer (RFC 6901); counts of several places are added."""

    form: Annotated[
        Literal["text", "line", "json", "jsonl"],
        "All of it is the final message; or its last line is; or it is one JSON value; or JSON "
        "lines, where a place is looked for in each.",
    ] = "text"
    message: Annotated[Pointer | None, "Of JSON: where the final message is."] = None
    input_tokens: Annotated[
        tuple[Pointer, ...], "Of JSON: where the tokens of all input are. Empty: not reported."
    ] = ()
    output_tokens: Annotated[tuple[Pointer, ...], "Where the tokens of the output are."] = ()
    cached_input_tokens: Annotated[
        tuple[Pointer, ...], "Where the tokens of the cached part of the input are."
    ] = ()

    def problem(self, given: Set[str]) -> str | None:
        places = (self.message, self.input_tokens, self.output_tokens, self.cached_input_tokens)
        if self.form in ("json", "jsonl"):
            return None if self.message else f"the form {self.form} needs `message`, a JSON Pointer"
        if any(places):
            return f"the form {self.form} has no places: write json or jsonl, or leave them out"
        return None


PROGRAMS = frozenset({"command", "python", "mcp"})
"""Kinds of candidates that are programs of their own on this machine."""


class Runner(Value, frozen=True):
    """How the candidate is run. `script` is a path inside the suite folder and `script_sha256` its
    digest; `code_sha256` is the digest of all its code; `api_key_env` names the environment
    variable that holds the key (a key itself is never written here). `environment` names further
    variables that a program is given; `network` lets it reach the network.
    `requests_per_minute` is for its host."""

    kind: Annotated[
        Literal["scripted", "openai-chat", "openai-responses", "command", "python", "mcp"],
        "Which runner runs it.",
    ]
    script: Annotated[Text | None, "Of `scripted`: the script, inside the suite folder."] = None
    script_sha256: Annotated[Sha256 | None, "Digest of the script."] = None
    base_url: Annotated[Text | None, "Where the model's interface is."] = None
    api_key_env: Annotated[
        Text | None, "The environment variable that holds the key, never the key itself."
    ] = None
    command: Annotated[
        Annotated[tuple[str, ...], Limits(min_length=1)] | None,
        "Of `command` and `mcp`: the program and its arguments. That of `command` reads and writes "
        "JSON lines.",
    ] = None
    transport: Annotated[
        Literal["stdio", "http"],
        "Of `mcp`: how the agent reaches its tools. HTTP, on loopback, needs `network`.",
    ] = "stdio"
    output: Annotated[
        Output | None,
        "Of `mcp`: how to read what the agent prints. Null: all of it is its final message.",
    ] = None
    entry: Annotated[
        EntryPoint | None,
        "Of `python`: the function, as `module:function`. `run(request, tools, call)` returns the "
        "final message; `call(tool, argument=value)` gives `status` and `content`.",
    ] = None
    python: Annotated[
        Text | None,
        "Of `python`: an interpreter of its own, or the folder of a virtual environment, as an "
        "absolute path. Null: that of reviewer.",
    ] = None
    code_sha256: Annotated[
        Sha256 | None,
        "Digest of the candidate's code, as `reviewer suite code` prints it: no attempt is made "
        "with another. Null: the manifest pins the code only where it names a digest for each of "
        "its files.",
    ] = None
    timeout_s: Annotated[Annotated[float, Limits(gt=0)] | None, "Seconds that a turn may take."] = (
        None
    )
    max_turns: Annotated[Positive | None, "Turns that an attempt may take."] = None
    environment: Annotated[
        Names, "Further environment variables that a command or Python candidate is given."
    ] = ()
    network: Annotated[bool, "Whether it may reach the network."] = False
    requests_per_minute: Annotated[
        Positive | None, "Most requests to its host in a minute. Null sets no limit."
    ] = None
    options: Annotated[dict[str, Any], "Further options, sent to the model as they are."] = {}

    def problem(self, given: Set[str]) -> str | None:
        member = {"scripted": "script", "python": "entry", "command": "command", "mcp": "command"}
        needs = member.get(self.kind)
        if needs is not None and getattr(self, needs) is None:
            return f"a {self.kind} runner needs `{needs}`"
        return None


class Candidate(Value, frozen=True):
    """candidates/<candidate_id>.json: one version of an agent, by digest."""

    SCHEMA: ClassVar[str] = "reviewer/candidate@1"

    candidate_id: Annotated[Id, "The candidate's id, and the name of its file."]
    # The sha256 (hex) of the manifest's RFC 8785 bytes.
    digest: Annotated[str, COMPUTED]
    agent: Annotated[str, "The agent that it is a version of."] = ""
    version: Annotated[str, "Which version."] = ""
    authors: Annotated[Names, "Who made it: none of them may approve it."] = ()
    model: Annotated[str, "The model that it asks."] = ""
    prompts: Annotated[
        tuple[dict[str, Any], ...], File(tuple[Prompt, ...]), "Its prompts, by digest."
    ] = ()
    tools: Annotated[tuple[dict[str, Any], ...], File(tuple[Tool, ...]), "Its tools."] = ()
    config: Annotated[dict[str, Any], "Its configuration; free."] = {}
    runner: Annotated[
        dict[str, Any],
        File(Runner | None, None),
        "How it is run. Null: its traces are only imported.",
    ] = {}
    prices: Annotated[
        dict[str, Any], File(dict[Name, Amount]), "What its model costs, in USD."
    ] = {}

    def problem(self, given: Set[str]) -> str | None:
        # The border's model holds prompts and tools as values with names.
        prompts: Any = self.prompts
        tools: Any = self.tools
        return repeated(prompt.name for prompt in prompts) or repeated(tool.name for tool in tools)


learned(Candidate)


def candidate_value(raw: Mapping[str, Any], digest: str, file: str = "candidate") -> Candidate:
    """Return the manifest as a value; `digest` is the sha256 (hex) of its canonical bytes."""
    said = {name: part for name, part in raw.items() if part is not None}
    return converted({**said, "digest": digest}, Candidate, file)


def read_candidate(data: bytes, file: str = "candidate.json") -> Candidate:
    """Return the manifest as a value, its digest computed. ContractError with every problem
    found."""
    # Imported here, so that a manifest already validated (`trusted_candidate`) needs no pydantic.
    from reviewer.suite.border import read_shape

    return _value(read_shape(data, file, Candidate), file)


@lru_cache(64)
def trusted_candidate(data: bytes, file: str = "candidate.json") -> Candidate:
    """Return the same as `read_candidate` for bytes that passed it before: the shape is not checked
    again."""
    return _value(load_object(data, file), file)


@lru_cache(64)
def manifest_bytes(data: bytes, file: str = "candidate.json") -> bytes:
    """Return the RFC 8785 bytes of a manifest, over which the digest is computed and which a
    verifier hashes."""
    return canonical_bytes(load_object(data, file), file)


def _value(raw: dict[str, Any], file: str) -> Candidate:
    candidate = candidate_value(raw, sha256_hex(canonical_bytes(raw, file)), file)
    folder, _, name = file.replace("\\", "/").rpartition("/")
    if folder.endswith("candidates") and name != f"{candidate.candidate_id}.json":
        reason = f"`{shown(candidate.candidate_id)}` must be in a file with that name"
        raise ContractError(file, "$.candidate_id", reason)
    return candidate
