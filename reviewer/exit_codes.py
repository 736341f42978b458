"""The exit codes of every command, which pipelines branch on (docs/cli.md).

They are below all floors, since a report, a verification and a refusal each name one.
"""

from enum import IntEnum


class ExitCode(IntEnum):
    """What the program tells its caller when it ends."""

    DONE = 0
    """Promote, or done."""
    NOT_PROMOTED = 10
    """Block, repair or hold."""
    USAGE = 2
    INVALID = 20
    """Invalid input or signature."""
    POLICY_NOT_MET = 30
    """The signature policy is not met."""
    INTERNAL = 40
    INTERRUPTED = 130
    """Ended by Ctrl-C; the same command continues."""
    TERMINATED = 143
    """Ended by SIGTERM."""
