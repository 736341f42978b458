"""Every format that can be imported: a module each, or a folder where one takes several modules.

Other packages may provide their own: an entry point of the group `reviewer.readers` names a class
(or a function without arguments) that returns a reader. Built-in readers are asked first, so that
no installed package can take over a known format.
"""

from collections.abc import Iterator
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, cast

from reviewer.importing.reader import DocumentReader, Foreign, Reader, RecordReader, show

if TYPE_CHECKING:
    from reviewer.importing.head import Head

OURS = (
    "databases.opencode:OpenCodeDatabaseReader",
    "databases.goose:GooseDatabaseReader",
    "databases.google_adk:GoogleAdkDatabaseReader",
    "databases.openai_agents:OpenAIAgentsDatabaseReader",
    "databases.deepeval:DeepEvalDatabaseReader",
    "databases.crewai:CrewAIDatabaseReader",
    "databases.promptfoo:PromptfooDatabaseReader",
    "inspect_ai.reader:InspectReader",
    "harbor.reader:HarborReader",
    "terminal_bench:TerminalBenchReader",
    "harbor.atif:AtifReader",
    "swe.mini_swe_agent:MiniSweAgentReader",
    "swe.swe_bench:SweBenchReader",
    "openhands:OpenHandsReader",
    "swe.swe_agent:SweAgentReader",
    "tau_bench:TauBenchReader",
    "tau2:Tau2Reader",
    "webarena:WebArenaReader",
    "webarena_verified:WebArenaVerifiedReader",
    "agentlab:AgentLabReader",
    "osworld:OsWorldReader",
    "gaia:GaiaReader",
    "smolagents_memory:SmolagentsMemoryReader",
    "hal:HalReader",
    "agentbench:AgentBenchReader",
    "bfcl:BfclReader",
    "promptfoo:PromptfooReader",
    "openai_evals:OpenAIEvalsReader",
    "deepeval:DeepEvalReader",
    "stores.langsmith:LangSmithReader",
    "stores.mlflow:MlflowReader",
    "stores.weave:WeaveReader",
    "stores.opik:OpikReader",
    "stores.braintrust:BraintrustReader",
    "otel.otlp:OtlpReader",
    "otel.otlp:TempoReader",
    "otel.otlp:JaegerReader",
    "otel.exports:LangfuseReader",
    "otel.exports:OpenInferenceReader",
    "sessions.claude_code:ClaudeCodeReader",
    "sessions.claude_stream:ClaudeStreamReader",
    "sessions.managed_agents:ManagedAgentsReader",
    "ag2:Ag2Reader",
    "crewai:CrewAIReader",
    "google_adk:GoogleAdkReader",
    "openai_runstate:OpenAIRunStateReader",
    "strands:StrandsReader",
    "sessions.codex:CodexReader",
    "sessions.codex_exec:CodexExecReader",
    "sessions.gemini_cli:GeminiCliReader",
    "sessions.gemini_stream:GeminiStreamReader",
    "sessions.opencode:OpenCodeReader",
    "sessions.opencode:OpenCodeRunReader",
    "sessions.goose:GooseReader",
    "sessions.pi:PiSessionReader",
    "sessions.acp:AcpReader",
    "sessions.mcp:McpReader",
    "chat.langchain:AgentEvalsReader",
    "chat.dialects:AgentDojoReader",
    "chat.langgraph:LangGraphHistoryReader",
    "chat.langchain:LangChainReader",
    "chat.openai:OpenAIAgentsReader",
    "chat.openai:OpenAIResponsesReader",
    "sessions.cline:ClineReader",
    "sessions.cline_task:ClineTaskReader",
    "chat.dialects:AnthropicMessagesReader",
    "chat.dialects:AutoGenReader",
    "chat.dialects:BedrockConverseReader",
    "chat.dialects:VercelModelReader",
    "chat.dialects:VercelUIReader",
    "chat.vercel_stream:VercelStreamReader",
    "chat.dialects:GeminiReader",
    "chat.dialects:GenAIMessagesReader",
    "chat.dialects:PiReader",
    "chat.dialects:HermesReader",
    "chat.dialects:OpenAIChatReader",
)  # fmt: skip
"""Most specific first: a file is read by the first reader that claims it."""
GROUP = "reviewer.readers"


class NativeReader:
    """Native traces: JSON, JSONL and arrays, in the articles' record form or the long form."""

    name = "native"
    version = "1"
    probe = False

    def sniff(self, head: "Head") -> bool:
        """Return True: a JSON file that no other reader claims is read as native, so that each of
        its records says what it lacks."""
        return True

    def suite_id(self, path: Path) -> str:
        return ""

    def candidate_id(self, path: Path) -> str:
        return ""

    def read(self, raw: bytes, candidate_id: str) -> Foreign:
        return Foreign(raw)


@cache
def native_reader() -> Reader:
    """Return the reader of reviewer's own records, which claims every file that no other reader
    does."""
    return NativeReader()


def in_turn() -> Iterator[Reader]:
    """Yield every other reader, in the order in which they are asked; each is loaded when its turn
    comes."""
    yield from map(_made, OURS)
    yield from _installed()


@cache
def foreign_readers() -> tuple[Reader, ...]:
    """Return every other reader, in the order they are asked."""
    return tuple(in_turn())


def all_readers() -> tuple[Reader, ...]:
    """Return every reader, most specific first, the native one last."""
    return (*foreign_readers(), native_reader())


def named(name: str) -> Reader:
    """Return the reader of that name. Raises KeyError."""
    if name == "native":
        return native_reader()
    if (own := _own_named(name)) is not None:
        return own
    for reader in _installed():
        if reader.name == name:
            return reader
    raise KeyError(name)


@cache
def _own_named(name: str) -> Reader | None:
    return next((reader for reader in map(_made, OURS) if reader.name == name), None)


def others_asked() -> bool:
    """Return whether readers of other packages were loaded."""
    return _installed.cache_info().currsize > 0


def problems() -> tuple[str, ...]:
    """Return why readers of other packages could not be used, one sentence each; empty until they
    were loaded for a file that no built-in reader claims."""
    return tuple(_problems)


_problems: list[str] = []


@cache
def _made(place: str) -> Reader:
    module, _, name = place.partition(":")
    return cast(Reader, getattr(import_module(f"reviewer.importing.formats.{module}"), name)())


@cache
def _installed() -> tuple[Reader, ...]:
    from importlib.metadata import entry_points  # slow to load, and native records need none

    found: list[Reader] = []
    for entry in sorted(entry_points(group=GROUP), key=lambda one: one.name):
        try:
            reader = entry.load()()
        except Exception as error:  # another author's package must not stop an import
            show(error, entry.name)
            _problems.append(f"reader {entry.name}: {type(error).__name__} while loading it")
            continue
        if isinstance(reader, (RecordReader, DocumentReader)):
            found.append(reader)
        else:
            _problems.append(f"reader {entry.name}: neither a RecordReader nor a DocumentReader")
    return tuple(found)
