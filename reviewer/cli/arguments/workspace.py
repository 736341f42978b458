"""What `demo`, `init`, `serve`, `settings`, `doctor`, `backup`, `restore` and `schema` take."""

from typing import TYPE_CHECKING

from reviewer.cli.arguments.making import command, port

if TYPE_CHECKING:
    from reviewer.cli.arguments.making import Commands


def _demo(commands: "Commands") -> None:
    demo = command(commands, "demo", "demo", "the built-in example in a throw-away workspace")
    demo.add_argument("--headless", action="store_true", help="print both reports and leave")
    demo.add_argument("--keep", metavar="DIR", help="make the workspace here and keep it")


def _init(commands: "Commands") -> None:
    init = command(commands, "init", "workspace", "make a workspace")
    init.add_argument("folder", nargs="?", default=".", help="where (default: here)")
    init.add_argument("--example", action="store_true", help="with the example suites in it")


def _serve(commands: "Commands") -> None:
    text = "the workstation in a browser on this machine (extra: serve)"
    serve = command(commands, "serve", "serve", text)
    serve.add_argument("--port", type=port, default=0, metavar="N", help="default: a free one")
    serve.add_argument(
        "--host", default="127.0.0.1", metavar="ADDR",
        help="listen there (default: 127.0.0.1, which no other machine reaches)",
    )  # fmt: skip
    serve.add_argument(
        "--expose", action="store_true",
        help="with --host: let in whoever reaches that address and has the link, unencrypted, to "
        "read all traces, run candidates and sign as you",
    )  # fmt: skip


def _page(commands: "Commands") -> None:
    command(commands, "_page", "page", "the workstation behind a page of serve", hidden=True)


def _settings(commands: "Commands") -> None:
    text = "the workstation's settings in force, and which file says so"
    shown = command(commands, "settings", "settings", text)
    shown.add_argument("--defaults", action="store_true", help="print a file with every default")


def _doctor(commands: "Commands") -> None:
    text = "check the store: integrity, chain, version, permissions"
    command(commands, "doctor", "workspace", text)


def _backup(commands: "Commands") -> None:
    backup = command(commands, "backup", "workspace", "copy the store whole, while others write")
    backup.add_argument("file", help="a new file")


def _restore(commands: "Commands") -> None:
    text = "put a backup in the store's place, once it is proved to be as its journal says"
    restore = command(commands, "restore", "workspace", text)
    restore.add_argument("file", help="a copy that backup made")
    restore.add_argument(
        "--replace", action="store_true", help="set aside the store that is there, if one is"
    )


def _schema(commands: "Commands") -> None:
    schema = command(commands, "schema", "workspace", "print the JSON Schema of a kind of file")
    schema.add_argument(
        "kind", help="suite, episode, rubric, judge, candidate, policy, trace, label …"
    )


COMMANDS = {
    "demo": _demo,
    "init": _init,
    "serve": _serve,
    "_page": _page,
    "settings": _settings,
    "doctor": _doctor,
    "backup": _backup,
    "restore": _restore,
    "schema": _schema,
}
