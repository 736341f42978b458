"""Files made odd from one seed: bytes, JSON structure, archives. Which operator made one is told,
so that none sleeps."""

import gzip
import io
import json
import random
import zipfile
from typing import Any

CANARIES = (
    "jane.q.roe@corpmail.io",
    "4539578763621486",
    "ghp_16C7e42F292c6912E7710c838347Ae178B4a",
    "DE89370400440532013000",
)
"""Identifiers of kinds that must never reach the store: e-mail, card, token, IBAN."""

_DEEP = 5_000
RAW: tuple[str, ...] = (
    "NaN",
    "-Infinity",
    "1e400",
    "-1e999",
    "1" * 400,
    "9" * 5_000,
    "-0",
    "1e-400",
    "18446744073709551616",
    "-9223372036854775809",
    "[" * 63 + "]" * 63,
    "[" * _DEEP + "]" * _DEEP,
    '{"a":' * 70 + "1" + "}" * 70,
    '"\\ud800"',
    '"\\udc00\\ud800x"',
    '"\\u0000"',
    '"\\u001b]52;c;aGk=\\u0007"',
    '"\\u202e\\u2066"',
    '{"a":1,"a":2}',
    "tru",
    "",
    "'x'",
    "0x10",
    "01",
    "// c\n1",
)
"""Text in the place of a value that Python's own encoder would not write."""
ODD: tuple[Any, ...] = (
    None, True, False, 0, -1, 1, 2, 0.5, -0.5, 1e18, 2**53, 2**63, 2**64, 1e308, "", " ", "x", "0",
    "1", "nan", "true", "null", "[]", "{}", "../../etc/passwd", "/etc/passwd", "a/b", "a\\b", "\n",
    "x" * 70_000, "é" * 700, [], {}, [[]], [{}], [None], [1], ["x"], {"a": 1}, {"": None},
    {"type": "x"}, {"role": "user"}, {"text": None}, {"content": []}, {"id": []}, "2025-01-01",
    "0000-00-00T00:00:00Z", "9999-12-31T23:59:59+00:00", "2025-01-01T00:00:00+99:99", "٣", "²",
    "1_0",
)  # fmt: skip
_MARK = "\ue000raw\ue000"


class Mutator:
    """Makes mutants of one file after another, all from one seed."""

    def __init__(self, seed: int) -> None:
        self.dice = random.Random(seed)

    def mutant(self, raw: bytes) -> tuple[str, bytes]:
        """Return (operator, the changed file)."""
        if raw.startswith(b"PK\x03\x04") and self.dice.random() < 0.8:
            return self._archive(raw)
        if self.dice.random() < 0.3:
            return self._bytes(raw)
        changed = self._structure(raw)
        return changed if changed is not None else self._bytes(raw)

    # the file as bytes

    def _bytes(self, raw: bytes) -> tuple[str, bytes]:
        name = self.dice.choice(
            ("flip", "cut", "insert", "drop", "repeat", "bom", "nul", "utf8", "utf16", "gzip")
        )
        size = len(raw)
        at = self.dice.randrange(size + 1)
        end = min(size, at + self.dice.choice((1, 2, 8, 64, 4096)))
        if name == "flip":
            data = bytearray(raw)
            for _ in range(self.dice.choice((1, 1, 4, 32))):
                if data:
                    data[self.dice.randrange(size)] ^= 1 << self.dice.randrange(8)
            return name, bytes(data)
        if name == "cut":
            return name, raw[:at]
        if name == "insert":
            piece = self.dice.choice(
                (b'"', b"\\", b"{", b"}", b"[", b"]", b",", b":", b"\n", b"null", b"<", b"'",
                 self.dice.randbytes(3), b"---\n", b"{}\n")
            )  # fmt: skip
            return name, raw[:at] + piece + raw[at:]
        if name == "drop":
            return name, raw[:at] + raw[end:]
        if name == "repeat":
            return name, raw[:end] + raw[at:]
        if name == "bom":
            return name, b"\xef\xbb\xbf" * self.dice.choice((1, 2)) + raw
        if name == "nul":
            return name, raw[:at] + b"\0" * self.dice.choice((1, 9)) + raw[at:]
        if name == "utf8":
            piece = self.dice.choice((b"\xff", b"\xc0\xaf", b"\xed\xa0\x80", b"\xf4\x90\x80\x80"))
            return name, raw[:at] + piece + raw[at:]
        if name == "utf16":
            return name, raw[:20_000].decode("utf-8", "replace").encode("utf-16")
        packed = gzip.compress(raw, 1)
        return name, packed[: self.dice.choice((len(packed), len(packed) // 2, 20))]

    # the file as JSON, or lines of it

    def _structure(self, raw: bytes) -> tuple[str, bytes] | None:
        if (whole := _parsed(raw)) is not None:
            name, text = self._value(whole)
            return name, text
        lines = raw.split(b"\n")
        places = [n for n, line in enumerate(lines) if line[:1] in (b"{", b"[")]
        if not places:
            return None
        place = self.dice.choice(places)
        value = _parsed(lines[place])
        if value is None:
            return None
        name, text = self._value(value)
        lines[place] = text.replace(b"\n", b" ")
        return name, b"\n".join(lines)

    def _value(self, value: Any) -> tuple[str, bytes]:
        """Change one to three places of a value; raw texts are inserted last."""
        raws: list[str] = []
        name = "structure"
        for _ in range(self.dice.choice((1, 1, 1, 2, 3))):
            name, value = self._changed(value, raws)
        text = json.dumps(value, ensure_ascii=self.dice.random() < 0.5)
        for one in raws:
            text = text.replace(f'"{_MARK}"', one, 1) if _MARK in text else text
            text = text.replace(json.dumps(_MARK), one, 1)
        return name, text.encode("utf-8", "surrogatepass")

    def _changed(self, value: Any, raws: list[str]) -> tuple[str, Any]:
        holder, key = self._place(value)
        if holder is None:
            return "odd", self.dice.choice(ODD)
        name = self.dice.choice(
            ("odd", "odd", "odd", "raw", "raw", "drop", "twice", "canary", "canary_name", "rename",
             "swap", "wrap", "shuffle", "grow")
        )  # fmt: skip
        own = holder[key]
        if name == "odd":
            holder[key] = self.dice.choice(ODD)
        elif name == "raw":
            holder[key] = _MARK
            raws.append(self.dice.choice(RAW))
        elif name == "drop":
            del holder[key]
        elif name == "twice":
            if isinstance(holder, dict):
                holder[key] = _MARK
                other = json.dumps(self.dice.choice(ODD))
                raws.append(f"{other},{json.dumps(key)}:{json.dumps(own)}")
            else:
                holder.insert(key, own)
        elif name == "canary":
            canary = self.dice.choice(CANARIES)
            holder[key] = self.dice.choice((canary, f"write to {canary} now", [canary]))
        elif name == "canary_name":
            if isinstance(holder, dict):
                holder[self.dice.choice(CANARIES)] = own
            else:
                holder[key] = {self.dice.choice(CANARIES): own}
        elif name == "rename":
            if isinstance(holder, dict):
                holder[self.dice.choice((key.upper(), f"{key} ", "", "__proto__", "x" * 600))] = own
                del holder[key]
        elif name == "swap":
            other, where = self._place(value)
            if other is not None and other is not own and not _holds(own, other):
                holder[key] = other[where] if not _holds(other[where], holder) else None
        elif name == "wrap":
            holder[key] = self.dice.choice(([own], {"a": own}, [own, own], str(own)[:5000]))
        elif name == "shuffle" and isinstance(own, list):
            self.dice.shuffle(own)
        elif name == "grow" and isinstance(own, list) and own:
            holder[key] = own * self.dice.choice((2, 50 if len(own) < 40 else 2))
        return name, value

    def _place(self, value: Any) -> tuple[Any, Any]:
        """Choose a member or element somewhere in a value: return its container and its key."""
        holder, key = None, None
        while isinstance(value, dict | list) and value:
            if holder is not None and self.dice.random() < 0.15:
                break
            keys = list(value) if isinstance(value, dict) else range(len(value))
            holder, key = value, self.dice.choice(keys)
            value = holder[key]
        return holder, key

    # archives

    def _archive(self, raw: bytes) -> tuple[str, bytes]:
        """Change, drop, rename or repeat one entry, and pack all entries again."""
        try:
            with zipfile.ZipFile(io.BytesIO(raw)) as packed:
                entries = [(info.filename, packed.read(info)) for info in packed.infolist()]
        except Exception:  # a mutant of a mutant: zipfile breaks over them in many ways
            return self._bytes(raw)
        if not entries:
            return self._bytes(raw)
        place = self.dice.randrange(len(entries))
        name, data = entries[place]
        how = self.dice.choice(("entry", "entry", "entry", "entry", "no_entry", "name", "twice"))
        if how == "entry":
            operator, data = self.mutant(data) if data else ("empty", b"")
            entries[place] = name, data
            how = f"entry_{operator}"
        elif how == "no_entry":
            del entries[place]
        elif how == "name":
            odd = ("../../x.json", "/etc/x", "a\\..\\b", "x" * 300, "", "samples/\x1b[2J.json")
            entries[place] = self.dice.choice((*odd, name.upper())), data
        else:
            entries.append((name, data[: len(data) // 2]))
        out = io.BytesIO()
        with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as packed:
            for one, content in entries:
                packed.writestr(zipfile.ZipInfo(one or "x"), content)
        return how, out.getvalue()


def _parsed(raw: bytes) -> Any:
    if raw.lstrip()[:1] not in (b"{", b"["):
        return None
    try:
        return json.loads(raw)
    except (ValueError, RecursionError):
        return None


def _holds(value: Any, wanted: Any) -> bool:
    if value is wanted:
        return True
    below = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return any(_holds(one, wanted) for one in below)
