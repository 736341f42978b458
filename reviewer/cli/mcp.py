"""`reviewer mcp`: read-only answers for coding agents."""

import argparse

from reviewer.cli.opening import workspace_of
from reviewer.cli.say import fail
from reviewer.exit_codes import ExitCode


def run(arguments: argparse.Namespace) -> int:
    workspace = workspace_of(arguments)
    try:
        import mcp.server.lowlevel  # noqa: F401 (is it there?)
        import mcp_types  # noqa: F401 (is it there?)
    except ImportError as error:
        return fail(
            f"answering over MCP needs the extra `mcp` ({error.name} is not installed)",
            "pip install 'release-reviewer[mcp]'",
            "reviewer scorecard --json answers the same to a program that can run commands",
            exit_code=ExitCode.USAGE,
        )
    from reviewer.mcp.server import serve

    serve(workspace)
    return ExitCode.DONE
