"""Becomes the MCP server of an attempt. Standard library only.

`server_child.py`, in the sandbox and in an empty folder, reads one line of JSON on its standard
input: `argv`, `files` (a folder to copy here, or null) and `state` (the content of
`initial_state.json`). It answers `{"type":"ready"}` and becomes the program, which then uses the
same pipes.
"""

import json
import os
import shutil
import sys

STATE_FILE = "initial_state.json"
INITIAL_STATE = "{initial_state}"
CANNOT_START = 126
_BLOCK = 1 << 16


def main() -> int:
    order = json.loads(_line())
    home = os.getcwd()
    try:
        if order["files"] is not None:
            shutil.copytree(order["files"], home, dirs_exist_ok=True)
        state = os.path.join(home, STATE_FILE)
        with open(state, "w", encoding="utf-8") as file:
            json.dump(order["state"], file)
    except OSError as error:
        sys.stderr.write(f"its files cannot be copied: {error.strerror}\n")
        return CANNOT_START
    argv = [word.replace(INITIAL_STATE, state) for word in order["argv"]]
    os.write(1, b'{"type":"ready"}\n')
    try:
        os.execv(argv[0], argv)
    except OSError as error:
        sys.stderr.write(f"cannot start {argv[0]}: {error.strerror}\n")
    return CANNOT_START


def _line() -> bytes:
    """Return the only line before the answer. Nothing follows it until then."""
    data = b""
    while not data.endswith(b"\n"):
        more = os.read(0, _BLOCK)
        if not more:
            break
        data += more
    return data


if __name__ == "__main__":
    sys.exit(main())
