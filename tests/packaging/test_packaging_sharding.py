"""The scripts of docs/sharding.md, run as they stand there: two parts, again, and their merge."""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from doors import REPOSITORY, SUITE, V8
from packaging_commands import outside

PAGE = REPOSITORY / "docs" / "sharding.md"


@pytest.mark.nightly
@pytest.mark.skipif(not shutil.which("sh"), reason="wants a shell")
def test_the_scripts_make_parts_and_join_them(tmp_path: Path) -> None:
    text = PAGE.read_text(encoding="utf-8")
    files = dict(re.findall(r"^<!-- file: (\S+) -->\n```\w+\n(.*?)^```$", text, re.M | re.S))
    for name, content in files.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(content, encoding="utf-8")
    shutil.copytree(REPOSITORY / "suites" / SUITE, tmp_path / "suites" / SUITE)
    (tmp_path / "store").mkdir()

    def run(*command: str) -> int:
        said = subprocess.run(
            command,
            cwd=tmp_path,
            env={
                **outside(),
                "PATH": str(Path(sys.executable).parent) + os.pathsep + os.environ["PATH"],
                "SUITE": SUITE,
                "CANDIDATE": V8,
                "RESULTS": str(tmp_path / "results"),
                "WORK": str(tmp_path / "work"),
                "ATTEMPTS": "4",
            },
            stdin=subprocess.DEVNULL,
            check=False,
        )
        return said.returncode

    assert run("sh", "shards/part.sh", "1", "2") == 0
    assert run("sh", "shards/merge.sh", "2") == 2, "the second part is not there"
    assert run("sh", "shards/part.sh", "2", "2") == 0
    assert run("sh", "shards/part.sh", "2", "2") == 0, "a job that starts again"
    shutil.rmtree(tmp_path / "work")
    assert run("sh", "shards/part.sh", "1", "2") == 0, "on another machine"
    assert run("sh", "shards/merge.sh", "2") == 0
    report = json.loads((tmp_path / "out" / "report.json").read_bytes())
    assert report["recommendation"] == "promote"
    assert (report["slots"]["planned"], report["slots"]["valid"]) == (12, 12)
    names = sorted(path.name for path in (tmp_path / "results").iterdir())
    assert names == ["part-1.db", "part-2.db"]
