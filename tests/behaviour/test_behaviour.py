"""What a user gets of the program, byte for byte, is what was last accepted.

Where a difference is intended: `python -m tests.behaviour accept`, and the change says so.
"""

import importlib
from collections.abc import Iterator
from pathlib import Path

import pytest

from behaviour import recorded
from behaviour.frozen.sitecustomize import PLACES
from behaviour.scenes import DATA, SCENES
from behaviour.shape import commands, options
from behaviour.stage import Driver, Forked, Installed, Stage
from reviewer.cli.parser import parser

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        not Path("/proc/self/cwd").is_dir(),
        reason="some evidence names its folder by its absolute path; only /proc has one for all",
    ),
]

NO_CASE = {
    "doctor --figures": "the examples are too small to be cached; tests/desk/test_desk_kept.py",
    "doctor --sizes": "its bytes are those of this SQLite; tests/desk/test_desk_sizes.py",
    "archive": "its file is named by what zstd made; tests/store/test_store_archive.py",
    "archive --before": "as archive",
    "archive --older-than": "as archive",
    "archive --restore": "as archive",
    "archive --suite": "as archive",
    "archive --candidate": "as archive",
    "completion": "its script is argcomplete's; tests/cli/test_cli_completion.py asks it",
    "export": "wants the extra `archive`; tests/cli/test_cli_archive.py",
    "export --no-events": "as export",
    "export --parquet": "as export",
    "export --payloads": "as export",
    "export --suite": "as export",
    "compare --archive": "as query",
    "trends --archive": "as query",
    "query": "wants the extra `archive`; tests/cli/test_cli_query.py",
    "query --limit": "as query",
    "serve": "does not end; tests/web reads its pages",
    "serve --port": "as serve",
    "serve --host": "as serve",
    "serve --expose": "as serve",
    "listen": "does not end; tests/cli/test_cli_listen.py sends to it",
    "listen --port": "as listen",
    "listen --token-env": "as listen",
    "listen --suite": "as listen",
    "listen --candidate": "as listen",
    "listen --episode-map": "as listen",
    "listen --conversation-idle": "as listen",
    "listen --progress": "as listen",
    "mcp": "answers on standard input; tests/cli/test_cli_mcp.py asks it",
    "_page": "the screen behind a page",
    "_page --principal": "as _page",
    "_page --role": "as _page",
    "serve --user": "as serve; tests/web/test_web_users.py",
    "--no-mouse": "of the workstation",
    "--embedding-model": "wants the extra `embeddings`",
    "patterns --near": "wants the extra `embeddings`; tests/cli/test_cli_patterns_near.py",
    "patterns --embedding-model": "as patterns --near",
    "episode from-golden": "tests/cli/test_cli_episode.py",
    "episode from-golden --id": "as episode from-golden",
    "episode from-golden --into": "as episode from-golden",
    "episode from-golden --out": "as episode from-golden",
    "episode from-golden --record": "as episode from-golden",
    "episode from-trace --accept-nothing": "tests/desk/test_desk_episodes.py",
    "episode from-trace --confirm": "tests/desk/test_desk_episodes.py",
    "episode from-trace --forbidden": "tests/desk/test_desk_episodes.py",
    "episode from-trace --format": "tests/desk/test_desk_episodes.py",
    "episode from-trace --irrelevant": "tests/desk/test_desk_episodes.py",
    "episode from-trace --key": "tests/desk/test_desk_episodes.py",
    "episode from-trace --marks": "tests/desk/test_desk_episodes.py",
    "episode from-trace --mask": "tests/desk/test_desk_episodes.py",
    "episode from-trace --never-say": "tests/desk/test_desk_episodes.py",
    "episode from-trace --reads": "tests/desk/test_desk_episodes.py",
    "episode from-trace --request": "tests/cli/test_cli_episode_known.py",
    "episode from-trace --say": "tests/desk/test_desk_episodes.py",
    "episode from-trace --tools": "tests/desk/test_desk_episodes.py",
    "episode from-trace --trace": "tests/desk/test_desk_episodes.py",
    "episode from-trace --unknown": "tests/desk/test_desk_episodes.py",
    "episode from-trace --volatile": "tests/desk/test_desk_episodes.py",
    "episode from-trace --writes": "tests/desk/test_desk_episodes.py",
    "import --watch": "does not end",
    "run --network": "depends on the network of this machine",
    "judge --base-url": "wants a server; tests/cli/test_cli_judge.py has one",
    "judge --api-key-env": "as --base-url",
    "judge --timeout": "as --base-url",
    "--release": "tests/release/test_release_together.py",
    "sign --release": "as --release",
    "verify --release": "as --release",
    "labels sign": "wants a key of a rater; tests/cli/test_cli_signed_labels.py",
    "labels sign --key": "as labels sign",
    "labels sign --suite": "as labels sign",
    "labels take": "as labels sign",
    "verify --labels": "as labels sign",
    "suite check --candidate": "as suite check --watch",
    "suite check --watch": "does not end; tests/cli/test_cli_watch.py",
    "suite power": "tests/cli/test_cli_power.py",
    "suite power --critical": "as suite power",
    "suite power --icc": "as suite power",
    "suite power --rate": "as suite power",
    "suite from-tau2 --checkout": "tests/cli/test_cli_tau2_checkout.py",
    "suite from-tau2 --recorded": "tests/cli/test_cli_tau2_run.py",
    "suite from-tau2 --user-model": "tests/contract/test_contract_derived.py",
    "suite from-tau2 --user-base-url": "as --user-model",
    "suite from-tau2 --user-api-key-env": "as --user-model",
    "labels import --episode-map": "tests/cli/test_cli_annotations.py",
    "sign --signature": "wants ssh-keygen; tests/attest has it",
}
"""Commands and options that no scene plays, and why."""


@pytest.fixture(scope="module")
def forked() -> Iterator[Forked]:
    with Forked() as driver:
        yield driver


def _played(scene: str, driver: Driver, folder: Path) -> Stage:
    stage = Stage(driver, folder)
    SCENES[scene](stage)
    return stage


SLOWEST = "served"
"""A third of its time is the sandbox, in which real servers start: tests/run/test_run_server.py."""


@pytest.mark.parametrize(
    "scene",
    [
        pytest.param(scene, marks=[pytest.mark.nightly] if scene == SLOWEST else [])
        for scene in SCENES
    ],
)
def test_what_a_scene_gives_is_as_accepted(scene: str, forked: Forked, tmp_path: Path) -> None:
    records = _played(scene, forked, tmp_path).records
    found = recorded.differences(scene, records)
    assert not found, "\n".join([*found, "", f"intended? python -m tests.behaviour accept {scene}"])


@pytest.mark.parametrize(
    "scene", [pytest.param("deciding", marks=pytest.mark.nightly), "data-tau_bench"]
)
def test_the_installed_command_gives_the_same(scene: str, tmp_path: Path) -> None:
    found = recorded.differences(scene, _played(scene, Installed(), tmp_path).records)
    assert not found, "\n".join(found)


def _typed() -> list[list[str]]:
    """The words of every command that a scene plays."""
    names = (name for scene in SCENES for name in recorded.names(scene))
    return [name.split(" ") for name in names if name.startswith("reviewer ") and " → " not in name]


def _plays(words: list[str], path: tuple[str, ...]) -> bool:
    """Return whether these words begin with the command, or with options and then the command."""
    return any(
        tuple(words[at : at + len(path)]) == path
        for at in range(1, len(words) + 1)
        if at == 1 or words[at - 2].startswith("--")
    )


def test_every_command_and_option_has_a_case() -> None:
    typed, without = _typed(), set()
    for path, of in commands(parser()):
        mine = [words for words in typed if _plays(words, path)]
        if not mine:
            without.add(" ".join(path))
        without |= {
            " ".join((*path, option))
            for option in options(of)
            if option not in EVERYWHERE and not any(option in words for words in mine)
        }
    assert without == set(NO_CASE)


EVERYWHERE = ("--workspace", "--quiet", "--json", "--plain", "--reviewer")


def test_every_file_of_the_test_data_is_imported_by_itself() -> None:
    typed = {words[2] for words in _typed() if words[1] == "import"}
    apart = {"stores": "opened by the scene `stores`", "oracles": "no traces"}
    for path in sorted(DATA.rglob("*")):
        name = path.relative_to(DATA)
        if path.is_file() and name.parts[0] not in apart:
            assert f"data/{name.as_posix()}" in typed


@pytest.mark.parametrize("module", PLACES)
def test_what_is_replaced_is_there(module: str) -> None:
    held = importlib.import_module(module)
    assert all(hasattr(held, name) for name in PLACES[module])


def test_a_difference_is_shown_by_its_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recorded, "FOLDER", tmp_path)
    before = {"one": "a\nb\nc", "two": "x", "three": "y"}
    assert recorded.accept("scene", before)
    assert not recorded.accept("scene", before)
    now = {"one": "a\nB\nc", "two": "x", "four": "z"}
    gone, new, changed = recorded.differences("scene", now)
    assert gone == "scene: three: gone"
    assert new == "scene: four: new"
    assert "-b\n+B" in changed
