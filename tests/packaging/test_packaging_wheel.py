"""The wheel: what is in it, and that it stands alone among strangers' files."""

import json
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest
from packaging_commands import ran

TRAPS = (
    *("reviewer", "store", "suites", "json", "sqlite3", "msgspec", "rfc8785", "sitecustomize"),
    *("multiprocessing", "concurrent", "usercustomize"),
)
SPAWNING = """
import sys
from reviewer.cli.main import main
from reviewer.importing import processes
processes.WORTH, processes.workers, processes.start_method = 0, lambda: 2, lambda: "spawn"
if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
"""


def members(wheel: Path) -> list[str]:
    with zipfile.ZipFile(wheel) as archive:
        return archive.namelist()


def test_one_import_package_and_nothing_else_at_the_top(wheel: Path) -> None:
    tops = {name.partition("/")[0] for name in members(wheel)}
    data = "release_reviewer-0.1.0.data"
    assert tops == {"reviewer", "release_reviewer-0.1.0.dist-info", data}
    man = [name for name in members(wheel) if name.startswith(data)]
    assert man == [f"{data}/data/share/man/man1/reviewer.1"]


def test_every_data_file_is_in_the_wheel_byte_for_byte(wheel: Path, repository: Path) -> None:
    wanted = {
        f"reviewer/_data/{path.relative_to(repository)}": path.read_bytes()
        for folder in ("suites", "store/schema")
        for path in sorted((repository / folder).rglob("*"))
        if path.is_file()
    }
    wanted["reviewer/_data/store/README.md"] = (repository / "store/README.md").read_bytes()
    with zipfile.ZipFile(wheel) as archive:
        names = [name for name in archive.namelist() if name.startswith("reviewer/_data/")]
        found = {name: archive.read(name) for name in names}
    assert found == wanted
    assert any("/.frozen/" in name for name in found)


def test_every_module_is_in_the_wheel_and_no_rubbish(wheel: Path, repository: Path) -> None:
    modules = {
        str(path.relative_to(repository))
        for path in (repository / "reviewer").rglob("*.py")
        if "_data" not in path.parts
    }
    names = members(wheel)
    assert modules <= set(names)
    assert "reviewer/py.typed" in names
    assert [name for name in names if name.endswith((".pyc", ".db", ".db-wal", ".lock~"))] == []


def test_the_source_distribution_holds_what_the_tests_need(built: Path) -> None:
    (source,) = built.glob("*.tar.gz")
    with tarfile.open(source) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    assert {"README.md", "LICENSE", "pyproject.toml", "tests/conftest.py"} <= names
    assert not any(name.startswith((".ci/", ".github/", ".venv/")) for name in names)


def trapped(folder: Path) -> Path:
    """A folder as an agent may leave it: our names and our libraries' names, all hostile."""
    sprung = "import pathlib; pathlib.Path(__file__).with_suffix('.sprung').touch()\n"
    sprung += "raise SystemExit('a stranger was imported')\n"
    for name in TRAPS:
        (folder / f"{name}.py").write_text(sprung)
    for name in ("store", "suites", "reviewer", "textual"):
        (folder / name).mkdir()
        (folder / name / "__init__.py").write_text(sprung)
    (folder / "store" / "review.db").write_bytes(b"not a database")
    (folder / "suites" / "refund-eval-v5").mkdir()
    (folder / "suites" / "refund-eval-v5" / "suite.json").write_text("{}")
    return folder


@pytest.mark.slow
def test_the_main_job_in_a_clean_environment_among_hostile_files(
    clean: Path, tmp_path: Path
) -> None:
    hostile = tmp_path / "hostile"
    hostile.mkdir()
    trapped(hostile)
    before = sorted(hostile.rglob("*"))
    by_name = ran(clean / "reviewer", "demo", "--headless", cwd=hostile)
    by_module = ran(clean / "python", "-P", "-m", "reviewer", "demo", "--headless", cwd=hostile)
    assert by_name == by_module
    heads = [line for line in by_name.splitlines() if line.startswith(("BLOCK", "PROMOTE"))]
    assert heads == [
        "BLOCK  refund-agent-v7 on refund-eval-v5",
        "PROMOTE  refund-agent-v8 on refund-eval-v5",
    ]
    assert sorted(hostile.rglob("*")) == before


@pytest.mark.slow
def test_a_whole_workspace_from_the_wheel_alone(clean: Path, tmp_path: Path) -> None:
    """From an empty folder to report files, with code and data out of the wheel only."""
    where = ran(
        clean / "python", "-P", "-c",
        "import reviewer, reviewer.resources as r;"
        "print(reviewer.__file__); print(r.data_folder('suites')); print(r.data_folder('store'))",
        cwd=tmp_path,
    )  # fmt: skip
    assert all(Path(line).is_relative_to(clean.parent) for line in where.splitlines())
    reviewer = clean / "reviewer"
    ran(reviewer, "init", "--example", "w", cwd=tmp_path)
    workspace = tmp_path / "w"
    ran(reviewer, "suite", "check", cwd=workspace)
    ran(reviewer, "import", "suites/refund-eval-v5/traces", cwd=workspace)
    asked = ("--export-report", "out", "--candidate")
    ran(reviewer, *asked, "refund-agent-v7", cwd=workspace, expect=10)
    assert json.loads((workspace / "out/report.json").read_bytes())["recommendation"] == "block"
    ran(reviewer, *asked, "refund-agent-v8", cwd=workspace)
    assert json.loads((workspace / "out/report.json").read_bytes())["recommendation"] == "promote"
    checks = json.loads(ran(reviewer, "doctor", "--json", cwd=workspace))
    assert [check for check in checks if check["ok"] is False] == []


def test_worker_processes_import_nothing_from_the_folder_one_stands_in(tmp_path: Path) -> None:
    """Spawned processes start with `python -c`, which looks into the current folder first."""
    script = tmp_path / "bin" / "script.py"  # as a console script stands: in a folder of its own
    script.parent.mkdir()
    script.write_text(SPAWNING)
    workspace, hostile = tmp_path / "workspace", tmp_path / "hostile"
    ran(sys.executable, "-P", "-m", "reviewer", "init", "--example", workspace, cwd=tmp_path)
    hostile.mkdir()
    trapped(hostile)
    before = sorted(hostile.rglob("*"))
    traces = workspace / "suites/refund-eval-v5/traces/refund-agent-v7.jsonl"
    asked = ("--workspace", workspace, "import", "--json", traces)
    (result,) = json.loads(ran(sys.executable, script, *asked, cwd=hostile))
    assert (result["records"], result["added"]) == (9, 9)
    assert sorted(hostile.rglob("*")) == before
