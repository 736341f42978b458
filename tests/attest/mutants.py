"""Mutants of a signed decision that keep much of its structure: the envelope's members, the JSON
inside, base64, signatures. Which operator made one is told, so that none sleeps."""

import base64
import copy
import json
import random
from collections.abc import Callable, Iterator
from typing import Any

from attest_desk import Desk
from ssh_blobs import plain_blob

from reviewer.signing.dsse import Envelope, Signature, parse_envelope, serialise_envelope
from reviewer.signing.statement import build_statement

ALICE, BOB = "alice@example.com", "bob@example.com"
ORDER = 2**252 + 27742317777372353535851937790883648493
"""Of the base point of Ed25519: a signature with S + ORDER is the same to a careless verifier."""
ODD: list[Any] = [
    None, True, False, 0, -1, 1, 2**53, 0.5, 1e400, "", "x", "PROMOTE", "BLOCK", [], {}, [1],
    {"a": 1}, "\x1b[2J", "é", "0" * 64, "2999-01-01T00:00:00Z",
]  # fmt: skip


class Mutants:
    """Mutants of a promotion that two people signed, from one seed."""

    def __init__(self, seed: int) -> None:
        self.desk, self.dice = Desk(), random.Random(seed)
        self.payload = build_statement(self.desk.facts(threshold=2, comment="¿ÿ>?~ both read"))
        self.good = self.desk.envelope(self.payload, ALICE, BOB)
        self.other = build_statement(self.desk.blocked())
        self._entries = json.loads(self.good)["signatures"]

    def make(self, count: int) -> Iterator[tuple[str, bytes]]:
        """(operator, mutant), each operator in turn."""
        operators = self.operators()
        for number in range(count):
            name, operator = operators[number % len(operators)]
            yield name, operator()

    def operators(self) -> list[tuple[str, Callable[[], bytes]]]:
        return [
            (name, getattr(self, name))
            for name in sorted(vars(type(self)))
            if not name.startswith("_") and name not in ("make", "operators")
        ]

    # the envelope as JSON

    def member_of_the_envelope(self) -> bytes:
        return json.dumps(self._changed(json.loads(self.good))).encode()

    def member_written_twice(self) -> bytes:
        text = self.good.decode()
        name = self.dice.choice(["payload", "payloadType", "signatures", "keyid", "sig"])
        value = json.dumps(self.dice.choice([*ODD[:-8], self._entries, "YQ=="]))
        return text.replace(f'"{name}":', f'"{name}":{value},"{name}":', 1).encode()

    def same_meaning(self) -> bytes:
        """Spaces, order, escapes, the other alphabet: the decision stays what it is."""
        body = json.loads(self.good)
        if self.dice.random() < 0.5:
            body["payload"] = body["payload"].replace("+", "-").replace("/", "_")
        self.dice.shuffle(body["signatures"])
        body = dict(self.dice.sample(sorted(body.items()), len(body)))
        text = json.dumps(body, indent=self.dice.choice([None, 1, 4]))
        return text.replace("payloadType", "payload\\u0054ype", 1).encode()

    def text_of_the_envelope(self) -> bytes:
        return self._edited(self.good)

    def type_of_the_payload(self) -> bytes:
        kinds = [
            "application/vnd.in-toto+json ", "application/vnd.in-toto+JSON", "application/json",
            "application/vnd.in-toto+json\u0000", "", "application/vnd.in-toto+json;v=1",
        ]  # fmt: skip
        return self._wrapped(payloadType=self.dice.choice(kinds))

    # base64

    def spelling_of_base64(self) -> bytes:
        body = json.loads(self.good)
        entry = self.dice.choice(body["signatures"])
        place, name = self.dice.choice([(body, "payload"), (entry, "sig")])
        text = place[name]
        at = self.dice.randrange(len(text))
        place[name] = self.dice.choice(
            [
                text.rstrip("="),
                text + "=",
                text[:at] + "\n" + text[at:],
                text[:at] + self.dice.choice("AZaz09+/-_=!é") + text[at + 1 :],
                text[::-1],
                text.replace("/", "_", 1),
                text[:-3] + chr(ord(text[-3]) ^ 1) + text[-2:],
            ]
        )
        return json.dumps(body).encode()

    # the payload

    def bytes_of_the_payload(self) -> bytes:
        return self._with_payload(self._edited(self.payload))

    def member_of_the_payload(self) -> bytes:
        return self._with_payload(json.dumps(self._changed(json.loads(self.payload))).encode())

    def payload_spelt_anew(self) -> bytes:
        """The same document in other bytes: it is the bytes that are signed."""
        indent = self.dice.choice([None, 0, 2])
        return self._with_payload(json.dumps(json.loads(self.payload), indent=indent).encode())

    def payload_of_another_decision(self) -> bytes:
        return self._with_payload(self.other)

    # signatures

    def signatures_mixed(self) -> bytes:
        entries = [dict(self.dice.choice(self._entries)) for _ in range(self.dice.randrange(1, 6))]
        for entry in entries:
            if self.dice.random() < 0.5:
                entry["keyid"] = self.dice.choice(self._entries)["keyid"]
            if self.dice.random() < 0.2:
                del entry["keyid"]
        return self._wrapped(signatures=entries)

    def signature_bent(self) -> bytes:
        entries = [dict(entry) for entry in self._entries]
        entry = self.dice.choice(entries)
        sig = bytearray(base64.b64decode(entry["sig"]))
        how = self.dice.randrange(4)
        if how == 0:
            s = int.from_bytes(sig[32:], "little") + ORDER * self.dice.choice([1, 2, 3])
            sig[32:] = (s % 2**256).to_bytes(32, "little")
        elif how == 1:
            sig[self.dice.randrange(64)] ^= 1 << self.dice.randrange(8)
        elif how == 2:
            sig = bytearray(self.dice.randbytes(self.dice.choice([0, 32, 63, 64, 65, 200])))
        else:
            sig = sig[32:] + sig[:32]
        entry["sig"] = base64.b64encode(sig).decode()
        return self._wrapped(signatures=entries)

    def signed_by_others(self) -> bytes:
        """Other people, or one of the two alone, over a payload that says something else."""
        body = self._changed(json.loads(self.payload))
        names = self.dice.sample(["mallory", "robot", "fire", ALICE], self.dice.randrange(1, 3))
        return self._renamed(self.desk.envelope(json.dumps(body).encode(), *names))

    def signed_alone(self) -> bytes:
        name = self.dice.choice([ALICE, BOB])
        return self._renamed(
            self.desk.envelope(self.payload, name, *self.dice.choice([(), (name,)]))
        )

    def ssh_signature(self) -> bytes:
        """One of the two by ssh-keygen; for something else, mostly."""
        envelope = parse_envelope(self.desk.envelope(self.payload, ALICE))
        changes: dict[str, Any] = self.dice.choice(
            [{}, {"namespace": "file"}, {"algorithm": "sha256"}, {"reserved": b"x"}, {"tail": b"x"}]
        )
        message = self.dice.choice([envelope.signed_bytes, self.payload, b""])
        blob = plain_blob(self.desk.signer(BOB), message, **changes)
        if self.dice.random() < 0.5:
            blob = self._edited(blob)
        keyid = self.desk.signer(BOB).public.keyid
        return serialise_envelope(envelope.with_signature(Signature(blob or b"x", keyid)))

    # how

    def _wrapped(self, **changes: Any) -> bytes:
        return json.dumps({**json.loads(self.good), **changes}).encode()

    def _with_payload(self, payload: bytes) -> bytes:
        return self._wrapped(payload=base64.b64encode(payload).decode())

    def _renamed(self, envelope: bytes) -> bytes:
        """With keyids that claim the two."""
        parsed = parse_envelope(envelope)
        keyids = [entry["keyid"] for entry in self._entries]
        signatures = [
            Signature(one.sig, self.dice.choice([*keyids, one.keyid])) for one in parsed.signatures
        ]
        return serialise_envelope(Envelope(parsed.payload, tuple(signatures)))

    def _changed(self, body: Any) -> Any:
        """One to three members or elements, wherever they stand, made into something else."""
        for _ in range(self.dice.randrange(1, 4)):
            place = body
            while True:
                keys = sorted(place) if isinstance(place, dict) else list(range(len(place)))
                if not keys:
                    break
                key = self.dice.choice(keys)
                if isinstance(place[key], dict | list) and place[key] and self.dice.random() < 0.8:
                    place = place[key]
                    continue
                self._change(place, key)
                break
        return body

    def _change(self, place: Any, key: Any) -> None:
        how = self.dice.randrange(5)
        if how == 0:
            del place[key]
        elif how == 1 and isinstance(place, dict):
            place[self.dice.choice([key.upper(), f"{key} ", f"{key}2", "__proto__"])] = (
                copy.deepcopy(place[key])
            )
        elif how == 2 and isinstance(place, list):
            place.append(copy.deepcopy(place[key]))
        elif how == 3 and isinstance(place[key], int) and not isinstance(place[key], bool):
            place[key] += self.dice.choice([-1, 1, 10**6])
        else:
            place[key] = copy.deepcopy(self.dice.choice(ODD))

    def _edited(self, data: bytes) -> bytes:
        for _ in range(self.dice.randrange(1, 4)):
            start = self.dice.randrange(len(data) + 1)
            end = min(len(data), start + self.dice.randrange(40))
            pieces = [
                b"", b" ", b'"', b"{}", b"null", b"\\u0061", b"=", data[start:end] * 2,
                self.dice.randbytes(3),
            ]  # fmt: skip
            data = data[:start] + self.dice.choice(pieces) + data[end:]
        return data
