"""The program that a new candidate begins with, for each kind that is one."""

COMMAND = '''\
"""Answers every request with one sentence: put the agent in its place."""

import json
import sys

start = json.loads(sys.stdin.readline())  # user_request, tools
# {"type": "call", "call_id": "1", "tool": NAME, "arguments": {}} is answered by one line
print(json.dumps({"type": "final", "message": "I cannot do that yet."}), flush=True)
'''

PYTHON = '''\
"""Answers every request with one sentence: put the agent in its place."""


def run(user_request: str, tools: list, call) -> str:
    # call(NAME, argument=value) gives {"status": ..., "content": ...}
    return "I cannot do that yet."
'''

MCP = '''\
"""Finds the tools of its attempt over MCP, and answers with one sentence: put the agent in its
place. A framework with an MCP client is pointed at the same configuration."""

import json
import subprocess
import sys

request = sys.stdin.read()
with open(sys.argv[1], encoding="utf-8") as file:
    server = json.load(file)["mcpServers"]["ep"]
desk = subprocess.Popen(
    [server["command"], *server["args"]], stdin=subprocess.PIPE, stdout=subprocess.PIPE
)


def ask(method, params):
    said = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
    desk.stdin.write(json.dumps(said).encode() + b"\\n")
    desk.stdin.flush()
    return json.loads(desk.stdout.readline())["result"]


client = {"name": "agent", "version": "1"}
ask("initialize", {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": client})
tools = ask("tools/list", {})["tools"]
# ask("tools/call", {"name": NAME, "arguments": {}}) gives {"content": ..., "isError": ...}
print("I cannot do that yet.")
'''
