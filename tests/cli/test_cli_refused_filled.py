"""A record that was refused, and whose attempt another record filled, is told of for ever."""

import json

from doors import SUITE, Door, passing


def test_a_refused_record_whose_slot_was_filled_is_in_the_caveats(door: Door) -> None:
    odd = {**passing(), "bogus": 1}
    assert door.take("odd.jsonl", [odd], "--suite", SUITE).code == 20
    door.take("clean.jsonl", [passing(attempt=n, nonce=n) for n in (1, 2, 3)], "--suite", SUITE)
    out = door.root / "out"
    door.run("--export-report", out, "--suite", SUITE, "--candidate", "cand-a")
    report = json.loads((out / "report.json").read_bytes())
    text = "1 refused record names attempts that other records fill"
    assert any(text in line for line in report["what_this_does_not_show"]), report[
        "what_this_does_not_show"
    ]
    assert text in (out / "report.md").read_text()
