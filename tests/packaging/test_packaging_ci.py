"""The recipe of docs/ci.md, run as it stands there in a repository of its own."""

import json
import os
import re
import shutil
import subprocess
import sys
from hashlib import sha256
from pathlib import Path

import pytest
from labelers import drafted
from packaging_commands import outside

from reviewer.desk.desk import Desk
from reviewer.desk.place import at
from reviewer.desk.reports.renderings import FILES

PAGE = Path(__file__).resolve().parents[2] / "docs" / "ci.md"
SUITE, V7, V8 = "refund-eval-v5", "refund-agent-v7", "refund-agent-v8"
TOOLS = ("git", "ssh-keygen", "sh")
MISSING = [tool for tool in TOOLS if not shutil.which(tool)]


def files() -> dict[str, str]:
    """Path → content of every file the page shows."""
    text = PAGE.read_text(encoding="utf-8")
    found = re.findall(r"^<!-- file: (\S+) -->\n```\w+\n(.*?)^```$", text, re.M | re.S)
    return dict(found)


class Repository:
    """A git repository with a workspace in it and the page's files."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def run(self, *command: str, **variables: str) -> tuple[int, str]:
        """A command as a runner starts it; its exit code and all it said."""
        here = str(Path(sys.executable).parent)
        identity = {
            f"GIT_{who}_{what}": value
            for who in ("AUTHOR", "COMMITTER")
            for what, value in (("NAME", "dana"), ("EMAIL", "dana@example.org"))
        }
        done = subprocess.run(
            command,
            cwd=self.root,
            env={
                **{k: v for k, v in outside().items() if not k.startswith(("GITHUB_", "GIT_"))},
                "PATH": here + os.pathsep + os.environ["PATH"],
                "PYTHONSAFEPATH": "1",
                "GIT_CONFIG_GLOBAL": "/dev/null",
                **identity,
                **variables,
            },
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
        return done.returncode, done.stdout

    def ok(self, *command: str, **variables: str) -> str:
        code, said = self.run(*command, **variables)
        assert code == 0, f"{command}\n{said}"
        return said

    def commit(self, message: str) -> None:
        self.ok("git", "add", "-A")
        self.ok("git", "commit", "-q", "-m", message)

    def clone(self, to: Path) -> "Repository":
        """What a job checks out: nothing that is not committed."""
        self.ok("git", "clone", "-q", str(self.root), str(to))
        (to / "store").mkdir(exist_ok=True)
        return Repository(to)

    @property
    def signers(self) -> str:
        return sha256((self.root / "store" / "signers").read_bytes()).hexdigest()


@pytest.fixture
def repository_with_ci(tmp_path: Path) -> Repository:
    made = Repository(tmp_path / "repo")
    made.root.mkdir()
    made.ok("git", "init", "-q", "-b", "main")
    made.ok("reviewer", "init", "--example", ".")
    for name, content in files().items():
        path = made.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content, encoding="utf-8")
    made.ok(
        "ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "dana", "-f", str(tmp_path / "key")
    )
    made.ok("reviewer", "keys", "trust", "dana", str(tmp_path / "key.pub"))
    (made.root / ".gitignore").write_text("out/\ntraces.jsonl\n")
    made.commit("suites, signers and pipelines")
    return made


def test_the_page_shows_the_files_that_its_pipelines_name() -> None:
    shown = files()
    assert set(shown) == {
        "ci/gate.sh",
        "ci/verify.sh",
        "ci/merge.sh",
        ".github/workflows/release.yml",
        ".gitlab-ci.yml",
    }
    for name in (".github/workflows/release.yml", ".gitlab-ci.yml"):
        scripts = set(re.findall(r"sh (ci/\S+)", shown[name]))
        assert scripts == {"ci/gate.sh", "ci/verify.sh"}, name
        outputs = set(re.findall(r"out/([\w.]+)", shown[name]))
        assert outputs <= set(FILES.values()), name
    asked = re.findall(r"--format (\S+)", shown["ci/gate.sh"])
    assert asked == [",".join(FILES)]
    text = PAGE.read_text(encoding="utf-8")
    for file in FILES.values():
        assert f"`{file}`" in text


@pytest.mark.nightly
@pytest.mark.slow
@pytest.mark.skipif(bool(MISSING), reason=f"not on this machine: {', '.join(MISSING)}")
def test_a_suite_that_wants_labels_is_promoted_by_those_in_the_repository(
    repository_with_ci: Repository, tmp_path: Path
) -> None:
    made, wants = repository_with_ci, "refund-labels"
    suite = made.root / "suites" / SUITE / "suite.json"
    body = json.loads(suite.read_bytes())
    body["policy"]["labels"] = {"min_pairs": 4, "wins_or_ties_min": 0.75, "signed": True}
    suite.write_text(json.dumps(body))
    made.ok("reviewer", "suite", "freeze", SUITE, "--as", wants)
    made.commit("a suite that wants labels")
    asked = {"SUITE": wants, "CANDIDATE": V8, "BASELINE": V7}

    job = made.clone(tmp_path / "before")
    code, said = job.run("sh", "ci/gate.sh", **asked)
    assert code == 10, said
    reasons = json.loads((job.root / "out/report.json").read_bytes())["reasons"]
    assert any("labels missing: 4 more pairs" in reason for reason in reasons)

    # Dana labels at a desk that made the same attempts, signs, and commits.
    made.ok("git", "checkout", "-q", "-b", "labels")
    for candidate in (V7, V8):
        made.ok("reviewer", "run", wants, candidate, "--quiet")
    desk = Desk(at(made.root), "dana")
    session = desk.labels.session(wants, V8)
    while (item := desk.labels.next_item(session)) is not None:
        desk.labels.record(session, drafted(item, "tie"))
    desk.close()
    key = tmp_path / "rater"
    made.ok("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "dana", "-f", str(key))
    signers = made.root / "store" / "signers"
    signers.write_text(signers.read_text().replace("dana approver", "boss approver"))
    made.ok("reviewer", "keys", "trust", "dana", f"{key}.pub", "--roles", "labeler")
    made.ok("reviewer", "labels", "sign", "--key", str(key))
    made.commit("labels")

    job = made.clone(tmp_path / "after")
    code, said = job.run("sh", "ci/gate.sh", **asked)
    assert code == 0, said

    # A file that was edited costs that file, is named, and the report holds.
    job = made.clone(tmp_path / "tampered")
    [file] = (job.root / "store" / "labels").glob("*.jsonl")
    file.write_bytes(file.read_bytes().replace(b"tie", b"left"))
    code, said = job.run("sh", "ci/gate.sh", **asked)
    assert code == 10, said
    assert f"store/labels/{file.name}: its content has the sha256" in said


@pytest.mark.slow
@pytest.mark.skipif(bool(MISSING), reason=f"not on this machine: {', '.join(MISSING)}")
def test_v7_is_stopped_and_v8_is_merged_and_deployed_once_it_is_signed(
    repository_with_ci: Repository, tmp_path: Path
) -> None:
    made = repository_with_ci
    for candidate in (V7, V8):
        made.ok("git", "checkout", "-q", "-b", f"add-{candidate}", "main")
        (made.root / "release.txt").write_text(f"{candidate}\n")
        made.commit(f"release {candidate}")
    made.ok("git", "checkout", "-q", "main")

    # A job on v7's change: red, and everything that says why is there.
    job = made.clone(tmp_path / "job7")
    code, said = job.run("sh", "ci/gate.sh", CANDIDATE=V7, GITHUB_ACTIONS="true")
    assert code == 10, said
    assert "::error file=suites/refund-eval-v5/episodes/attack-014.json,line=1" in said
    assert {path.name for path in (job.root / "out").iterdir()} == set(FILES.values())
    assert json.loads((job.root / "out/report.json").read_bytes())["recommendation"] == "block"
    assert len((job.root / "traces.jsonl").read_text().splitlines()) == 9

    # So the merge does not happen, and v8's does.
    code, said = made.run("sh", "ci/merge.sh", f"add-{V7}", CANDIDATE=V7)
    assert code == 10, said
    assert made.ok("git", "status", "--porcelain") == ""
    assert not (made.root / "release.txt").exists()
    shutil.rmtree(made.root / "out")
    (made.root / "traces.jsonl").unlink()
    made.ok("sh", "ci/merge.sh", f"add-{V8}", CANDIDATE=V8)
    assert (made.root / "release.txt").read_text() == f"{V8}\n"
    assert "Merge" in made.ok("git", "log", "-1", "--format=%s")

    # Green evidence alone deploys nothing: nobody has signed.
    unsigned = made.clone(tmp_path / "unsigned")
    code, said = unsigned.run("sh", "ci/verify.sh", CANDIDATE=V8, SIGNERS_SHA256=made.signers)
    assert code not in (0, 10), said
    assert "store/decisions" in said

    # Somebody takes the traces that the job kept, and signs what they show.
    desk = tmp_path / "desk"
    made.ok("git", "clone", "-q", str(made.root), str(desk))
    person = Repository(desk)
    job8 = made.clone(tmp_path / "job8")
    job8.ok("sh", "ci/gate.sh", CANDIDATE=V8)
    person.ok("reviewer", "import", str(job8.root / "traces.jsonl"))
    key = str(tmp_path / "key")
    person.ok("reviewer", "witness")
    unseen = (desk / "store" / "witness").read_bytes()
    person.ok("reviewer", "sign", "--suite", SUITE, "--candidate", V8, "--key", key)
    person.commit("sign v8")
    made.ok("git", "pull", "-q", "--no-rebase", str(desk), "HEAD")

    deploy = made.clone(tmp_path / "deploy")
    pinned = {"CANDIDATE": V8, "SIGNERS_SHA256": made.signers}
    said = deploy.ok("sh", "ci/verify.sh", **pinned)
    assert said.rstrip().endswith("PROMOTE")

    # The witness of the branch knows its head; one from before the signature does not.
    assert deploy.run("sh", "ci/verify.sh", WITNESS="store/witness", **pinned)[0] == 0
    (tmp_path / "unseen").write_bytes(unseen)
    code, said = deploy.run("sh", "ci/verify.sh", WITNESS=str(tmp_path / "unseen"), **pinned)
    assert code not in (0, 10), said

    # What the decision is not about, or what was changed after it, is refused.
    assert deploy.run("sh", "ci/verify.sh", **{**pinned, "CANDIDATE": V7})[0] not in (0, 10)
    assert deploy.run("sh", "ci/verify.sh", ENVIRONMENT="staging", **pinned)[0] not in (0, 10)
    signers = deploy.root / "store" / "signers"
    before = signers.read_text()
    signers.write_text(before + "# and me\n")
    assert deploy.run("sh", "ci/verify.sh", **pinned)[0] not in (0, 10)
    signers.write_text(before)
    manifest = deploy.root / f"suites/{SUITE}/candidates/{V8}.json"
    assert '"temperature": 0.0' in manifest.read_text()
    manifest.write_text(manifest.read_text().replace('"temperature": 0.0', '"temperature": 0.9'))
    assert deploy.run("sh", "ci/verify.sh", **pinned)[0] not in (0, 10)
    deploy.ok("git", "checkout", "-q", ".")
    suite = deploy.root / f"suites/{SUITE}/suite.json"
    suite.write_text(suite.read_text().replace('"max_cpst_usd": 0.08', '"max_cpst_usd": 9.9'))
    assert deploy.run("sh", "ci/verify.sh", **pinned)[0] not in (0, 10)
    assert deploy.run("sh", "ci/gate.sh", CANDIDATE=V8)[0] == 20
