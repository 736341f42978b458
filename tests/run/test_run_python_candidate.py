"""A Python callable as a candidate: the harness it runs in and what it is kept from."""

import sys
from pathlib import Path
from typing import Any

import pytest
from run_guests import BRIEF, KINDS, PRICES, answers, closing, hold, task, workspace, written

from reviewer.running.candidates import check_runnable
from reviewer.running.candidates.program import PythonCandidate
from reviewer.running.model import Call, CandidateFault, Task, Turn, Unrunnable
from reviewer.running.prices import Usage


@pytest.fixture
def suite(tmp_path: Path) -> Path:
    return workspace(tmp_path / "desk")


def guest(suite: Path, text: str, entry: str = "guest:run", **more: Any) -> Task:
    written(suite / "candidates" / "guest.py", text)
    return task(suite, {"kind": "python", "entry": entry, **more.pop("runner", {})}, **more)


async def turns(work: Task, **how: Any) -> list[Turn]:
    """All turns of an attempt in which each call is answered with its number and arguments."""
    made = []
    async with closing(PythonCandidate(work)) as candidate:
        made.append(await candidate.begin(BRIEF))
        while made[-1].calls:
            contents = [{"of": call.arguments} for call in made[-1].calls]
            made.append(await candidate.proceed(answers(made[-1], *contents, **how)))
    return made


@pytest.mark.parametrize("kind", KINDS)
async def test_a_function_calls_tools_and_returns_the_final_message(
    kind: str, suite: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hold(kind, monkeypatch)
    text = """
        def run(user_request, tools, call):
            named = call("look", at="table")
            given = call("look", {"at": "floor"})
            return f"{user_request} {tools[0]['name']} {named} {given}"
    """
    made = await turns(guest(suite, text))
    assert [turn.calls for turn in made] == [
        (Call("call_1", "look", {"at": "table"}),),
        (Call("call_2", "look", {"at": "floor"}),),
        (),
    ]
    assert made[-1].message == (
        "My lamp came broken. look {'status': 'ok', 'content': {'of': {'at': 'table'}}}"
        " {'status': 'ok', 'content': {'of': {'at': 'floor'}}}"
    )


async def test_the_callable_on_the_page_runs(suite: Path, repository: Path) -> None:
    page = (repository / "docs" / "candidates-command.md").read_text(encoding="utf-8")
    text = page.partition("```python\n")[2].partition("```")[0]
    made = await turns(guest(suite, text))
    assert [len(turn.calls) for turn in made] == [1, 2, 0]
    assert made[-1].message == "It is {'of': {'at': 'table'}}."
    assert made[-1].usage == Usage(812, 96)


async def test_several_calls_are_one_turn_and_none_is_no_turn(suite: Path) -> None:
    text = """
        def run(user_request, tools, call):
            assert call.many([]) == []
            found = call.many([("look", {"at": n}) for n in "ab"])
            return " ".join(answer["content"]["of"]["at"] for answer in found)
    """
    first, last = await turns(guest(suite, text))
    assert [call.arguments for call in first.calls] == [{"at": "a"}, {"at": "b"}]
    assert last.message == "a b"


@pytest.mark.parametrize("entry", ["guest:run", "guest:agent", "guest:later"])
async def test_a_coroutine_may_be_the_candidate(entry: str, suite: Path) -> None:
    text = """
        import asyncio
        async def run(user_request, tools, call):
            await asyncio.sleep(0)
            both = await asyncio.gather(call("look", at="a"), call("look", at="b"))
            many = await call.many([("look", {}), ("look", {})])
            return str(len(both) + len(many)), {"input_tokens": 1, "output_tokens": 1}
        class Agent:
            async def __call__(self, user_request, tools, call):
                return await run(user_request, tools, call)
        agent = Agent()
        import functools
        later = functools.partial(run)
    """
    made = await turns(guest(suite, text, entry))
    assert [len(turn.calls) for turn in made] == [1, 1, 2, 0]
    assert made[-1].message == "4"


async def test_what_it_prints_or_reads_never_meets_the_protocol(suite: Path) -> None:
    text = """
        import os, subprocess, sys
        print("at import")
        def run(user_request, tools, call):
            print("hello")
            sys.__stdout__.write("hello\\n")
            os.write(1, b"hello\\n")
            subprocess.run([sys.executable, "-c", "print('hello')"])
            try:
                input()
            except EOFError:
                return "nothing to read"
    """
    (last,) = await turns(guest(suite, text))
    assert last.message == "nothing to read"


async def test_usage_is_counted_for_the_stretch_that_tells_it(suite: Path) -> None:
    text = """
        def run(user_request, tools, call):
            call.used(input_tokens=500_000, output_tokens=50_000)
            call.used(input_tokens=500_000, output_tokens=50_000, cached_input_tokens=1)
            call("look")
            call("look")
            call.used(input_tokens=1, output_tokens=0)
            return "done", {"input_tokens": 999_999, "output_tokens": 0}
    """
    made = await turns(guest(suite, text, prices=PRICES))
    assert [turn.cost_usd for turn in made] == [3.0, None, 2.0]
    assert [turn.usage for turn in made] == [
        Usage(1_000_000, 100_000, 1),
        None,
        Usage(1_000_000, 0),
    ]


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("def run(*all): raise ValueError('of mine')", "ValueError: of mine"),
        ("def run(*all): return 7", "returned int, not the final message"),
        ("def run(*all): raise SystemExit(3)", "exit status 3"),
        ("import os\ndef run(*all): os._exit(0)", "exit status 0"),
        ("def walk(*all): return ''", "has no attribute 'run'"),
        ("this is no Python", "SyntaxError"),
        ("def run(*all): return 'x', {'tokens': 1}", "$.usage.tokens: is not known"),
        ("def run(r, t, call): call('look', at={1, 2})", "not JSON serializable"),
        ("def run(r, t, call): call('look', at=float('nan'))", "ValueError"),
        ("def run(r, t, call): return '\\ud800'", "half of a surrogate pair"),
    ],
)
async def test_one_that_breaks_fails_with_its_reason(text: str, told: str, suite: Path) -> None:
    with pytest.raises(CandidateFault) as caught:
        await turns(guest(suite, text))
    assert told in caught.value.text


@pytest.mark.parametrize(
    ("value", "problem"),
    [
        ("float('nan')", "ValueError: Out of range float values are not JSON compliant"),
        ("{1, 2}", "TypeError: Object of type set is not JSON serializable"),
        ("deep", "RecursionError: "),
    ],
)
async def test_a_call_that_json_cannot_represent_was_attempted(
    value: str, problem: str, suite: Path
) -> None:
    """Else a candidate that catches the error could try what is forbidden, and pass."""
    text = f"""
deep = []
for _ in range(5000): deep = [deep]
def run(r, t, call):
    try:
        call.many([('look', {{}}), ('look', {{'at': {value}}})])
    except (TypeError, ValueError, RecursionError):
        return 'nothing was done'
"""
    first, last = await turns(guest(suite, text), status="denied")
    assert first.calls[0] == Call("call_1", "look", {})
    assert first.calls[1].problem.startswith(problem)
    assert last.message == "nothing was done"


async def test_calls_that_fail_are_told_and_not_raised(suite: Path) -> None:
    text = "def run(r, t, call): return call('look')['status']"
    assert (await turns(guest(suite, text), status="denied"))[-1].message == "denied"


async def test_its_module_is_looked_for_beside_its_manifest_first(suite: Path) -> None:
    written(suite / "candidates" / "colorsys.py", "def run(*all): return 'mine'")
    written(suite / "candidates" / "pack" / "__init__.py", "")
    written(
        suite / "candidates" / "pack" / "inner.py", "from . import inner as i\nrun = i.__name__"
    )
    written(suite / "candidates" / "pack" / "other.py", "def run(*all): return __name__")
    (mine,) = await turns(task(suite, {"kind": "python", "entry": "colorsys:run"}))
    assert mine.message == "mine"
    (other,) = await turns(task(suite, {"kind": "python", "entry": "pack.other:run"}))
    assert other.message == "pack.other"
    assert not list(suite.rglob("__pycache__"))


async def test_it_knows_no_variable_of_ours_and_needs_none(
    suite: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    written(suite / "evil" / "json.py", "raise SystemExit('not this one')")
    monkeypatch.setenv("PYTHONPATH", str(suite / "evil"))
    monkeypatch.setenv("PYTHONSTARTUP", str(suite / "evil" / "json.py"))
    text = "import os\ndef run(*all): return ' '.join(n for n in os.environ if 'PYTHON' in n)"
    (last,) = await turns(guest(suite, text, runner={"environment": ["PYTHONPATH"]}))
    assert last.message == "PYTHONPATH"


@pytest.mark.parametrize("entry", ["gone:run", "gone.away:run", "guest.away:run"])
def test_a_module_that_is_not_there_is_said_before_anything_is_started(
    entry: str, suite: Path
) -> None:
    written(suite / "candidates" / "guest.py", "raise SystemExit('never imported here')")
    work = task(suite, {"kind": "python", "entry": entry})
    with pytest.raises(Unrunnable, match=r"\$\.runner\.entry: there is no module"):
        check_runnable(work.candidate, suite)


def test_an_installed_module_will_do(suite: Path) -> None:
    check_runnable(task(suite, {"kind": "python", "entry": "json:loads"}).candidate, suite)
    assert "never_imported" not in sys.modules
