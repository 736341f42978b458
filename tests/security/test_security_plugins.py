"""Code of other installed packages: none of it takes part when a file is checked."""

import os
import subprocess
import sys
from pathlib import Path

CHECKED = """
import sys
from reviewer.cli.main import main

assert main(["--version"]) == 0
from reviewer.suite.border import faults_of
from reviewer.suite.release import Release

assert faults_of({}, Release)
print("plugin loaded" if "nosy" in sys.modules else "no plugin")
"""


def test_no_plugin_of_pydantic_sees_what_is_checked(tmp_path: Path) -> None:
    (tmp_path / "nosy.py").write_text("plugin = object()\n")
    stated = tmp_path / "nosy-1.dist-info"
    stated.mkdir()
    (stated / "METADATA").write_text("Metadata-Version: 2.1\nName: nosy\nVersion: 1\n")
    (stated / "entry_points.txt").write_text("[pydantic]\nnosy = nosy:plugin\n")
    path = os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")])
    done = subprocess.run(
        [sys.executable, "-c", CHECKED],
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.splitlines()[-1] == "no plugin"
