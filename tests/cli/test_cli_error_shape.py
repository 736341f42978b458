"""Errors have one shape: what is wrong and where in one line, then at least one way out."""

from doors import SUITE, V7, Door

TRACE = f"{SUITE}/{V7}/attack-014/1"
PROVOKED: dict[tuple[str, ...], str] = {
    ("show", "no/such/trace/1"): "no/such/trace/1",
    ("show", TRACE, "--event", "99"): "event 99",
    ("compare", "--suite", SUITE, "--candidate", "nobody", "--baseline", V7): "nobody",
    ("scorecard", "--suite", SUITE, "--candidate", "nobody"): "nobody",
    ("scorecard", "--suite", "nope"): "no suite nope",
    ("scorecard", "--suite", SUITE, "--candidate", V7, "--filter", "gate:nope"): "character 6",
    ("import",): "name files",
    ("import", "--episode-map", "m.json", "a.jsonl"): "m.json",
    ("run", "nope", V7): "nope",
    ("run", SUITE, "nobody"): "nobody",
    ("suite", "check", "nope"): "nope",
    ("suite", "show", "nope"): "nope",
    ("suite", "power", "nope"): "nope",
    ("suite", "trial", "nope"): "nope",
    ("trends", "--suite", "nope"): "nope",
    ("patterns", "--suite", "nope"): "nope",
    ("search", "!!"): "word",
    ("formats", "show", "nope"): "nope",
    ("sign", "--suite", SUITE, "--candidate", V7, "--decision", "BLOCK"): "--key",
    ("keys", "trust", "dana", "missing.pub"): "missing.pub",
    ("restore", "missing.db"): "missing.db",
    ("merge", "missing"): "missing",
    ("suite", "new", "a-suite"): "--tools",
}
"""A command, and what its error names: the file, the argument, the id."""


def test_errors_name_what_where_and_a_way_out(full: Door) -> None:
    for command, named in PROVOKED.items():
        said = full.run(*command)
        first, *ways = said.err.rstrip("\n").splitlines()
        assert said.code not in (0, 40), command
        assert first.startswith("reviewer: "), (command, first)
        assert named in first, (command, first)
        assert first.count(f"{named}: {named}") == 0, (command, first)
        assert ways, (command, first)
        assert all(way.startswith("  way out: ") and len(way) > 15 for way in ways), ways
