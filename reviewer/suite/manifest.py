# ruff: noqa: RUF012 (pydantic gives each instance its own copy of a mutable default)
"""The shape of a candidate's manifest (pydantic)."""

from typing import Annotated, Any, Literal

from pydantic import Field, model_validator

from reviewer.suite.fields import (
    Amount,
    EntryPoint,
    Id,
    Name,
    Names,
    Positive,
    Sha256,
    Shape,
    Text,
    once,
)


class PromptShape(Shape):
    """A prompt, by digest. `path`, inside the suite folder, is where its text stands; a runner that
    sends it checks the digest first."""

    name: Name
    version: str = ""
    sha256: Sha256
    path: Text | None = None


class ToolShape(Shape):
    name: Name
    version: str = ""
    sha256: Sha256 | None = None


class RunnerShape(Shape):
    """How the candidate is run. `script` is a path inside the suite folder and `script_sha256` its
    digest; `api_key_env` names the environment variable that holds the key (a key itself is never
    written here). `environment` names further variables that a command or Python candidate is
    given; `network` lets it reach the network. `requests_per_minute` is for its host."""

    kind: Literal["scripted", "openai-chat", "openai-responses", "command", "python"]
    script: Text | None = None
    script_sha256: Sha256 | None = None
    base_url: Text | None = None
    api_key_env: Text | None = None
    command: Annotated[list[str], Field(min_length=1)] | None = None
    entry: EntryPoint | None = None
    timeout_s: Annotated[float, Field(gt=0)] | None = None
    max_turns: Positive | None = None
    environment: Names = []
    network: bool = False
    requests_per_minute: Positive | None = None
    options: dict[str, Any] = {}

    @model_validator(mode="after")
    def _has_what_its_kind_needs(self) -> "RunnerShape":
        needs = {"scripted": "script", "command": "command", "python": "entry"}.get(self.kind)
        if needs is not None and getattr(self, needs) is None:
            raise ValueError(f"a {self.kind} runner needs `{needs}`")
        return self


class CandidateShape(Shape):
    """candidates/<candidate_id>.json: one version of an agent, by digest."""

    schema_: Literal["reviewer/candidate@1"] = Field(alias="schema")
    candidate_id: Id
    agent: str = ""
    version: str = ""
    authors: Names = []
    model: str = ""
    prompts: list[PromptShape] = []
    tools: list[ToolShape] = []
    config: dict[str, Any] = {}
    runner: RunnerShape | None = None
    prices: dict[Name, Amount] = {}

    @model_validator(mode="after")
    def _parts_differ(self) -> "CandidateShape":
        once([prompt.name for prompt in self.prompts])
        once([tool.name for tool in self.tools])
        return self
