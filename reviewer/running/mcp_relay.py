"""The command that an agent starts as its MCP server: it copies bytes to the attempt and back.
Standard library only.

`mcp_relay.py FOLDER`: a pair of pipes of its own in FOLDER, whose name it writes to FOLDER/door. A
candidate can create no Unix socket, and needs no network for pipes.
"""

import os
import sys
import threading


def main() -> int:
    folder = sys.argv[1]
    name = os.urandom(8).hex()
    up, down = f"{folder}/{name}.up", f"{folder}/{name}.down"
    try:
        os.mkfifo(up, 0o600)
        os.mkfifo(down, 0o600)
        door = os.open(f"{folder}/door", os.O_WRONLY | os.O_NONBLOCK)
        os.write(door, f"{name}\n".encode())
        os.close(door)
        sending, receiving = os.open(up, os.O_WRONLY), os.open(down, os.O_RDONLY)
    except OSError as error:
        sys.stderr.write(f"the attempt cannot be reached: {error.strerror}\n")
        return 1
    threading.Thread(target=carry, args=(0, sending), daemon=True).start()
    carry(receiving, 1)
    return 0


def carry(source: int, target: int) -> None:
    """Copy until the source ends or nobody reads the target."""
    try:
        while data := os.read(source, 65536):
            while data:
                data = data[os.write(target, data) :]
        os.close(target)
    except OSError:
        return


if __name__ == "__main__":
    code = main()
    sys.stderr.flush()
    os._exit(code)  # the other direction may still wait for its agent
