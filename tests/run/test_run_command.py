"""A command as a candidate: what it is told, what it may write, and what becomes of one that does
not keep to it."""

import asyncio
import os
import shutil
import sys
import uuid
from pathlib import Path
from typing import Any

import pytest
from run_guests import (
    BRIEF,
    KINDS,
    LOOK,
    PRICES,
    answers,
    closing,
    command,
    hold,
    message_of,
    running,
    task,
    up,
    workspace,
    written,
)

from reviewer.running.candidates import adapter_for, check_runnable
from reviewer.running.candidates.program import CommandCandidate
from reviewer.running.model import Call, CandidateFault, Observation, Task, Turn, Unrunnable
from reviewer.running.prices import Usage
from reviewer.suite.strict_json import sha256_hex

ABSENT = "reviewer-no-such-program"


@pytest.fixture
def suite(tmp_path: Path) -> Path:
    return workspace(tmp_path / "desk")


async def first(work: Task) -> Turn:
    async with closing(CommandCandidate(work)) as guest:
        return await guest.begin(BRIEF)


async def fault(work: Task) -> CandidateFault:
    with pytest.raises(CandidateFault) as caught:
        await first(work)
    return caught.value


# the conversation ---------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
async def test_a_command_calls_is_answered_and_ends(
    kind: str, suite: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hold(kind, monkeypatch)
    program = """
        say(type="call", call_id="a", tool="look", arguments={"at": "é"}, message="looking")
        first = ask()
        say(type="calls", calls=[{"call_id": n, "tool": "look"} for n in ("b", "c")])
        say(type="final", message=json.dumps([start, first, ask()]))
    """
    async with closing(CommandCandidate(command(suite, program))) as guest:
        turn = await guest.begin(BRIEF)
        assert turn == Turn((Call("a", "look", {"at": "é"}),), "looking")
        turn = await guest.proceed([Observation("a", "look", "ok", {"seen": [1, None, "é\u2028"]})])
        assert turn.calls == (Call("b", "look", {}), Call("c", "look", {}))
        turn = await guest.proceed(answers(turn, "x", {"error": "late"}, status="timeout"))
    assert turn.calls == ()
    told, first_answer, second_answer = message_of(turn)
    assert told == {
        "type": "start",
        "user_request": BRIEF.user_request,
        "tools": [{"name": "look", "description": "Looks.", "parameters": LOOK.parameters}],
    }
    assert first_answer == {
        "type": "observations",
        "observations": [
            {
                "call_id": "a",
                "tool": "look",
                "status": "ok",
                "content": {"seen": [1, None, "é\u2028"]},
            }
        ],
    }
    assert [o["status"] for o in second_answer["observations"]] == ["timeout", "timeout"]


async def test_its_input_is_closed_at_the_end_and_it_may_leave_by_itself(
    suite: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hold("none", monkeypatch)
    mark = tmp_path / "left-by-itself"
    program = f"""
        say(type="final", message="done")
        if ask() is None:
            open({str(mark)!r}, "w").close()
    """
    await first(command(suite, program))
    assert mark.exists()


async def test_usage_is_priced_and_what_is_not_said_is_not_known(suite: Path) -> None:
    program = """
        def call(number, **more):
            say(type="call", call_id=number, tool="look", **more)
            ask()
        call("a", usage={"input_tokens": 1000, "output_tokens": 100, "cached_input_tokens": 500})
        call("b")
        call("c", usage={"input_tokens": 1000})
        say(type="final", message="done", usage={"input_tokens": 0, "output_tokens": 0})
    """
    turns = []
    async with closing(CommandCandidate(command(suite, program, prices=PRICES))) as guest:
        turns.append(await guest.begin(BRIEF))
        while turns[-1].calls:
            turns.append(await guest.proceed(answers(turns[-1])))
    assert [turn.cost_usd for turn in turns] == [0.003, None, None, 0.0]
    assert turns[0].usage == Usage(1000, 100, 500)
    assert turns[1].usage is None


async def test_a_cost_of_its_own_is_refused(suite: Path) -> None:
    said = await fault(command(suite, 'say(type="final", message="x", cost_usd=0.0)'))
    assert "$.cost_usd: is not known here" in said.text


EXAMPLES = {"perl": "candidate.pl", "node": "candidate.mjs"}


@pytest.mark.parametrize("interpreter", EXAMPLES)
@pytest.mark.parametrize("kind", KINDS)
async def test_the_examples_in_other_languages_run(
    kind: str, interpreter: str, suite: Path, repository: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if shutil.which(interpreter) is None:
        pytest.skip(f"{interpreter} is not installed")
    hold(kind, monkeypatch)
    name = EXAMPLES[interpreter]
    shutil.copy(repository / "docs" / "examples" / name, suite / "candidates" / name)
    work = task(suite, {"kind": "command", "command": [interpreter, f"./{name}"]})
    async with closing(CommandCandidate(work)) as guest:
        turn = await guest.begin(BRIEF)
        assert [call.tool for call in turn.calls] == ["look"]
        turn = await guest.proceed(answers(turn, {"lamp": "broken"}))
    assert turn.calls == ()
    assert '{"lamp":"broken"}' in (turn.message or "")


# hostile ones -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("program", "told"),
    [
        ("sys.exit(3)", "ended with exit status 3 before its final message"),
        ("raise ValueError('of mine')", "ValueError: of mine"),
        ("os.kill(os.getpid(), 9)", "exit status 137"),
        ("print('garbage', flush=True); ask()", "line 1 of its output: $: not JSON"),
        ("os.write(1, b'{' * (9 << 20)); ask()", "a line of more than 8 MiB"),
        ("while True: os.write(2, b'x' * 65536)", "more than 64 MiB"),
        ("while True: os.write(1, b'x\\n' * 9999)", "before it was asked for one"),
    ],
)
@pytest.mark.parametrize("kind", ["bubblewrap", "none"])
async def test_one_that_breaks_off_or_floods_fails_with_its_reason(
    kind: str, program: str, told: str, suite: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hold(kind, monkeypatch)
    said = await fault(command(suite, program))
    assert told in said.text
    assert said.reason == "candidate_error"


async def test_one_that_closes_its_output_has_ended_its_part(
    suite: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hold("none", monkeypatch)
    said = await fault(command(suite, "os.close(1); ask()"))
    assert "closed its output before its final message" in said.text


async def test_in_bubblewrap_closing_the_output_is_the_same_as_silence(
    suite: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hold("bubblewrap", monkeypatch)
    said = await fault(command(suite, "os.close(1); ask()", timeout_s=0.5))
    assert said.reason == "candidate_timeout"


async def test_a_line_before_its_turn_is_a_fault(suite: Path) -> None:
    program = """
        call = {"type": "call", "call_id": "a", "tool": "look"}
        final = {"type": "final", "message": "I knew it"}
        sys.stdout.write(json.dumps(call) + "\\n" + json.dumps(final) + "\\n")
        sys.stdout.flush()
        ask()
    """
    async with closing(CommandCandidate(command(suite, program))) as guest:
        with pytest.raises(CandidateFault, match="before it was asked"):
            await guest.proceed(answers(await guest.begin(BRIEF)))


async def test_a_flood_of_complaints_does_not_stop_it(suite: Path) -> None:
    program = """
        for _ in range(200):
            sys.stderr.write("x" * 65536)
        say(type="final", message="done")
    """
    assert (await first(command(suite, program))).message == "done"


@pytest.mark.parametrize("kind", KINDS)
async def test_one_that_never_ends_is_ended_with_all_it_started(
    kind: str, suite: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hold(kind, monkeypatch)
    token = uuid.uuid4().hex
    program = f"""
        import signal, subprocess
        for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
            signal.signal(number, signal.SIG_IGN)
        subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)", {token!r}],
                         start_new_session=True)
        say(type="call", call_id="a", tool="look")
        while True:
            pass
    """
    async with closing(CommandCandidate(command(suite, program))) as guest:
        turn = await guest.begin(BRIEF)
        if sys.platform == "linux":
            await up(token, 1)
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.1):
                await guest.proceed(answers(turn))
    if sys.platform == "linux":
        assert running(token) == []


async def test_a_turn_may_take_as_long_as_the_manifest_says(suite: Path) -> None:
    said = await fault(command(suite, "ask(); ask()", timeout_s=0.2))
    assert said.reason == "candidate_timeout"
    assert "within 0.2 s" in said.text


async def test_closing_twice_or_before_the_beginning_does_nothing(suite: Path) -> None:
    guest = CommandCandidate(command(suite, 'say(type="final", message="done")'))
    await guest.close()
    await guest.begin(BRIEF)
    await guest.close()
    await guest.close()


async def test_its_last_words_are_cut_masked_and_inert(
    suite: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GUEST_KEY", "sk-very-secret-key")
    program = """
        sys.stderr.write("\\x1b[31mwrite to jane.doe@example.com, key " + os.environ["GUEST_KEY"])
        sys.stderr.write("y" * 2000)
        sys.exit(1)
    """
    said = (await fault(command(suite, program, api_key_env="GUEST_KEY"))).text
    assert "sk-very-secret-key" not in said
    assert "jane.doe@example.com" not in said
    assert "\x1b" not in said
    assert len(said) < 1000


async def test_it_is_given_the_variables_its_manifest_names_and_no_others(
    suite: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("GUEST_KEY", "GUEST_REGION", "GUEST_OTHER"):
        monkeypatch.setenv(name, "value-of-" + name)
    program = 'say(type="final", message=json.dumps(dict(os.environ)))'
    runner = {"api_key_env": "GUEST_KEY", "environment": ["GUEST_REGION", "GUEST_NOT_SET"]}
    found = message_of(await first(command(suite, program, **runner)))
    assert {name for name in found if name.startswith("GUEST")} == {"GUEST_KEY", "GUEST_REGION"}


@pytest.mark.parametrize(
    ("manifest", "run", "reached"),
    [(False, False, False), (True, False, False), (False, True, False), (True, True, True)],
)
async def test_the_network_needs_both_the_manifest_and_the_run(
    manifest: bool, run: bool, reached: bool, suite: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hold("bubblewrap", monkeypatch)
    program = 'say(type="final", message=json.dumps(os.readlink("/proc/self/ns/net")))'
    found = message_of(await first(command(suite, program, network=manifest, network_run=run)))
    assert (found == os.readlink("/proc/self/ns/net")) is reached


# what cannot be run -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("runner", "told"),
    [
        ({"command": [ABSENT]}, f"there is no program `{ABSENT}` on PATH"),
        ({"command": [f"./{ABSENT}"]}, "there is no file"),
        ({"command": [f"/{ABSENT}"]}, "there is no file"),
        ({"command": ["./notes.txt"]}, "is not executable"),
        ({"command": ["../episodes/e-1.json"]}, "leads out of candidates/"),
        ({"command": [sys.executable, "./../../secret"]}, "leads out of candidates/"),
        ({"command": ["\0"]}, "must be a list of texts"),
        ({"command": [sys.executable], "api_key_env": "GUEST_UNSET_KEY"}, "`GUEST_UNSET_KEY`"),
        ({"command": [sys.executable], "options": {"shell": True}}, "`shell`"),
        (
            {
                "command": [sys.executable],
                "script": "candidates/notes.txt",
                "script_sha256": "0" * 64,
            },
            "is not the file the manifest names",
        ),
        ({"command": [sys.executable], "script": "candidates/notes.txt"}, "belong together"),
    ],
)
def test_what_cannot_be_run_is_said_before_anything_is_started(
    runner: dict[str, Any], told: str, suite: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("GUEST_UNSET_KEY", raising=False)
    written(suite / "candidates" / "notes.txt", "no program").chmod(0o644)
    work = task(suite, {"kind": "command", **runner})
    with pytest.raises(Unrunnable) as caught:
        check_runnable(work.candidate, suite)
    assert str(caught.value).startswith("lamp-v1/candidates/guest.json: $.runner")
    assert told in str(caught.value)
    with pytest.raises(Unrunnable):
        adapter_for(work)


def test_a_manifest_may_pin_its_program_by_digest(suite: Path) -> None:
    notes = written(suite / "candidates" / "notes.txt", "as it was")
    runner = {"command": [sys.executable], "script": "candidates/notes.txt"}
    digest = sha256_hex(notes.read_bytes())
    work = task(suite, {"kind": "command", **runner, "script_sha256": digest})
    check_runnable(work.candidate, suite)
    notes.write_text("edited")
    with pytest.raises(Unrunnable, match="is not the file the manifest names"):
        check_runnable(work.candidate, suite)


async def test_a_program_in_the_suite_is_found_by_its_relative_path(suite: Path) -> None:
    text = f"""
        #!{sys.executable}
        import json, sys
        sys.stdin.readline()
        print(json.dumps({{"type": "final", "message": sys.argv[1]}}))
    """
    written(suite / "candidates" / "bin" / "guest", text, executable=True)
    turn = await first(task(suite, {"kind": "command", "command": ["bin/guest", "word"]}))
    assert turn.message == "word"


async def test_one_that_the_machine_cannot_run_is_unrunnable(suite: Path) -> None:
    written(suite / "candidates" / "guest", "#!/nowhere/at/all\n", executable=True)
    with pytest.raises(Unrunnable, match="cannot be started"):
        await first(task(suite, {"kind": "command", "command": ["./guest"]}))
