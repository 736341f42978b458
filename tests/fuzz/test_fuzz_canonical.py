"""RFC 8785 bytes of generated documents, against the engine whose number and string forms that
standard takes over: Node's JSON.stringify with sorted members."""

import json
import math
import random
import shutil
import struct
import subprocess
from typing import Any

import pytest

from reviewer.suite.strict_json import canonical_bytes

pytestmark = pytest.mark.skipif(not shutil.which("node"), reason="needs node")

SCRIPT = """
const sorted = (one) => {
  if (one === null || typeof one !== "object") return JSON.stringify(one);
  if (Array.isArray(one)) return "[" + one.map(sorted).join(",") + "]";
  return "{" + Object.keys(one).sort()
    .map((name) => JSON.stringify(name) + ":" + sorted(one[name])).join(",") + "}";
};
const lines = require("fs").readFileSync(0, "utf8").split("\\n");
process.stdout.write(lines.filter((line) => line).map((line) => sorted(JSON.parse(line)))
  .join("\\n"));
"""
TEXTS = (
    "",
    "a",
    "é",
    "\u20ac",
    "\r",
    "\x00",
    "\x1f",
    "\x7f",
    "\u2028",
    "\ufb33",
    "😀",
    "\uffff",
    '"\\/',
)


class Documents:
    """JSON values of every kind, with numbers where doubles are hard to print."""

    def __init__(self, seed: int) -> None:
        self.dice = random.Random(seed)

    def value(self, depth: int = 0) -> Any:
        kind = self.dice.randrange(8 if depth < 4 else 5)
        if kind == 0:
            return self.dice.choice((None, True, False))
        if kind == 1:
            return self.dice.randint(-(2**53) + 1, 2**53 - 1) >> self.dice.randrange(54)
        if kind == 2:
            return self.double()
        if kind in (3, 4):
            return self.text()
        if kind == 5:
            return [self.value(depth + 1) for _ in range(self.dice.randrange(5))]
        return {self.text(): self.value(depth + 1) for _ in range(self.dice.randrange(6))}

    def double(self) -> float:
        how = self.dice.randrange(4)
        if how == 0:
            return self.dice.choice((0.0, -0.0, 5e-324, 1e21, 1e-7, 1e-6, 999999999999999900000.0))
        if how == 1:
            return self.dice.randint(1, 10**17) * 10.0 ** self.dice.randint(-30, 30)
        if how == 2:
            return round(self.dice.random() * 1000, self.dice.randrange(6))
        while True:
            (number,) = struct.unpack("<d", self.dice.randbytes(8))
            if math.isfinite(number):
                return float(number)

    def text(self) -> str:
        kind = self.dice.randrange(3)
        if kind == 0:
            return "".join(self.dice.choices(TEXTS, k=self.dice.randrange(4)))
        if kind == 1:
            return "".join(chr(self.dice.randrange(0x80)) for _ in range(self.dice.randrange(9)))
        points = (self.dice.randrange(0x11_0000) for _ in range(self.dice.randrange(5)))
        return "".join(chr(point) for point in points if not 0xD800 <= point < 0xE000)


def agreed(seed: int, count: int) -> int:
    """How many documents both write as the same bytes; all of them, or this fails."""
    made = Documents(seed)
    documents = [made.value() for _ in range(count)]
    lines = "\n".join(json.dumps(one) for one in documents)
    answer = subprocess.run(
        ["node", "-e", SCRIPT], input=lines.encode(), capture_output=True, check=True, timeout=300
    )
    theirs = answer.stdout.split(b"\n")
    assert len(theirs) == count
    for document, line in zip(documents, theirs, strict=True):
        assert canonical_bytes(document) == line, document
    return count


def test_documents_are_written_as_node_writes_them() -> None:
    assert agreed(seed=1, count=3_000) == 3_000


@pytest.mark.nightly
@pytest.mark.parametrize("seed", range(2, 7))
def test_tens_of_thousands_of_documents(seed: int) -> None:
    assert agreed(seed=seed, count=10_000) == 10_000
