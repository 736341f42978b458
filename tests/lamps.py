"""A suite of one episode about a lamp, and a program that mends it: what a run of it binds."""

import json
import shutil
from pathlib import Path
from typing import Any

from doors import SHIPPED, Door, Said, compact
from people import key_file

SUITE_ID = "lamp-v1"
AGENT = """\
import json, sys

for line in sys.stdin:
    said = json.loads(line)
    if said["type"] == "start":
        call = {"type": "call", "call_id": "a", "tool": "fix", "arguments": {}}
        print(json.dumps(call), flush=True)
    else:
        print(json.dumps({"type": "final", "message": "It is mended."}), flush=True)
        break
"""
EPISODE = {
    "schema": "reviewer/episode@1",
    "episode_id": "lamp",
    "user_request": "My lamp is broken.",
    "initial_state": {"lamp": "broken"},
    "tools": {"allowed": ["fix"], "required": ["fix"]},
    "expected": {"final_state": "mended"},
    "simulator": {
        "tools": {
            "fix": {
                "parameters": {"type": "object"},
                "responses": {"fixed": {"done": True}},
                "effects": [{"merge": {"lamp": "mended"}}],
            }
        },
        "final_state": "lamp",
    },
}
POLICY: dict[str, Any] = {"attempts": 2, "pass_hat": {"k": 2, "min": 0.5}}


class Lamp:
    """A suite of one episode, and a program that mends the lamp."""

    def __init__(
        self, door: Door, agent: str = AGENT, episode: dict[str, Any] = EPISODE, **policy: Any
    ) -> None:
        self.door = door
        self.folder = door.root / "suites" / SUITE_ID
        self.agent = self.folder / "candidates" / "lamp" / "agent.py"
        (self.folder / "episodes").mkdir(parents=True)
        self.agent.parent.mkdir(parents=True)
        suite = json.loads((SHIPPED / "suite.json").read_text(encoding="utf-8"))
        suite = {name: suite[name] for name in ("schema", "redaction") if name in suite}
        suite |= {"suite_id": SUITE_ID, "title": "Lamps", "episodes": ["lamp"]}
        suite["policy"] = {**POLICY, **policy}
        suite["waivers"] = [
            {"agent": name, "reason": "one tool, and nothing to refuse"}
            for name in ("obedient", "no-verify", "repeater")
        ]
        (self.folder / "suite.json").write_bytes(compact(suite))
        (self.folder / "episodes" / "lamp.json").write_bytes(compact(episode))
        self.agent.write_text(agent, encoding="utf-8")
        self.manifest("lamp-agent")
        door.ok("suite", "freeze", SUITE_ID)

    def manifest(self, candidate_id: str, *, prices: Any = None, **runner: Any) -> Path:
        told = {"kind": "command", "command": ["python3", "./lamp/agent.py"], **runner}
        file = self.folder / "candidates" / f"{candidate_id}.json"
        manifest = {
            "schema": "reviewer/candidate@1",
            "candidate_id": candidate_id,
            "agent": "lamp-agent",
            "version": "1",
            "runner": told,
            **({"prices": prices} if prices else {}),
        }
        file.write_bytes(compact(manifest))
        return file

    def pin(self, candidate_id: str = "lamp-agent") -> str:
        said = self.door.ok("suite", "code", SUITE_ID, candidate_id, "--json")
        digest = str(json.loads(said.out)["code_sha256"])
        self.manifest(candidate_id, code_sha256=digest)
        return digest

    def run(self, *more: object, candidate: str = "lamp-agent") -> None:
        self.door.ok("run", SUITE_ID, candidate, *more)

    def report(self, candidate: str = "lamp-agent") -> dict[str, Any]:
        out = self.door.root / "out"
        shutil.rmtree(out, ignore_errors=True)
        said = self.door.run(
            "--export-report", out, "--suite", SUITE_ID, "--candidate", candidate,
            "--format", "json,md,html,junit,sarif",
        )  # fmt: skip
        assert said.code in (0, 10), said
        found: dict[str, Any] = json.loads((out / "report.json").read_text(encoding="utf-8"))
        return found


def reasons(report: dict[str, Any]) -> str:
    assert report["recommendation"] == "hold", report["reasons"]
    return "\n".join(report["reasons"])


def signed(door: Door, suite_id: str, candidate_id: str) -> Path:
    public = key_file(door.root, "alice").with_suffix(".pub")
    door.ok("keys", "trust", "alice", public, "--roles", "approver")
    said = door.ok(
        "sign", "--suite", suite_id, "--candidate", candidate_id, "--key", door.root / "alice"
    )
    assert said.code == 0
    (file,) = (door.root / "store" / "decisions").glob("1-*.dsse.json")
    return file


def verified(door: Door, file: Path, manifest: Path, *more: object) -> Said:
    signers = door.root / "store" / "signers"
    return door.run("verify", file, "--candidate-manifest", manifest, "--signers", signers, *more)
