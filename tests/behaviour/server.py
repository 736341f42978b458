"""The program in a process that has its modules loaded: a fork for each command.

Reads requests and writes replies as lines of JSON: {argv, cwd, env, stdin} and {code, out, err}.
Each command runs in a fork of its own, so that none sees what another left in memory.
"""

import contextlib
import gc
import importlib
import io
import json
import os
import pkgutil
import sys
import tempfile
import traceback
from pathlib import Path
from typing import Any

DATA = Path(__file__).resolve().parent.parent / "data"

LATE = ("reviewer.tui", "reviewer.web", "reviewer.__main__")
"""What no command without a screen imports."""


def preload() -> None:
    """Import every module that a command without a screen can need."""
    import reviewer

    def failed(name: str) -> None:
        raise ImportError(name)

    for found in pkgutil.walk_packages(reviewer.__path__, "reviewer.", onerror=failed):
        if not found.name.startswith(LATE):
            importlib.import_module(found.name)
    _use_once()


def _use_once() -> None:
    """Run a few commands, so that the patterns, shapes and decoders that a process makes when it
    first needs them are there: four fifths of what importing a small file takes."""
    from reviewer.cli.main import main

    here = Path.cwd()
    told = io.StringIO()
    silent = contextlib.redirect_stdout(told), contextlib.redirect_stderr(told)
    with tempfile.TemporaryDirectory() as folder, silent[0], silent[1]:
        os.chdir(folder)
        which = ["--suite", "refund-eval-v5", "--candidate", "refund-agent-v7"]
        for command in (
            ["init", "--example", "."],
            ["import", str(DATA / "atif")],
            ["import", "suites/refund-eval-v5/traces"],
            ["scorecard", *which],
            ["--export-report", "out", *which],
        ):
            main(command)
        os.chdir(here)


def reply(request: dict[str, Any]) -> dict[str, Any]:
    """Run one command in a fork; return how it left and what it wrote."""
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        child = os.fork()
        if child == 0:
            _become(request, out.fileno(), err.fileno())
        _, status = os.waitpid(child, 0)
        texts = []
        for stream in (out, err):
            stream.seek(0)
            texts.append(stream.read().decode("utf-8", "backslashreplace"))
    return {"code": os.waitstatus_to_exitcode(status), "out": texts[0], "err": texts[1]}


def _become(request: dict[str, Any], out: int, err: int) -> None:
    """Be the installed command. Does not return."""
    code = 70
    try:
        given, writing = os.pipe()
        os.write(writing, request["stdin"].encode())
        os.close(writing)
        for held, wanted in ((given, 0), (out, 1), (err, 2)):
            os.dup2(held, wanted)
        # Streams as Python opens them at its start: the ones here are the server's own.
        sys.stdin = open(0, encoding="utf-8", closefd=False)  # noqa: SIM115
        sys.stdout = open(1, "w", encoding="utf-8", closefd=False)  # noqa: SIM115
        sys.stderr = open(2, "w", encoding="utf-8", closefd=False)  # noqa: SIM115
        os.environ.clear()
        os.environ.update(request["env"])
        os.chdir(request["cwd"])
        sys.argv = ["reviewer", *request["argv"]]
        from reviewer.cli.main import program

        try:
            code = program()
        except SystemExit as left:
            code = left.code if isinstance(left.code, int) else 1
        sys.stdout.flush()
        sys.stderr.flush()
    except BaseException:
        traceback.print_exc()
        sys.stderr.flush()
    finally:
        os._exit(code)


def serve() -> None:
    replies = os.fdopen(os.dup(1), "w", encoding="utf-8")
    requests = os.fdopen(os.dup(0), "r", encoding="utf-8")
    preload()
    gc.collect()
    gc.freeze()  # a collection in a fork would copy every page of what is loaded
    for line in requests:
        replies.write(json.dumps(reply(json.loads(line))) + "\n")
        replies.flush()


if __name__ == "__main__":
    serve()
