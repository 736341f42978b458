"""What the workstation is measured against: Textual's own DataTable, and mini-swe-agent's
inspector. Run as a program, this file is one of the two.

    python benchmarks/workstation_peers.py table ROWS
    python benchmarks/workstation_peers.py convert LARGE.jsonl OUT.traj.json

The table holds as many rows as asked in the columns of the scorecard, as plain text, from memory:
no file is read, no state is coloured. `s` sorts by the next column, `/` is not there. `convert`
puts one large trace into the file that the inspector opens, one step for each call.
"""

import json
import random
import sys
from pathlib import Path
from typing import ClassVar

COLUMNS = (
    "episode", "complete", "state", "authority", "redaction", "process", "timeout", "budget",
    "attempts", "pass", "cost", "latency",
)  # fmt: skip


def table(count: int) -> None:
    from textual.app import App, ComposeResult
    from textual.binding import Binding
    from textual.widgets import DataTable

    class Table(App[None]):
        BINDINGS: ClassVar = [Binding("s", "sort", "sort")]

        def compose(self) -> ComposeResult:
            yield DataTable(cursor_type="row")

        def on_mount(self) -> None:
            draw = random.Random(5)
            rows = self.query_one(DataTable)
            for name in COLUMNS:
                rows.add_column(name, key=name)
            gates = ("✓ pass", "✗ FAIL 1/9", "▲ CRIT 1/9", "○ n/m")
            for n in range(count):
                marks = draw.choices(gates, (90, 6, 1, 3), k=7)
                cells = (f"{draw.random():.3f}", f"{draw.random():.3f}", f"{draw.random():.2f}s")
                rows.add_row(f"episode-{n:06}", *marks, "✓9/9", *cells)
            rows.focus()
            self._next = iter(("cost", "latency", "pass", "state", "authority") * 20)

        def action_sort(self) -> None:
            self.query_one(DataTable).sort(next(self._next))

    Table().run()


def convert(trace: Path, out: Path) -> int:
    """Write the trace as mini-swe-agent keeps one; returns the number of its steps."""
    record = json.loads(trace.read_bytes())
    messages = [
        {"role": "system", "content": "You look into orders."},
        {"role": "user", "content": "Please look into my order."},
    ]
    for event in record["events"]:
        asked = f"THOUGHT: next\n```bash\n{event['tool']} {json.dumps(event['arguments'])}\n```"
        messages.append({"role": "assistant", "content": asked})
        messages.append({"role": "user", "content": json.dumps(event["observation"])})
    info = {"exit_status": "Submitted", "submission": "", "mini_version": "1.0.0"}
    body = {"info": info, "messages": messages, "trajectory_format": "mini-swe-agent-1"}
    out.write_text(json.dumps(body))
    return len(record["events"])


if __name__ == "__main__":
    if sys.argv[1] == "table":
        table(int(sys.argv[2]))
    else:
        print(convert(Path(sys.argv[2]), Path(sys.argv[3])))
