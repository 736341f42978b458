"""The token behind hardware_token.c: `public APPLICATION FLAGS`, `sign APPLICATION FLAGS HEX`."""

import hashlib
import struct
import sys

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

COUNTER = 7


def main(question: str, application: str, flags: str, data: str = "") -> None:
    secret = hashlib.sha256(b"a token for tests").digest()
    private = Ed25519PrivateKey.from_private_bytes(secret)
    if question == "public":
        sys.stdout.write(private.public_key().public_bytes_raw().hex())
        return
    bound = hashlib.sha256(application.encode()).digest()
    rest = struct.pack(">BI", int(flags), COUNTER)
    message = hashlib.sha256(bytes.fromhex(data)).digest()
    sys.stdout.write(private.sign(bound + rest + message).hex())


if __name__ == "__main__":
    main(*sys.argv[1:])
