"""`reviewer listen`: spans of running agents become traces in the store."""

from __future__ import annotations  # types are named without loading their modules

import argparse
import os
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

from reviewer.cli.import_steps import Told
from reviewer.cli.imports import answer, went_wrong
from reviewer.cli.opening import workspace_of
from reviewer.cli.parser import port
from reviewer.cli.say import fail, note
from reviewer.cli.watching import Telling, end_as_interrupted
from reviewer.desk.errors import DeskError
from reviewer.exit_codes import ExitCode
from reviewer.report.formatting import plural

if TYPE_CHECKING:
    from reviewer.desk.imports.importing import FileResult
    from reviewer.desk.imports.listening.door import Door
    from reviewer.desk.imports.listening.listener import Listener
    from reviewer.desk.place import Workspace

PORT = 4318
"""The port that exporters send to unless they are told otherwise."""


def _listen_arguments(listen: argparse.ArgumentParser) -> None:
    listen.add_argument(
        "--port", type=port, default=PORT, metavar="N",
        help=f"port on 127.0.0.1, which no other machine reaches (default: {PORT}; 0: a free one)",
    )  # fmt: skip
    listen.add_argument(
        "--token-env", default="", metavar="NAME",
        help="answer only requests with the token in this variable (Authorization: Bearer TOKEN)",
    )  # fmt: skip
    listen.add_argument("--suite", default="", metavar="S", help="the suite of the traces")
    listen.add_argument(
        "--candidate", default="", metavar="C", help="the candidate of traces that name none"
    )
    listen.add_argument(
        "--episode-map", metavar="FILE",
        help="the names that the agents use for the episodes and tools of --suite",
    )  # fmt: skip
    listen.add_argument(
        "--conversation-idle", type=_seconds, default=900.0, metavar="S",
        help="seconds without a span after which a conversation is over; until then it is in "
        "progress and not measured (default: 900)",
    )  # fmt: skip
    listen.add_argument(
        "--progress", choices=("bar", "json"), default="bar",
        help="json: a line per step on stdout",
    )  # fmt: skip


def _seconds(text: str) -> float:
    try:
        found = float(text)
    except ValueError:
        found = -1.0
    if not 0 <= found <= 86_400:
        raise argparse.ArgumentTypeError(f"{text!r}: seconds, from 0 to 86400")
    return found


MOST_SAID = 1_000


class _Heard(Telling):
    """Keeps only the newest results: a listener may run for weeks. `wrong` says that something was
    refused, or kept next to an attempt, since it began."""

    wrong = False

    def result(self, result: FileResult) -> None:
        super().result(result)
        self.wrong = self.wrong or went_wrong(result) or bool(result.flagged or result.beside)
        while len(self.said) > MOST_SAID:
            del self.said[next(iter(self.said))]


ARGUMENTS = {
    "listen": _listen_arguments,
}


def run(arguments: argparse.Namespace) -> int:
    workspace = workspace_of(arguments)
    try:
        import opentelemetry.proto.collector.trace.v1.trace_service_pb2  # noqa: F401 (is it there?)
    except ImportError as error:
        return fail(
            f"listening needs the extra `listen` ({error.name} is not installed)",
            "pip install 'release-reviewer[listen]'",
            "files that a collector writes are read without it: reviewer import FILE",
            exit_code=ExitCode.USAGE,
        )
    token = os.environ.get(arguments.token_env, "") if arguments.token_env else ""
    if arguments.token_env and not token:
        raise DeskError(
            f"--token-env {arguments.token_env}: the variable is not set",
            f"export {arguments.token_env}=TOKEN, then start it again",
            exit_code=ExitCode.USAGE,
        )
    from reviewer.desk.imports.importing import ImportMap, ImportOptions, import_map
    from reviewer.desk.imports.listening.listener import Listener

    if arguments.episode_map and not arguments.suite:
        raise DeskError(
            "--episode-map needs the --suite its episodes belong to",
            "add --suite S",
            exit_code=ExitCode.USAGE,
        )
    names = import_map(Path(arguments.episode_map)) if arguments.episode_map else ImportMap()
    asked = ImportOptions(arguments.suite, arguments.candidate, "otlp", *names)
    listener = Listener(workspace, asked, arguments.conversation_idle)
    try:
        door = _opened(arguments.port, listener, token)
        try:
            return _listened(arguments, workspace, listener, door)
        finally:
            door.server_close()
    finally:
        listener.close()


def _opened(number: int, listener: Listener, token: str) -> Door:
    from reviewer.desk.imports.listening.door import opened

    try:
        return opened(number, listener.take, token)
    except OSError as error:
        raise DeskError(
            f"port {number} of 127.0.0.1: {error.strerror}",
            "another --port, or 0 for a free one",
            exit_code=ExitCode.USAGE,
        ) from error


def _listened(
    arguments: argparse.Namespace, workspace: Workspace, listener: Listener, door: Door
) -> int:
    """Import until Ctrl-C or SIGTERM, then import what is left."""
    from reviewer.desk.imports.listening.listener import LOOK_S

    end_as_interrupted()
    telling = _Heard(arguments)
    try:
        try:
            _said(arguments, f"http://127.0.0.1:{door.server_port}", workspace, listener)
            while True:
                listener.step(telling.file, telling.result)
                time.sleep(LOOK_S)
        except KeyboardInterrupt:
            door.shutdown()
            listener.step(telling.file, telling.result, flush=True)
    finally:
        telling.stop()
    if not arguments.quiet:
        words = f"{plural(listener.taken, 'span')} taken, {listener.rejected:,} refused"
        if listener.of_others:
            words += f"; {plural(listener.of_others, 'trace')} of no agent's work left out"
        if door.dropped:
            words += f"; {plural(door.dropped, 'request')} with logs or metrics dropped"
        note(words)
    code = answer(arguments, list(telling.said.values()))
    return ExitCode.INVALID if telling.wrong else code


def _said(
    arguments: argparse.Namespace, address: str, workspace: Workspace, listener: Listener
) -> None:
    """Write the address on standard output, and its purpose on standard error."""
    if not arguments.quiet:
        note(
            f"taking spans into {workspace.root}; agents send them with"
            f" OTEL_EXPORTER_OTLP_ENDPOINT={address}; Ctrl-C takes in what is open, and ends it"
        )
        if listener.found:
            note(f"{plural(listener.found, 'trace')} that an earlier listener left are taken in")
    if arguments.progress == "json":
        Told.say(event="listening", address=address)
    elif not arguments.json:
        sys.stdout.write(f"{address}\n")
        sys.stdout.flush()
