"""Runs of a candidate behind an HTTP endpoint, against a bare httpx loop of the same requests.

`python benchmarks/endpoint.py [--attempts N] [--jobs N …]`: an endpoint of this machine answers
after 50 ms, first with a call and then with a message, and counts connections and requests under
way. The floor posts the bodies that the run posted, through one client of as many connections as
there are jobs, and parses the answers. CPU is that of all processes of the command without that of
a run of one attempt per episode, or of the loop without a request: start-up is in neither.
"""

import argparse
import asyncio
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
import urllib.request
from pathlib import Path
from typing import ClassVar

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))
SUITE, CANDIDATE, LATENCY_S = "refund-eval-v5", "chat", 0.05

BARE = """
import asyncio, httpx, json, sys
url, file, jobs = sys.argv[1], sys.argv[2], int(sys.argv[3])
bodies = iter(open(file, "rb").read().splitlines())
async def main():
    limits = httpx.Limits(max_connections=jobs, max_keepalive_connections=jobs)
    async with httpx.AsyncClient(timeout=None, limits=limits) as client:
        async def work():
            for body in bodies:
                got = await client.post(url, content=body)
                json.loads(got.content)
        await asyncio.gather(*(work() for _ in range(jobs)))
asyncio.run(main())
"""


class Endpoint(asyncio.Protocol):
    """One connection. Counts and bodies are kept for all connections together; GET returns and
    resets them."""

    connections = under_way = most = 0
    bodies: ClassVar[list[bytes]] = []

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport, self.held = transport, b""

    def data_received(self, data: bytes) -> None:
        self.held += data
        while b"\r\n\r\n" in self.held:
            head, _, rest = self.held.partition(b"\r\n\r\n")
            lengths = [int(line[15:]) for line in head.lower().split(b"\r\n") if
                       line.startswith(b"content-length:")]  # fmt: skip
            length = lengths[0] if lengths else 0
            if len(rest) < length:
                return
            body, self.held = rest[:length], rest[length:]
            self.asked(head, body)

    def asked(self, head: bytes, body: bytes) -> None:
        every = Endpoint
        if head.startswith(b"GET"):
            told = {"connections": every.connections, "most": every.most}
            told["bodies"] = [body.decode() for body in every.bodies]
            every.connections, every.most, every.bodies = 0, 0, []
            self.write(json.dumps(told).encode())
            return
        if not hasattr(self, "counted"):
            self.counted = True
            every.connections += 1
        every.bodies.append(body)
        every.under_way += 1
        every.most = max(every.most, every.under_way)
        asyncio.get_running_loop().call_later(LATENCY_S, self.answer, body)

    def answer(self, body: bytes) -> None:
        Endpoint.under_way -= 1
        if b'"role":"assistant"' in body:
            message = {"role": "assistant", "content": "done"}
        else:
            function = {"name": "lookup_order", "arguments": "{}"}
            call = {"id": "c1", "type": "function", "function": function}
            message = {"role": "assistant", "content": None, "tool_calls": [call]}
        choice = {"index": 0, "message": message, "finish_reason": "stop"}
        usage = {"prompt_tokens": 500, "completion_tokens": 20}
        told = {"id": "x", "object": "chat.completion", "model": "m", "choices": [choice]}
        self.write(json.dumps({**told, "usage": usage}).encode())

    def write(self, body: bytes) -> None:
        head = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n"
        if not self.transport.is_closing():
            self.transport.write(head % len(body) + body)


async def serve() -> None:
    server = await asyncio.get_running_loop().create_server(Endpoint, "127.0.0.1", 0, backlog=2048)
    print(server.sockets[0].getsockname()[1], flush=True)
    await asyncio.Event().wait()


class Measured:
    """One measurement: wall and CPU seconds, and what the endpoint counted."""

    def __init__(self, url: str, command: list[str]) -> None:
        before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
        environment = {**os.environ, "PYTHONPATH": str(HERE.parent)}
        subprocess.run(command, check=True, env=environment, stdout=subprocess.DEVNULL, timeout=600)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        self.wall = time.perf_counter() - began
        self.cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        with urllib.request.urlopen(url, timeout=60) as answer:
            told = json.load(answer)
        self.connections, self.most, self.bodies = told["connections"], told["most"], told["bodies"]


def measure(workspace: Path, url: str, attempts: int, jobs: int) -> None:
    """Print the rows of one number of jobs."""

    def run(each: int) -> Measured:
        for left in (workspace / "store").glob("review.db*"):
            left.unlink()
        return Measured(url, [
            sys.executable, "-m", "reviewer", "--workspace", str(workspace), "--quiet", "run",
            SUITE, CANDIDATE, "--attempts", str(each), "--jobs", str(jobs),
        ])  # fmt: skip

    def bare(bodies: list[str]) -> Measured:
        file = workspace / "bodies"
        file.write_text("\n".join(bodies))
        address = f"{url}/v1/chat/completions"
        return Measured(url, [sys.executable, "-c", BARE, address, str(file), str(jobs)])

    made = 3 * attempts
    ours_start, ours = run(1), run(attempts)
    floor_start, floor = bare([]), bare(ours.bodies)
    ms = (ours.cpu - ours_start.cpu) * 1000 / (made - 3)
    floor_ms = (floor.cpu - floor_start.cpu) * 1000 / made
    goal = 1.5 * floor_ms + 1
    print(
        f"| {jobs} | {made:,} | {floor_ms:.2f} | {ms:.2f} | {goal:.2f} | {ours.most} | "
        f"{floor.most} | {ours.connections} | {ours.wall:.1f} | {floor.wall:.1f} |",
        flush=True,
    )


def main() -> None:
    given = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    given.add_argument("--attempts", type=int, default=400, help="per episode, of three")
    given.add_argument("--jobs", type=int, nargs="+", default=[16, 64, 256])
    given.add_argument("--serve", action="store_true", help=argparse.SUPPRESS)
    asked = given.parse_args()
    if asked.serve:
        asyncio.run(serve())
        return
    from reviewer.desk.place import make

    command = [sys.executable, __file__, "--serve"]
    with (
        tempfile.TemporaryDirectory() as folder,
        subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server,
    ):
        assert server.stdout is not None
        url = f"http://127.0.0.1:{int(server.stdout.readline())}"
        workspace = Path(folder) / "workspace"
        make(workspace, example=True)
        manifest = {
            "schema": "reviewer/candidate@1", "candidate_id": CANDIDATE, "agent": "a",
            "version": "1", "authors": ["x"], "model": "m",
            "runner": {"kind": "openai-chat", "base_url": f"{url}/v1"},
        }  # fmt: skip
        place = workspace / "suites" / SUITE / "candidates" / f"{CANDIDATE}.json"
        place.write_text(json.dumps(manifest))
        print(
            "| jobs | attempts | loop, CPU ms an attempt | run, CPU ms an attempt | goal: 1.5 × "
            "loop + 1 | run, most under way | loop, most under way | run, connections | run, s | "
            "loop, s |\n|---|---|---|---|---|---|---|---|---|---|"
        )
        try:
            for jobs in asked.jobs:
                measure(workspace, url, asked.attempts, jobs)
        finally:
            server.kill()


if __name__ == "__main__":
    main()
