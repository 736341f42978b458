"""Coverage-guided mutants of everything that `reviewer verify` reads, by atheris (libFuzzer).

    python tests/fuzz/atheris_verify.py -runs=1000000

The first byte of an input says what the rest of it is: an envelope, a payload that two trusted
people are made to sign, a trust file, a candidate manifest, or an SSH signature. Whatever it is,
`verify` must answer with one of its exit codes; and where nobody signed anything new, an answer of
"promoted" must be about the very bytes that were signed. Further arguments are libFuzzer's; one
that is no option is a folder for the inputs it finds worth keeping.
"""

import json
import sys
import tempfile
from functools import lru_cache
from pathlib import Path

import atheris

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parents[1]), str(HERE.parent), str(HERE.parent / "attest")]

with atheris.instrument_imports(
    include=["reviewer.signing", "reviewer.trace.strictjson"], enable_loader_override=False
):
    from attest_desk import Desk
    from ssh_blobs import plain_blob

    from reviewer.signing import verify as verifying
    from reviewer.signing.dsse import (
        PAYLOAD_TYPE,
        Envelope,
        Signature,
        parse_envelope,
        serialise_envelope,
    )
    from reviewer.signing.ssh import PublicKey
    from reviewer.signing.statement import build_statement
    from reviewer.signing.verify import VerifyResult

ALICE, BOB = "alice@example.com", "bob@example.com"
KINDS = (ENVELOPE, PAYLOAD, TRUST, MANIFEST, BLOB) = tuple(range(5))
CODES = (0, 10, 20, 30)


class Target:
    """`verify` on inputs of five kinds, around one decision that two people signed."""

    def __init__(self) -> None:
        self.desk = Desk()
        self.payload = build_statement(self.desk.facts(threshold=2, comment="¿ÿ>?~ both read"))
        self.good = self.desk.envelope(self.payload, ALICE, BOB)
        self.alone = parse_envelope(self.desk.envelope(self.payload, ALICE))
        self.bob = self.desk.signer(BOB).public.keyid
        self.blob = plain_blob(self.desk.signer(BOB), self.alone.signed_bytes)
        lines = self.desk.trust.splitlines()
        self.trust = "\n".join(line for line in lines if line.startswith((ALICE, BOB))) + "\n"
        self.manifest = self.desk.manifest_bytes
        self.signers = [self.desk.signer(name) for name in (ALICE, BOB)]
        self.accepted = 0
        # What stays the same from run to run is read once: a run is then mostly what is new.
        PublicKey.verifies = lru_cache(1024)(PublicKey.verifies)
        verifying.parse_signers = lru_cache(64)(verifying.parse_signers)
        verifying.read_manifest = lru_cache(64)(verifying.read_manifest)
        self(bytes([ENVELOPE]) + self.good)
        assert self.accepted == 1

    def seeds(self) -> list[bytes]:
        blocked = build_statement(self.desk.blocked())
        whole = json.dumps({**json.loads(self.good), "payloadType": PAYLOAD_TYPE}, indent=1)
        return [
            bytes([ENVELOPE]) + self.good,
            bytes([ENVELOPE]) + whole.encode(),
            bytes([ENVELOPE]) + self.desk.envelope(blocked, ALICE),
            bytes([PAYLOAD]) + self.payload,
            bytes([PAYLOAD]) + blocked,
            bytes([TRUST]) + self.desk.trust.encode(),
            bytes([MANIFEST]) + self.manifest,
            bytes([BLOB]) + self.blob,
        ]

    def __call__(self, data: bytes) -> None:
        kind, rest = (data[0] % len(KINDS), data[1:]) if data else (ENVELOPE, b"")
        envelope, trust, manifest = self.good, self.trust, self.manifest
        if kind == ENVELOPE:
            envelope = rest
        elif kind == PAYLOAD:
            envelope = self.signed(rest)
        elif kind == TRUST:
            trust = rest.decode("utf-8", "surrogateescape")
        elif kind == MANIFEST:
            manifest = rest
        else:
            envelope = serialise_envelope(
                self.alone.with_signature(Signature(rest or b"x", self.bob))
            )
        result = verifying.verify(envelope, manifest, trust, now=self.desk.now)
        self.check(kind, envelope, result)

    def signed(self, payload: bytes) -> bytes:
        bare = Envelope(payload, ())
        for one in self.signers:
            bare = bare.with_signature(Signature(one.sign(bare.signed_bytes), one.public.keyid))
        return serialise_envelope(bare)

    def check(self, kind: int, envelope: bytes, result: VerifyResult) -> None:
        assert result.exit_code in CODES, result
        assert (result.decision is None) == (result.exit_code in (20, 30)), result
        drawn = "".join(result.lines)
        assert not any(ord(one) < 32 or 127 <= ord(one) < 160 for one in drawn), result
        if result.exit_code == 0:
            self.accepted += 1
            assert kind == PAYLOAD or parse_envelope(envelope).payload == self.payload, envelope


def main() -> None:
    target = Target()
    with tempfile.TemporaryDirectory() as folder:
        for number, seed in enumerate(target.seeds()):
            Path(folder, f"seed-{number}").write_bytes(seed)
        words = Path(folder, "words.dict")
        names = {
            name for name in json.dumps(json.loads(target.payload)).split('"') if name.isalnum()
        }
        words.write_text("".join(f'"{name}"\n' for name in sorted(names) if name.isascii()))
        seeds = Path(folder, "seeds")
        seeds.mkdir()
        for one in Path(folder).glob("seed-*"):
            one.rename(seeds / one.name)
        options = [one for one in sys.argv[1:] if one.startswith("-")]
        kept = [one for one in sys.argv[1:] if not one.startswith("-")] or [str(seeds)]
        argv = [
            "atheris_verify",
            "-max_len=20000",
            "-timeout=20",
            f"-dict={words}",
            *options,
            *kept,
        ]
        if str(seeds) not in argv:
            argv.append(str(seeds))
        print(f"seeds: {len(target.seeds())}", flush=True)
        atheris.Setup(argv, target, enable_python_coverage=True)
        atheris.Fuzz()


if __name__ == "__main__":
    main()
