"""Make a suite from tau2-bench tasks: their contracts, their users, and a world to run them in."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from reviewer.desk.errors import DeskError, ways_out
from reviewer.desk.place import Workspace
from reviewer.desk.trials.freezing import to_be_frozen
from reviewer.desk.trials.trying import tried
from reviewer.desk.workspace.suite_records import (
    Beside,
    MadeSuite,
    SourceRecord,
    drafted,
    head_of,
    loaded,
    records_of,
    slug,
    told_of,
    written,
)
from reviewer.exit_codes import ExitCode
from reviewer.suite.derived import INVENTED, ContractDraft, encoded, tau2
from reviewer.suite.derived.tau2_domains import WRITES, users_of, writes_of
from reviewer.suite.errors import shown
from reviewer.suite.model import TrialAgent
from reviewer.suite.values import SUITE_FILE


class Behind(NamedTuple):
    """What implements the tools of the tasks: simulations from `recorded` results files; the tools
    and the database of a `checkout` of the benchmark; or nothing, so that the suite judges imported
    attempts and cannot be run."""

    recorded: Sequence[Path] = ()
    checkout: Path | None = None


class _World(NamedTuple):
    world: tau2.World | None = None
    told: dict[str, Any] | None = None
    notes: tuple[str, ...] = ()
    files: Mapping[str, bytes] = {}
    policy: str = ""


def from_tau2(
    place: Workspace,
    file: Path,
    suite_id: str = "",
    domain: str = "",
    policy: Path | None = None,
    require: tau2.Require = "all",
    user_runner: dict[str, Any] | None = None,
    behind: Behind = Behind(),  # noqa: B008 (an immutable value)
) -> MadeSuite:
    """Make a suite from the tasks in `file`: a tasks.json, or a results file with its tasks.
    `user_runner` is the model that plays their users, as in `user.runner` of an episode.

    Raises DeskError when the file cannot be read, contains no task that becomes a contract, or when
    the suite exists already.
    """
    head = head_of(file)
    info = head.value.get("info") if isinstance(head.value, dict) else None
    settings = info.get("environment_info") if isinstance(info, dict) else None
    named = settings if isinstance(settings, dict) else {}
    records = list(records_of(file, ("tasks",), head))
    domain = domain or _text(named.get("domain_name")) or _domain(records)
    writes = writes_of(domain)
    if require == "writes" and writes is None:
        known = ", ".join(WRITES)
        raise DeskError(
            f"which tools write is not known of the domain {shown(domain) or 'of these tasks'}",
            f"--domain names one of {known}",
            exit_code=ExitCode.USAGE,
        )
    users = None if _implementation(info) == tau2.SOLO else users_of(domain)
    found = _world(behind, records, writes, domain)
    drafts = drafted(
        records,
        lambda task, _: tau2.contract_of(task, writes, require, user_runner, found.world, users),
        tau2.id_of,
    )
    words = _policy(policy) if policy is not None else _text(named.get("policy"))
    title = f"tau2-bench {domain}".strip() + ": tasks as contracts"
    told: dict[str, Any] = {"domain": domain} if domain else {}
    if found.told is not None:
        told["world"] = found.told
    made = written(
        place,
        suite_id or f"tau2-{slug(domain) or slug(file.stem)}-v1",
        title,
        file,
        drafts,
        Beside(
            told_of(file, **told), INVENTED, words or found.policy,
            files=found.files, notes=found.notes,
        ),
    )  # fmt: skip
    if behind.checkout is not None:
        called = {step["tool"] for one, _ in drafts.made for step in _steps(one)}
        return _waive(made, ["no-verify"] if called & (writes or frozenset()) else [])
    return _waive(made, _not_stopped(made.folder)) if behind.recorded else made


def _steps(drafted: ContractDraft) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = drafted.episode["expected"].get("trajectory", [])
    return found


UNVERIFIED = "tau2-bench compares the end state, and asks no agent to verify its writes"
UNRECORDED = (
    "the world is recorded: a call that no simulation made ends an attempt as world_gap, so it "
    "says nothing about this agent"
)
_WAIVED: dict[TrialAgent, str] = {
    "no-verify": UNVERIFIED, "obedient": UNRECORDED, "repeater": UNRECORDED
}  # fmt: skip


def _not_stopped(folder: Path) -> list[TrialAgent]:
    """Try a suite, and return the agents that are not stopped because neither tau2-bench nor the
    recordings say anything against them."""
    content = to_be_frozen(folder, again=False)
    unsound = () if content is None else tried(*content, folder).unsound
    return [one.agent for one in unsound if one.agent in _WAIVED]


def _waive(made: MadeSuite, agents: Sequence[TrialAgent]) -> MadeSuite:
    """Write into suite.json why it is used though its trial does not stop these agents."""
    if not agents:
        return made
    path = made.folder / SUITE_FILE
    waivers = [{"agent": agent, "reason": _WAIVED[agent]} for agent in agents]
    path.write_bytes(encoded({**loaded(path), "waivers": waivers}))
    named = ", ".join(agents)
    note = f"a trial does not stop {named}: suite.json has a waiver for each, with its reason"
    return made._replace(notes=(*made.notes, (note, made.episodes)))


def _world(
    behind: Behind, records: Sequence[SourceRecord], writes: frozenset[str] | None, domain: str
) -> _World:
    if behind.recorded and behind.checkout is not None:
        raise DeskError(
            "--recorded and --checkout cannot be combined: each gives the suite its world",
            "name one",
            exit_code=ExitCode.USAGE,
        )
    if behind.checkout is not None:
        from reviewer.desk.workspace.tau2_checkout import checkout_world

        own = checkout_world(behind.checkout, domain, records)
        files = {**own.files, "toolset.json": encoded(own.toolset)}
        return _World(own.world, own.told, own.notes, files, own.policy)
    if behind.recorded:
        from reviewer.desk.workspace.tau2_results import recorded_world

        made = recorded_world(behind.recorded, records, writes)
        toolset = encoded(made.world.toolset())
        return _World(made.world, made.told, made.notes, {"toolset.json": toolset})
    return _World()


def _domain(records: Sequence[SourceRecord]) -> str:
    """Return the domain that all tasks name, "" when they differ or name none."""
    tasks = [one.value for one in records if isinstance(one.value, dict)]
    named = {domain for task in tasks if (domain := tau2.domain_of(task))}
    return named.pop() if len(named) == 1 else ""


def _implementation(info: Any) -> str:
    """Return what played the user in the simulations of a results file, "" where none is named."""
    user = info.get("user_info") if isinstance(info, dict) else None
    return _text(user.get("implementation")) if isinstance(user, dict) else ""


def _policy(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError:
        raise DeskError(f"{path}: is not UTF-8 text", "write the file as UTF-8") from None
    except OSError as error:
        raise DeskError(f"{path}: cannot be read: {error.strerror}", *ways_out(error)) from error


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""
