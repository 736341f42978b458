"""The shape of a suite's container, which is the world behind its tools, and its contradictions
with the tools and the episodes. Pure."""

import re
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Annotated, Any

from msgspec import UNSET

from reviewer.suite.errors import Problem, json_path, shown
from reviewer.suite.fields import Limits, Name
from reviewer.suite.value import Value

if TYPE_CHECKING:
    from reviewer.suite.model import Episode

PLACE = re.compile(r"\{([A-Za-z_][A-Za-z0-9_]*)\}")
"""In a command: the place of an argument of the call."""

Words = Annotated[tuple[str, ...], Limits(min_length=1)]
Guarded = Annotated[str, Limits(pattern=r"^/[^\s/].*$")]
Seconds = Annotated[float, Limits(gt=0, le=3600)]


class Container(Value, frozen=True, kw_only=True):
    """A container behind all tools of the toolset, started for each attempt by docker or
    podman. A call is a command in it; the exit status of the verifier is its state."""

    image: Annotated[
        str,
        Limits(pattern=r"^[A-Za-z0-9][^@\s]*@sha256:[0-9a-f]{64}$"),
        "The image, by digest: `name@sha256:…`. It is never pulled by a run.",
    ]
    exec: Annotated[
        dict[Name, Words],
        "Tool → the command that a call of it is. `{name}` in a word is replaced by that argument. "
        "A command without any gets all of them on its standard input, as JSON, and must read it.",
    ]
    verifier: Annotated[
        Words | None,
        "The command that is run at the end. Its exit status is the final state, as "
        '`{"exit_code": 0}`. Null: no state is measured.',
    ] = None
    guarded: Annotated[
        tuple[Guarded, ...],
        "Absolute paths that the agent must leave as they are in the image, besides the program of "
        "the verifier and the script that it carries out. If one was changed, the verifier is not "
        "run, and its exit code is a text that says so.",
    ] = ()
    network: Annotated[
        bool, "Whether it may reach the network, in a run that grants it (`--network`)."
    ] = False
    start_s: Annotated[Seconds, "Seconds that it may take to start."] = 60.0
    call_s: Annotated[Seconds, "Seconds that a command may take."] = 60.0


def container_problems(
    container: Mapping[str, Any], tools: Mapping[str, Mapping[str, Any]], file: str
) -> Iterator[Problem]:
    """Yield what is wrong with a container, given the offered `tools` (name → parameters)."""
    commands: Mapping[str, Any] = container["exec"]
    for name in tools:
        if name not in commands:
            reason = f"has no `{shown(name)}`, which `tools` offers: give its command"
            yield Problem(file, "$.container.exec", reason)
    for name, words in commands.items():
        where = json_path(("container", "exec", name))
        if name not in tools:
            yield Problem(file, where, "is not a tool in `tools`: remove it")
            continue
        known = tools[name].get("properties") or {}
        for i, word in enumerate(words):
            place = f"{where}[{i}]"
            if "\0" in word or (i == 0 and not word):
                yield Problem(
                    file, place, "names no program" if i == 0 else "holds a null character"
                )
            for argument in PLACE.findall(word):
                if argument not in known:
                    reason = f"`{{{shown(argument)}}}` is no parameter of the tool"
                    yield Problem(file, place, reason)


def unmeasured_in_container(episode: "Episode", verified: bool) -> Iterator[tuple[str, str]]:
    """Yield what an episode requires of a state that a container does not report; with a verifier
    (`verified`) it reports one at the end."""
    told = "a container reports its state only at the end, so "
    if episode.initial_state:
        yield "$.initial_state", told + "the start is not measured: leave it out"
    for i, turn in enumerate((episode.user or {}).get("turns") or ()):
        if (turn.get("when") or {}).get("state"):
            where = json_path(("user", "turns", i, "when", "state"))
            yield where, told + "nothing can wait for a state: wait for a call"
    if verified:
        return
    reason = (
        "the container has no verifier, so its state is not measured: name a verifier, or "
        "expect no state"
    )
    if episode.expected.final_state is not UNSET:
        yield "$.expected.final_state", reason
    for name in ("state", "absent"):
        if getattr(episode.expected, name):
            yield f"$.expected.{name}", reason
