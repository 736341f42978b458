"""From parsed JSON to values, without pydantic.

Files that people wrote come here after `border` and `rules` have passed them, files whose digest is
known to be valid come here directly (`load_trusted`), so the two cannot disagree.
"""

import json
from collections.abc import Iterable, Mapping
from typing import Any, TypeVar

import msgspec
from msgspec import UNSET

from reviewer.suite.checks import CheckFile, checks_of
from reviewer.suite.errors import ContractError
from reviewer.suite.lock import LOCK_FILE, make_lock, suite_digest
from reviewer.suite.model import Episode, Policy, RedactionRules, Suite, Waiver
from reviewer.suite.power import Power
from reviewer.suite.rubric import JudgePrompt, Rubric
from reviewer.suite.toolset import Toolset

SUITE_FILE = "suite.json"
RUBRIC_FILE = "rubric.json"
JUDGE_FILE = "judge.json"
POWER_FILE = "power.json"
TOOLSET_FILE = "toolset.json"
EPISODES = "episodes/"

MERGED = frozenset({"tools", "expected", "budget", "simulator"})
"""Parts of an episode that are merged member by member with the suite's defaults."""

Raw = Mapping[str, Any]
T = TypeVar("T")


def merge_defaults(defaults: Raw, episode: Raw) -> dict[str, Any]:
    """Return the episode with the suite's `defaults` filled in where it is silent.

    `tools`, `expected`, `budget` and `simulator` are merged member by member; any other member,
    and every list, is the episode's own when it has one. An explicit null stays null.
    """
    merged = {**defaults, **episode}
    for part in MERGED & defaults.keys() & episode.keys():
        if isinstance(defaults[part], dict) and isinstance(episode[part], dict):
            merged[part] = {**defaults[part], **episode[part]}
    return merged


def episode_value(raw: Raw, file: str = "episode") -> Episode:
    """Return an episode (defaults already merged) as a value."""
    plain = dict(raw)
    writes = plain.get("writes")
    if isinstance(writes, list):
        plain["writes"] = [_long_form(write) for write in writes]
    return converted(plain, Episode, file)


def policy_value(raw: Raw, file: str = SUITE_FILE) -> Policy:
    return converted(raw, Policy, file)


def suite_value(
    raw: Raw, episodes: Iterable[Episode], digest: str, checks: tuple[CheckFile, ...] = ()
) -> Suite:
    """Return the suite as a value, its episodes in the order suite.json names them, else by id."""
    order = {episode_id: i for i, episode_id in enumerate(raw.get("episodes") or ())}
    listed = sorted(episodes, key=lambda e: (order.get(e.episode_id, len(order)), e.episode_id))
    return Suite(
        suite_id=raw["suite_id"],
        title=raw.get("title", ""),
        digest=digest,
        predecessor=raw.get("predecessor") or UNSET,
        probe=raw.get("probe", False),
        policy=policy_value(raw.get("policy", {})),
        redaction=converted(raw.get("redaction", {}), RedactionRules, SUITE_FILE),
        episodes=tuple(listed),
        source=raw.get("source", {}),
        waivers=tuple(converted(each, Waiver, SUITE_FILE) for each in raw["waivers"])
        if raw.get("waivers")
        else msgspec.UNSET,
        checks=checks or msgspec.UNSET,
    )


def is_episode_file(path: str) -> bool:
    """Return whether a path inside a suite is that of an episode: `episodes/<episode_id>.json`."""
    return path.startswith(EPISODES) and path.endswith(".json") and path.count("/") == 1


def load_trusted(files: Mapping[str, bytes]) -> Suite:
    """Return the suite of files whose digest was validated before, without validating them again.

    `files` are the locked files by path (`suite.lock` may be among them: its sha256 is then the
    digest, else the digest is computed from the files). Use only when that digest is known from
    an earlier full reading: nothing here looks for contradictions.
    """
    raw = _plain(files, SUITE_FILE)
    defaults = raw.get("defaults", {})
    episodes = [
        episode_value(merge_defaults(defaults, _plain(files, path)), path)
        for path in files
        if is_episode_file(path)
    ]
    lock = files.get(LOCK_FILE)
    if lock is None:
        lock = make_lock(raw["suite_id"], files)
    return suite_value(raw, episodes, suite_digest(lock), checks_of(files))


def load_trusted_rubric(files: Mapping[str, bytes]) -> Rubric | None:
    """Return the rubric of trusted files, None when the suite has none."""
    return _trusted(files, RUBRIC_FILE, Rubric)


def load_trusted_judge(files: Mapping[str, bytes]) -> JudgePrompt | None:
    """Return the judge prompt of trusted files, None when the suite has none."""
    return _trusted(files, JUDGE_FILE, JudgePrompt)


def load_trusted_power(files: Mapping[str, bytes]) -> Power | None:
    """Return how often the policy is wrong of trusted files, None when the suite does not say."""
    return _trusted(files, POWER_FILE, Power)


def load_trusted_toolset(files: Mapping[str, bytes]) -> Toolset | None:
    """Return the toolset of trusted files, None when the suite has none."""
    return _trusted(files, TOOLSET_FILE, Toolset)


def _trusted(files: Mapping[str, bytes], file: str, kind: type[T]) -> T | None:
    return converted(_plain(files, file), kind, file) if file in files else None


def _plain(files: Mapping[str, bytes], path: str) -> dict[str, Any]:
    try:
        value = json.loads(files[path])
    except KeyError:
        raise ContractError(path, "$", "is missing") from None
    except ValueError as error:
        raise ContractError(path, "$", f"not JSON: {error}") from None
    if not isinstance(value, dict):
        raise ContractError(path, "$", "must be a JSON object")
    return value


def _long_form(write: object) -> object:
    """Return a write with what people may write in short written out."""
    if not isinstance(write, dict):
        return write
    plain = dict(write)
    if isinstance(plain.get("verified_by"), str):
        plain["verified_by"] = [plain["verified_by"]]
    if isinstance(plain.get("on"), list):
        plain["on"] = {name: name for name in plain["on"]}
    return plain


def converted(raw: Raw, kind: type[T], file: str, under: str = "$") -> T:
    """Return `raw`, which is at `under` in its file, as a value of type `kind`. Raise ContractError
    naming the place that does not fit."""
    try:
        return msgspec.convert(raw, kind)
    except msgspec.ValidationError as error:
        reason, _, path = str(error).partition(" - at ")
        reason = reason[:1].lower() + reason[1:]
        where = under + path.strip("`").removeprefix("$")
        raise ContractError(file, where, reason) from None
