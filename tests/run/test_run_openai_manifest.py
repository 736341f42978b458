"""What keeps a candidate from being run is said before anything is sent, with the way out."""

import hashlib
from pathlib import Path
from typing import Any

import pytest
from openai_server import BRIEF, KEY, KEY_ENV, answer, chat, environment, serving, task_for

from reviewer.running.candidates.openai import (
    CHAT,
    RESPONSES,
    EndpointCandidate,
    OpenAIChat,
    OpenAIResponses,
)
from reviewer.running.model import Unrunnable
from reviewer.suite.candidate import read_candidate

URL = "https://api.example.com/v1"


@pytest.fixture(autouse=True)
def _environment(monkeypatch: pytest.MonkeyPatch) -> None:
    environment(monkeypatch)


def refusal(
    folder: Path, api: type[EndpointCandidate] = OpenAIChat, url: str = URL, **manifest: Any
) -> str | None:
    """Why this manifest cannot be run, None when it can."""
    kind = "openai-chat" if api is OpenAIChat else "openai-responses"
    candidate = task_for(url, kind, **manifest).candidate
    try:
        api.check(candidate, folder)
    except Unrunnable as error:
        return str(error)
    return None


@pytest.mark.parametrize("api", [OpenAIChat, OpenAIResponses])
def test_a_plain_manifest_can_be_run(api: type[EndpointCandidate], tmp_path: Path) -> None:
    assert refusal(tmp_path, api) is None
    assert refusal(tmp_path, api, runner={"api_key_env": None}) is None


def test_an_absent_key_is_named_by_its_variable(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(KEY_ENV)
    assert KEY_ENV in str(refusal(tmp_path))
    monkeypatch.setenv(KEY_ENV, "")
    assert "is not set" in str(refusal(tmp_path))
    with pytest.raises(Unrunnable, match=KEY_ENV):
        OpenAIChat(task_for(URL))


@pytest.mark.parametrize("key", [KEY + "\n", KEY + " ", KEY[:4] + " " + KEY[4:], KEY + "ü"])
def test_a_key_that_fits_no_header_is_refused_without_being_shown(
    key: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(KEY_ENV, key)
    said = str(refusal(tmp_path))
    assert "that keys do not have" in said
    assert KEY[:8] not in said


@pytest.mark.parametrize(
    "url",
    [
        "",
        "api.example.com/v1",
        "ftp://api.example.com",
        "https://",
        "https://api.example.com:port",
        "https://api.example.com:99999",
        "https://api.example.com/a b",
        "https://api.example.com/\x1b[2J",
        "https://[::1/v1",
        "https://user:pass@api.example.com/v1",
        "https://api.example.com/v1?key=1",
        "https://api.example.com/v1#x",
    ],
)
def test_an_address_that_is_none_is_refused(url: str, tmp_path: Path) -> None:
    said = str(refusal(tmp_path, url=url))
    assert "$.runner.base_url:" in said
    assert "\x1b" not in said
    assert "pass" not in said.replace("password", "")


async def test_an_address_may_end_with_a_slash() -> None:
    async with serving(answer(chat())) as server:
        adapter = OpenAIChat(task_for(server.url + "/"))
        await adapter.begin(BRIEF)
        await adapter.close()
    assert server.requests[0].path == "/v1/chat/completions"


@pytest.mark.parametrize(
    ("manifest", "words"),
    [
        ({"model": ""}, "$.model:"),
        ({"runner": {"options": {"stream": True}}}, "$.runner.options.stream:"),
        ({"prices": {"input_usd_per_token": 1}}, "$.prices.input_usd_per_token:"),
        ({"prices": {"input_usd_per_million_tokens": -1}}, "zero or more"),
        ({"prices": {"input_usd_per_million_tokens": float("nan")}}, "zero or more"),
        ({"config": {"temperature": "hot"}}, "$.config.temperature: must be a number"),
        ({"config": {"temperature": True}}, "$.config.temperature: must be a number"),
        ({"config": {"top_p": float("inf")}}, "$.config.top_p: must be a number"),
        ({"config": {"parallel_tool_calls": 1}}, "true or false"),
        ({"config": {"tool_choice": {"function": {"name": "x"}}}}, "$.config.tool_choice:"),
        ({"config": {"temprature": 0}}, "did you mean `temperature`?"),
    ],
)
@pytest.mark.parametrize("api", [OpenAIChat, OpenAIResponses])
def test_a_member_that_cannot_be_meant_is_named(
    api: type[EndpointCandidate], manifest: dict[str, Any], words: str, tmp_path: Path
) -> None:
    assert words in str(refusal(tmp_path, api, **manifest))


@pytest.mark.parametrize(
    ("api", "name", "words"),
    [
        (OpenAIChat, "max_output_tokens", "`max_completion_tokens`"),
        (OpenAIResponses, "max_tokens", "`max_output_tokens`"),
        (OpenAIResponses, "max_completion_tokens", "`max_output_tokens`"),
        (OpenAIResponses, "seed", "openai-chat"),
    ],
)
def test_a_setting_of_the_other_api_is_not_dropped_in_silence(
    api: type[EndpointCandidate], name: str, words: str, tmp_path: Path
) -> None:
    assert words in str(refusal(tmp_path, api, config={name: 7}))


@pytest.mark.parametrize("name", ["max_tokens", "max_completion_tokens"])
@pytest.mark.parametrize("value", [0, -1, 1.5, "10", True])
def test_a_limit_is_a_whole_number(name: str, value: Any, tmp_path: Path) -> None:
    assert f"$.config.{name}:" in str(refusal(tmp_path, config={name: value}))


# prompts ------------------------------------------------------------------------------------------


def prompt(path: str, content: bytes = b"Be kind.") -> dict[str, Any]:
    return {"name": path, "path": path, "sha256": hashlib.sha256(content).hexdigest()}


async def test_prompts_are_system_messages_in_order(tmp_path: Path) -> None:
    (tmp_path / "prompts").mkdir()
    (tmp_path / "prompts" / "a.md").write_bytes(b"Be kind.\n")
    (tmp_path / "b.md").write_bytes("Größe".encode())
    prompts = (
        prompt("prompts/a.md", b"Be kind.\n"),
        {"name": "kept-elsewhere", "sha256": "0" * 64},
        prompt("b.md", "Größe".encode()),
    )
    async with serving(answer(chat())) as server:
        adapter = OpenAIChat(task_for(server, folder=tmp_path, prompts=prompts))
        await adapter.begin(BRIEF)
        await adapter.close()
    assert server.bodies[0]["messages"] == [
        {"role": "system", "content": "Be kind.\n"},
        {"role": "system", "content": "Größe"},
        {"role": "user", "content": BRIEF.user_request},
    ]


def test_a_prompt_that_was_edited_is_refused_with_the_digest_it_has(tmp_path: Path) -> None:
    (tmp_path / "a.md").write_bytes(b"Be quick.")
    said = str(refusal(tmp_path, prompts=(prompt("a.md"),)))
    assert "$.prompts[0].path: `a.md`" in said
    assert hashlib.sha256(b"Be quick.").hexdigest() in said


@pytest.mark.parametrize(
    "path", ["../a.md", "/etc/hostname", "x/../../a.md", "./a.md", "a\\b.md", "gone.md", "folder"]
)
def test_a_prompt_outside_the_folder_or_not_there_is_refused(path: str, tmp_path: Path) -> None:
    suite = tmp_path / "suite"
    (suite / "folder").mkdir(parents=True)
    (tmp_path / "a.md").write_bytes(b"Be kind.")
    assert "$.prompts[0].path: `" in str(refusal(suite, prompts=(prompt(path),)))


@pytest.mark.parametrize("path", ["link.md", "links/a.md"])
def test_a_prompt_is_not_read_through_a_link_out_of_the_folder(path: str, tmp_path: Path) -> None:
    suite, other = tmp_path / "suite", tmp_path / "other"
    suite.mkdir()
    other.mkdir()
    (other / "a.md").write_bytes(b"Be kind.")
    (suite / "link.md").symlink_to(other / "a.md")
    (suite / "links").symlink_to(other)
    assert "$.prompts[0].path:" in str(refusal(suite, prompts=(prompt(path),)))


def test_a_prompt_that_is_not_text_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a.md").write_bytes(b"\xff\xfe")
    assert "not UTF-8" in str(refusal(tmp_path, prompts=(prompt("a.md", b"\xff\xfe"),)))


def test_the_manifest_in_the_documentation_can_be_run(
    repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = (repository / "docs" / "candidates.md").read_text(encoding="utf-8")
    section = text.partition("## openai-chat and openai-responses")[2].partition("\n## ")[0]
    manifest = section.partition("```json\n")[2].partition("```")[0]
    candidate = read_candidate(manifest.encode())
    monkeypatch.setenv(candidate.runner["api_key_env"], KEY)
    (entry,) = candidate.prompts
    written = section.partition("```text\n")[2].partition("```")[0]
    file = tmp_path / entry["path"]
    file.parent.mkdir(parents=True)
    file.write_text(written)
    assert OpenAIChat.check(candidate, tmp_path) is None
    for name in (*CHAT.config, *RESPONSES.config):
        assert f"`{name}`" in section
