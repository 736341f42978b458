"""What `--quiet` leaves to say."""

from doors import Door, passing


def test_a_refusal_is_said_and_progress_is_not(door: Door) -> None:
    fine = door.ok("import", door.file("fine.jsonl", [passing()]), "--quiet")
    assert fine.err == ""
    said = door.run("import", door.file("odd.jsonl", "not json"), "--quiet")
    assert said.code == 20
    assert "not JSON" in said.err
    said = door.run(
        "import", door.file("part.jsonl", [passing(attempt=2), {"bogus": 1}]), "--quiet"
    )
    assert "record 2" in said.err
