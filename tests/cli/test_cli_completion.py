"""Completion in the shell, examples in the help, and the nearest name to one that is not known."""

import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from doors import SUITE, V7, V8, Door, environment

from reviewer.cli.examples import EXAMPLES
from reviewer.cli.parser import COMMANDS, GROUPS, HIDDEN, parser


def offered(door: Door, line: str) -> list[str]:
    """What the program answers a shell that asks how a line may go on."""
    answer = door.root / "answer"
    variables = {
        "_ARGCOMPLETE": "1", "_ARGCOMPLETE_IFS": "\n", "_ARGCOMPLETE_SHELL": "bash",
        "_ARGCOMPLETE_STDOUT_FILENAME": str(answer),
        "COMP_LINE": line, "COMP_POINT": str(len(line)),
    }  # fmt: skip
    answer.write_text("")
    subprocess.run(
        [sys.executable, "-P", "-m", "reviewer"],
        cwd=door.root, env={**environment(), **variables}, check=True, capture_output=True,
    )  # fmt: skip
    return [word.strip() for word in answer.read_text().split("\n") if word]


@pytest.mark.parametrize(
    ("line", "some", "never"),
    [
        ("reviewer su", ["suite"], ["run"]),
        ("reviewer suite fr", ["freeze", "from-tau2"], ["show"]),
        ("reviewer suite check ", [SUITE], [V7]),
        ("reviewer --export-report out --suite ", [SUITE], [V7]),
        (f"reviewer scorecard --suite {SUITE} --candidate ", [V7, V8], [SUITE]),
        ("reviewer run --at", ["--attempts"], ["--json"]),
        ("reviewer _", [], ["_index", "_page"]),
        ("reviewer schema epi", ["episode"], ["suite"]),
        ("reviewer suite check 'an open quote", [], [SUITE]),
    ],
)
def test_the_shell_is_told_how_a_line_may_go_on(
    full: Door, line: str, some: list[str], never: list[str]
) -> None:
    found = offered(full, line)
    assert set(some) <= set(found)
    assert not set(never) & set(found)


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_each_shell_gets_a_script_that_asks_this_program(door: Door, shell: str) -> None:
    script = door.ok("completion", shell).out
    assert "reviewer" in script
    assert "_ARGCOMPLETE" in script
    if shutil.which(shell):
        checked = subprocess.run([shell, "-n"], input=script, text=True, capture_output=True)
        assert (checked.returncode, checked.stderr) == (0, "")


def test_bash_completes_by_the_script(full: Door) -> None:
    if shutil.which("bash") is None:
        pytest.skip("no bash on this machine")
    script = full.ok("completion", "bash").out
    bin_ = full.root / "bin"
    bin_.mkdir()
    program = bin_ / "reviewer"
    program.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} -P -m reviewer "$@"\n')
    program.chmod(0o755)
    ask = (
        f"{script}\nCOMP_LINE='reviewer suite che'; COMP_POINT=18; COMP_TYPE=9\n"
        "_python_argcomplete reviewer che suite\nprintf '%s\\n' \"${COMPREPLY[@]}\"\n"
    )
    path = f"{bin_}{os.pathsep}{os.environ['PATH']}"
    said = subprocess.run(
        ["bash", "--norc"], input=ask, text=True, capture_output=True, cwd=full.root,
        env={**environment(), "PATH": path},
    )  # fmt: skip
    assert said.stdout.split() == ["check"], said


def test_the_help_lists_every_command_by_what_it_is_for(door: Door) -> None:
    said = door.ok("--help").out
    assert set(COMMANDS) == {name for group in GROUPS.values() for name in group} | set(HIDDEN)
    at = [said.index(f"\n{title}:\n") for title in GROUPS]
    assert at == sorted(at)
    assert "reviewer demo" in said[said.index("\nexamples:") :]


def test_every_example_is_read_by_the_parser(tmp_path: Path) -> None:
    assert set(COMMANDS) - set(HIDDEN) - {name.split(" ")[0] for name in EXAMPLES} <= SELF_EVIDENT
    for words, lines in EXAMPLES.items():
        for line in lines:
            typed = shlex.split(line.removeprefix('eval "$(').replace(')"', " "), comments=True)
            typed = typed[: typed.index(">")] if ">" in typed else typed
            assert " ".join(typed).startswith(f"reviewer {words}".strip()), line
            parser().parse_args(typed[1:])


SELF_EVIDENT = {"judgments", "notes", "costs", "break-glass", "loss", "witness", "attest"}
"""Commands that one example would say little of: each has acts or needs signed files."""


@pytest.mark.parametrize(
    ("argv", "near", "code"),
    [
        (("sutie", "list"), "suite", 2),
        (("suite", "chekc"), "check", 2),
        (("suite", "check", "refund-evl-v5"), SUITE, 20),
        (("run", "refund-evl-v5", V7), SUITE, 20),
        (("run", SUITE, "refund-agnet-v7"), V7, 20),
        (("--export-report", "out", "--suite", SUITE, "--candidate", "refund-agnet-v7"), V7, 20),
        (("scorecard", "--suite", "refund-evl-v5", "--candidate", V7), SUITE, 20),
        (("trends", "--suite", "refund-evl-v5"), SUITE, 20),
        (("labels", "export", "--suite", "refund-evl-v5"), SUITE, 20),
        (("notes", "list", "--suite", "refund-evl-v5"), SUITE, 20),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else None,
)
def test_a_name_that_is_not_known_is_told_the_nearest(
    full: Door, argv: tuple[str, ...], near: str, code: int
) -> None:
    said = full.run(*argv)
    assert said.code == code, said
    assert f"did you mean {near}?" in said.err


def test_a_name_that_is_like_none_gets_no_guess(full: Door) -> None:
    said = full.run("suite", "check", "zzz")
    assert "did you mean" not in said.err
    assert SUITE in said.err
    assert "did you mean" not in full.run("qqq").err
