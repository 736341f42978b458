"""Decisions that must be refused, each with its own reason.

`python tests/attest/fail_cases.py` writes them to tests/attest/fail/, byte for byte the same each
time: keys are made of names, and Ed25519 has no chance in it. A case is a folder `<name>_fail` with
a decision (or a folder of them), what else it needs where that differs from the shared files, and
`case.json`: the options of `reviewer verify`, its exit code, and the reason it must give.
"""

import json
import shutil
import sys

from fail_folders import folders, glass, histories
from fail_forms import envelopes, files, payloads, signatures
from fail_made import FOLDER, Case, desk, good
from fail_policy import attestations, contradictions, people, pinned


def cases() -> dict[str, Case]:
    found: dict[str, Case] = {}
    for part in (
        envelopes, signatures, payloads, files, people, contradictions, pinned, attestations,
        folders, histories, glass,
    ):  # fmt: skip
        for name, case in part():
            assert name not in found, name
            found[name] = case
    return found


def shared() -> dict[str, bytes]:
    """What every case takes unless it has its own."""
    return {"candidate.json": desk.manifest_bytes, "signers": desk.trust.encode()}


def written() -> dict[str, bytes]:
    """Every file of the corpus, by path."""
    made = dict(shared())
    for name, case in cases().items():
        told = {"exit": case.exit, "says": case.says, "place": case.place, "options": case.options}
        for path, data in case.files.items():
            made[f"{name}_fail/{path}"] = data
        text = json.dumps(told, indent=2, ensure_ascii=False) + "\n"
        made[f"{name}_fail/case.json"] = text.encode()
    made["good_pass/decision.dsse.json"] = good()
    return made


def main() -> None:
    shutil.rmtree(FOLDER, ignore_errors=True)
    for path, data in written().items():
        target = FOLDER / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(data)
    sys.stdout.write(f"{len(cases())} cases\n")


if __name__ == "__main__":
    main()
