"""The values SSH keys, signatures and agents are written in (RFC 4251 §5)."""

import struct


class WireError(ValueError):
    """SSH wire data that ends early or goes on too long."""


def wire_string(data: bytes) -> bytes:
    """A string: u32 length, then the bytes."""
    return struct.pack(">I", len(data)) + data


class WireReader:
    """Reads values from front to back; WireError when the data does not hold them."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = 0

    def take(self, count: int) -> bytes:
        if count > len(self._data) - self._at:
            raise WireError("it ends too early")
        piece = self._data[self._at : self._at + count]
        self._at += count
        return piece

    def byte(self) -> int:
        return self.take(1)[0]

    def u32(self) -> int:
        return int.from_bytes(self.take(4), "big")

    def string(self) -> bytes:
        return self.take(self.u32())

    def end(self) -> None:
        if self._at != len(self._data):
            raise WireError("something follows its end")
