"""Making a suite of tau2-bench tasks: their contracts, their users, and a world to run them in."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from reviewer.desk.errors import DeskError
from reviewer.desk.place import Workspace
from reviewer.desk.trials.api import tried
from reviewer.desk.trials.freezing import to_be_frozen
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
from reviewer.suite.derived import INVENTED, encoded, tau2
from reviewer.suite.derived.tau2_domains import WRITES, writes_of
from reviewer.suite.errors import shown
from reviewer.suite.model import TrialAgent
from reviewer.suite.values import SUITE_FILE


class Behind(NamedTuple):
    """What is behind the tools of the tasks: simulations of `recorded` results files, or nothing,
    so that the suite judges what is imported and cannot be run."""

    recorded: Sequence[Path] = ()


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
    """Make a suite of the tasks in `file`: a tasks.json, or a results file with its tasks.
    `user_runner` is the model that plays their users, as `user.runner` of an episode has it.

    Raises DeskError when the file cannot be read, holds no task that becomes a contract, or when
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
    found = _world(behind, records, writes)
    drafts = drafted(
        records,
        lambda task, _: tau2.contract_of(task, writes, require, user_runner, found.world),
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
    return made if found.world is None else _waived(made)


UNVERIFIED = "tau2-bench compares the end state, and asks no agent to verify its writes"
UNRECORDED = (
    "the world is recorded: a call that no simulation made ends an attempt as world_gap, so "
    "nothing is known of this agent"
)
_WAIVED: dict[TrialAgent, str] = {
    "no-verify": UNVERIFIED, "obedient": UNRECORDED, "repeater": UNRECORDED
}  # fmt: skip


def _waived(made: MadeSuite) -> MadeSuite:
    """Try the suite, and write into suite.json why it is used though agents are not stopped of
    whom tau2-bench, or what was recorded, says nothing."""
    content = to_be_frozen(made.folder, again=False)
    if content is None:
        return made
    waivers = [
        {"agent": one.agent, "reason": _WAIVED[one.agent]}
        for one in tried(*content, made.folder).unsound
        if one.agent in _WAIVED
    ]
    if not waivers:
        return made
    path = made.folder / SUITE_FILE
    path.write_bytes(encoded({**loaded(path), "waivers": waivers}))
    named = ", ".join(one["agent"] for one in waivers)
    note = f"its trial does not stop {named}: suite.json has a waiver for each, with its reason"
    return made._replace(notes=(*made.notes, (note, made.episodes)))


def _world(
    behind: Behind, records: Sequence[SourceRecord], writes: frozenset[str] | None
) -> _World:
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


def _policy(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError:
        raise DeskError(f"{path}: is not UTF-8 text") from None
    except OSError as error:
        raise DeskError(f"{path}: cannot be read: {error.strerror}") from error


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""
