"""A suite's own checks at work: what they are given, what they may return, what they cannot do."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reviewer.gates.model import Finding
from reviewer.running.checks import host as hosts
from reviewer.running.checks.host import NO_ISOLATION, CheckHost, Ran, can_run
from reviewer.suite.checks import CheckFile
from reviewer.suite.model import Episode

isolated = pytest.mark.skipif(not can_run(), reason="this machine cannot isolate a check")

EPISODE = Episode(episode_id="e-1", simulator={"tools": {"secret_answer": {}}})
EVENTS = [{"seq": 1, "kind": "message", "message": "hi"}]


@pytest.fixture(scope="module")
def host() -> CheckHost:
    return CheckHost()


def record(candidate: str = "cand-a", **members: Any) -> bytes:
    plain = {"candidate_id": candidate, "attempt": 1, "episode_id": "e-1", "events": EVENTS}
    return json.dumps({**plain, **members}).encode()


def ran(
    host: CheckHost, body: str, raw: bytes | None = None, candidate: str = "cand-a", top: str = ""
) -> Ran:
    """What a check of this body says."""
    lines = "\n    ".join(body.splitlines())
    check = CheckFile(name="one", source=f"{top}\ndef check(trace, episode):\n    {lines}\n")
    given = record(candidate) if raw is None else raw
    return host.run(check, candidate, given, EPISODE, lambda text: text.replace("4929", "****"))


def said(host: CheckHost, expression: str, **given: Any) -> str:
    """The text of the one finding of a check that says what an expression comes to."""
    found = ran(host, f"return [{{'gate': 'state', 'text': str({expression})}}]", **given)
    assert found.broken == "", found
    (one,) = found.findings
    return one.detail


@isolated
def test_a_finding_has_its_gate_its_place_and_the_name_of_its_check(host: CheckHost) -> None:
    found = ran(host, "return [{'gate': 'process', 'seq': 1, 'text': 'card 4929'}]")
    assert found == Ran((Finding("process", "custom:one", "fail", 1, "card ****"),))
    assert ran(host, "return []") == Ran()


@isolated
def test_a_check_gets_neither_the_slot_of_the_record_nor_the_answers_of_the_world(
    host: CheckHost,
) -> None:
    given = said(host, "sorted([*trace, *(name for name in episode if name == 'simulator')])")
    assert given == "['episode_id', 'events']"


BROKEN = {
    "return trace['nothing']": "raises at line 3: KeyError: 'nothing'",
    "raise SystemExit(0)": "raises at line 3: SystemExit: 0",
    "print('found')\nreturn []": "prints",
    "import os\nos.write(2, b'x')\nreturn []": "prints",
    "import os\nos._exit(3)": "ends its process (status 3)",
    "return None": "returns NoneType, not a list",
    "return [{'gate': 'state', 'text': {1}}]": "returns what is no JSON",
    "return [float('nan')]": "returns what is no JSON",
    "return [3]": "returns at [0] a number, not an object",
    "return [{'gate': 'authority', 'text': 'x'}]": "returns at [0] not a gate that a check can",
    "return [{'gate': 'redaction', 'text': 'x'}]": "returns at [0] not a gate that a check can",
    "return [{'gate': 'state', 'text': ' '}]": "returns at [0] no text",
    "return [{'gate': 'state', 'text': 'x', 'seq': 9}]": "a seq that no event of the trace has",
    "return [{'gate': 'state', 'text': 'x', 'seq': True}]": "a seq that no event of the trace has",
    "return [{'gate': 'state', 'text': 'x', 'passed': True}]": "the member `passed`",
    "return [{'gate': 'state', 'text': str(n)} for n in range(101)]": "returns 101 findings",
    "return [{'gate': 'state', 'text': 'x' * 2_000_000}]": "returns more than",
    "return [bytearray(1 << 30)]": "raises at line 3: MemoryError",
    "while True: pass": "takes more than",
}


@isolated
@pytest.mark.parametrize("body", BROKEN)
def test_a_check_that_breaks_says_how_and_finds_nothing(
    body: str, host: CheckHost, monkeypatch: pytest.MonkeyPatch
) -> None:
    if body.startswith("while"):
        monkeypatch.setattr(hosts, "CPU_S", 1)
        host = CheckHost()  # the limit is a child's from its start
    found = ran(host, body)
    assert BROKEN[body] in found.broken
    assert found.findings == ()


REFUSED = {
    "reads a file": "open('/etc/passwd')",
    "writes a file": "open('left', 'w')",
    "lists a folder": "__import__('os').listdir('/')",
    "forks": "__import__('os').fork()",
    "starts a program": "__import__('os').execv('/bin/true', ['true'])",
    "waits": "__import__('time').sleep(0)",
    "signals": "__import__('os').kill(__import__('os').getppid(), 9)",
    "starts a thread": "__import__('_thread').start_new_thread(print, ())",
    "uses the network": "__import__('_socket').socket()",
    "makes a pipe": "__import__('os').pipe()",
    "asks for chance": "__import__('os').urandom(4)",
    "raises a limit": "__import__('resource').setrlimit(0, (9, 9))",
}


@isolated
@pytest.mark.parametrize("what", REFUSED)
def test_a_check_can_only_compute(what: str, host: CheckHost) -> None:
    """Each of these is something that a check may not import, and reaches all the same."""
    found = ran(host, f"{REFUSED[what]}\nreturn []")
    assert found.broken.startswith("raises "), found
    # The next record is judged as ever.
    assert ran(host, "return []") == Ran()


@isolated
def test_nothing_of_one_record_is_there_for_the_next(host: CheckHost) -> None:
    top = "seen = []"
    count = "seen.append(trace) or len(seen)"
    assert [said(host, count, top=top) for _ in range(3)] == ["1", "1", "1"]
    other = {"top": top, "candidate": "cand-b", "raw": record("cand-b")}
    assert said(host, count, **other) == "1"


@isolated
def test_a_check_has_no_secret_of_ours(host: CheckHost, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("A_SECRET_KEY", "s3cret")
    names = said(CheckHost(), "sorted(__import__('os').environ)")
    assert "A_SECRET_KEY" not in names
    assert "HOME" in names


@isolated
@pytest.mark.parametrize(
    "expression",
    [
        "[*{'a', 'b', 'c', 'd', 'e'}]",
        "[*trace]",
        "id(trace)",
        "__import__('time').time() > 3e9",
        "__import__('time').gmtime().tm_year",
        "__import__('time').strftime('%Y')",
        "getattr(__import__('datetime').date, 'to' + 'day')().year",
        "getattr(__import__('datetime').datetime, 'n' + 'ow')().year",
    ],
)
def test_what_is_not_deterministic_differs_in_the_other_host(
    expression: str, host: CheckHost
) -> None:
    assert said(host, expression) != said(CheckHost(1, True), expression)


@isolated
@pytest.mark.parametrize("again", [False, True])
def test_a_module_that_computes_works_where_no_file_can_be_opened(again: bool) -> None:
    host = CheckHost(1, again)
    top = "import datetime, re, json, decimal, statistics, difflib, urllib.parse"
    lines = (
        "assert datetime.datetime.strptime('2026-01-02', '%Y-%m-%d').day == 2",
        "assert datetime.datetime.fromisoformat('2026-01-02T03:04:05+00:00').hour == 3",
        "assert decimal.Decimal('1.1') and statistics.median([1, 2, 3]) == 2",
        "assert difflib.SequenceMatcher(None, 'ab', 'ab').ratio() == 1",
        "assert urllib.parse.unquote('%41') == 'A' and 'é'.encode('latin-1')",
        "return [{'gate': 'state', 'text': json.dumps(re.findall('i', 'hi'))}]",
    )
    assert ran(host, "\n".join(lines), top=top).findings[0].detail == '["i"]'


def test_a_machine_that_cannot_isolate_runs_no_check(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(hosts, "can_run", lambda: False)
    proof = tmp_path / "ran"
    found = ran(CheckHost(), f"open({str(proof)!r}, 'w')\nreturn []")
    assert found == Ran(broken=NO_ISOLATION)
    assert not proof.exists()


@isolated
def test_a_record_that_cannot_be_sent_is_not_measured(host: CheckHost) -> None:
    assert "was not run" in ran(host, "return []", raw=b'{"cost": 1e999}').broken
    assert ran(host, "return []") == Ran()


PLAIN = st.none() | st.booleans() | st.integers() | st.text(max_size=5)
FINDINGS = st.fixed_dictionaries(
    {"gate": st.sampled_from(["state", "process", "authority"]) | PLAIN, "text": PLAIN},
    optional={"seq": st.sampled_from([1, 2]) | PLAIN, "severity": PLAIN},
)


@isolated
@given(st.recursive(PLAIN, lambda inner: st.lists(inner, max_size=3)) | st.lists(FINDINGS))
def test_whatever_is_returned_is_findings_of_two_gates_or_a_reason(returned: Any) -> None:
    body = f"return json.loads({json.dumps(returned)!r})"
    found = ran(SHARED, body, top="import json")
    assert not (found.broken and found.findings)
    for one in found.findings:
        assert (one.gate, one.code, one.severity) in (
            ("state", "custom:one", "fail"),
            ("process", "custom:one", "fail"),
        )
        assert one.seq in (None, 1)
        assert one.detail.isprintable()
    if isinstance(returned, list) and not returned:
        assert found == Ran()


SHARED = CheckHost()
