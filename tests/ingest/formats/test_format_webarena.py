"""WebArena render pages: a real one, and pages written after its shape."""

import json
import shutil
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from doors import Door, every_byte
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from reviewer.importing.draft import Draft
from reviewer.importing.formats.webarena import WebArenaReader, parsed
from reviewer.importing.pipeline.split import Unreadable
from reviewer.importing.reader import Broken, Foreign
from reviewer.importing.source import Source

DATA = Path(__file__).resolve().parents[2] / "data/webarena"
RUN = DATA / "run_llama3-8b"
SUITE = "webarena"
HEAD = (
    "\n<!DOCTYPE html>\n<head></head>\n<html>\n    <body>\n     <pre>task_id: {task}\n"
    "start_url: http://shop.test\nintent: {intent}\n"
    "eval: {{'reference_answers': {{'exact_match': 'the secret answer'}}}}\n</pre>\n"
)
STEP = (
    "<h2>New Page</h2>\n<h3 class='url'><a href={url}>URL: {url}</a></h3>\n"
    "<div class='state_obv'><pre>{page}</pre><div>\n"
    "<img src='data:image/png;base64,{picture}' style='width:50vw'/>\n"
    "<div class='prev_action' style='x'>{before}</div>\n"
    "<div class='predict_action'><div class='raw_parsed_prediction'><pre>{said}</pre></div>"
    "<div class='action_object'><pre>{{'action_type': <ActionTypes.NONE: 0>}}</pre></div>"
    "<div class='parsed_action'><pre>{action}</pre></div></div>\n"
)
END = "    </body>\n</html>\n"


def page(*steps: dict[str, str], task: object = 7, intent: str = "Buy a lamp") -> str:
    """A render page with these steps."""
    plain = {"url": "http://shop.test/", "page": "[1] link", "picture": "iVBORw0KGgo=",
             "before": "None", "said": "Thinking.", "action": "none"}  # fmt: skip
    return HEAD.format(task=task, intent=intent) + "".join(
        STEP.format(**{**plain, **step}) for step in steps
    ) + END  # fmt: skip


def one(path: Path) -> tuple[dict[str, Any], Foreign]:
    """The attempt a page holds: its record and what else the reader says."""
    reader = WebArenaReader()
    source = Source(path, "", reader.companions(path))
    (found,) = reader.traces(source)
    assert isinstance(found, Foreign), found
    return json.loads(found.raw), found._replace(notes=(*found.notes, *source.notes))


def of_page(
    tmp_path: Path, text: str, name: str = "render_7.html"
) -> tuple[dict[str, Any], Foreign]:
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    return one(path)


def test_a_real_page_gives_its_figures(door: Door) -> None:
    said = door.run("import", RUN)
    assert said.code == 0, said
    assert door.rows("SELECT trace_id, passed, termination FROM traces") == [
        (f"{SUITE}/webarena prompt p_cot_id_actree_2s openai/llama3:8b/0/1", None,
         "parsing_failures")
    ]  # fmt: skip
    kinds = Counter(kind for (kind,) in door.rows("SELECT kind FROM events"))
    assert kinds == {"message": 6, "error": 4, "tool_call": 2, "tool_result": 1,
                     "state_snapshot": 5}  # fmt: skip
    record, found = one(RUN / "render_0.html")
    assert record["source"]["steps"] == record["source"]["images"] == 6
    assert found.user_request == "What is the top-1 best-selling product in 2022"
    assert record["source"]["config"]["max_steps"] == 30
    assert (record["cost_usd"], record["latency_ms"]) == (None, None)


def test_the_answer_key_of_a_task_is_nowhere(door: Door, tmp_path: Path) -> None:
    path = tmp_path / "run" / "render_7.html"
    path.parent.mkdir()
    path.write_text(page({"action": "stop [a lamp]"}))
    assert door.run("import", path, RUN / "render_0.html").code == 0
    kept = every_byte(door.root / "store")
    assert b"secret answer" not in kept
    assert b"Quest Lumaflex" not in kept
    assert b"Buy a lamp" in kept


def test_an_early_stop_is_no_answer(tmp_path: Path) -> None:
    early = {"said": "", "action": "stop [Early stop: Reach max steps 30]"}
    record, _ = of_page(tmp_path, page({"action": "click [1]"}, early))
    assert record.get("final_message") is None
    assert record["termination"] == "max_steps"
    assert record["events"][-1]["actor"] == "system"
    own = {"said": "I say ```stop [Early stop: sale]```", "action": "stop [Early stop: sale]"}
    record, _ = of_page(tmp_path, page(own))
    assert record["final_message"] == "Early stop: sale"
    assert record["termination"] == "agent_stop"
    assert record["events"][-1]["actor"] == "agent"


def test_a_page_is_the_result_of_the_act_before_it(tmp_path: Path) -> None:
    record, _ = of_page(
        tmp_path,
        page(
            {"action": "click [12] where [12] is link 'Lamps'"},
            {"action": "none", "page": "[3] lamps"},
            {"action": "type [4] [desk [led] lamp] where [4] is searchbox"},
            {"action": "scroll [down]", "before": 'Attempt to perfom "type" on element "[4]"'},
        ),
    )
    kinds = [event["kind"] for event in record["events"]]
    assert kinds == ["message", "state_snapshot", "message", "tool_call", "tool_result", "message",
                     "error", "state_snapshot", "message", "tool_call", "tool_result", "message",
                     "tool_call"]  # fmt: skip
    calls = [event for event in record["events"] if event["kind"] == "tool_call"]
    assert [(call["tool"], call["arguments"]) for call in calls] == [
        ("click", {"is": "link 'Lamps'", "element": "12"}),
        ("type", {"element": "4", "text": "desk [led] lamp", "is": "searchbox"}),
        ("scroll", {"direction": "down"}),
    ]
    first, second = (event for event in record["events"] if event["kind"] == "tool_result")
    assert first["observation"] == {"url": "http://shop.test/", "page": "[3] lamps"}
    assert second["status"] == "error"
    assert calls[-1]["status"] == "pending"
    assert record.get("termination") is None


LOG = (
    "2024-01-01 10:00:00,000 - INFO - [Config file]: /tmp/tmpa/7.json\n"
    "2024-01-01 10:01:00,000 - INFO - [Unhandled Error] KeyError('action_type')]\n"
    "2024-01-01 10:02:00,000 - INFO - [Config file]: /tmp/tmpa/17.json\n"
    "2024-01-01 10:03:00,000 - INFO - [Result] (FAIL) /tmp/tmpa/17.json\n"
    "2024-01-01 10:04:00,000 - INFO - [Config file]: /tmp/tmpb/7.json\n"
    "2024-01-01 10:05:00,000 - INFO - [Result] (PASS) /tmp/tmpb/7.json\n"
)


def test_the_verdict_is_that_of_the_last_try_in_the_logs(tmp_path: Path) -> None:
    """log_files.txt names logs from where the run was started, above the result folder."""
    run = tmp_path / "results" / "run"
    run.mkdir(parents=True)
    (tmp_path / "log_files").mkdir()
    (tmp_path / "log_files" / "log_1.log").write_text(LOG)
    (run / "log_files.txt").write_text("log_files/log_1.log\n../../../etc/passwd.log\n/etc/x.log\n")
    (run / "error.txt").write_text("[Config file]: x/7.json\n[Unhandled Error] KeyError('a')\n")
    path = run / "render_7.html"
    path.write_text(page({"action": "stop [yes]"}))
    names = [file.name for file in WebArenaReader().companions(path)]
    assert names == ["error.txt", "log_files.txt", "log_1.log"]
    _, found = one(path)
    assert found.verdict is not None
    assert (found.verdict.passed, found.verdict.exception) == (True, None)
    assert any("several tries" in note for note in found.notes)
    path.rename(run / "render_17.html")
    (run / "render_17.html").write_text(page({"action": "stop [yes]"}, task=17))
    _, found = one(run / "render_17.html")
    assert found.verdict is not None
    assert found.verdict.passed is False


def test_without_a_log_errors_are_told_and_nothing_is_scored(tmp_path: Path) -> None:
    for name in ("config.json", "error.txt"):
        shutil.copy(RUN / name, tmp_path)
    record, found = of_page(tmp_path, page({"action": "click [1]"}, task=9), "render_9.html")
    assert found.verdict is not None
    assert found.verdict.passed is None
    assert str(found.verdict.exception).startswith("TimeoutError(")
    assert record["termination"] == "error"
    assert any("error.txt" in note for note in found.notes)
    assert any("over other tasks" in note for note in found.notes)


def test_texts_stand_raw_in_a_page_unless_its_writer_escapes(tmp_path: Path) -> None:
    raw = {"said": "if a < b && x&copy=1 then </div> <b>go", "page": "<div class='parsed_action'>"}
    record, _ = of_page(tmp_path, page(raw))
    assert record["events"][2]["message"] == raw["said"]
    assert record["events"][1]["state"]["page"] == raw["page"]
    text = page({"said": "a &lt; b"}).replace(
        "<ActionTypes.NONE: 0>", "&lt;ActionTypes.NONE: 0&gt;"
    )
    record, _ = of_page(tmp_path, text)
    assert record["events"][2]["message"] == "a < b"


def test_pictures_take_no_room_and_a_cut_page_says_so(tmp_path: Path) -> None:
    huge = page({"picture": "A" * 9_000_000, "action": "click [1]"}, {"action": "none"})
    record, _ = of_page(tmp_path, huge)
    assert record["source"]["images"] == 2
    whole = page({"action": "click [1]"}, {"action": "stop [x]"})
    record, found = of_page(tmp_path, whole[: whole.rindex("<div class='parsed_action'>")])
    assert any("cut off" in note for note in found.notes)
    assert record["source"]["steps"] == 2
    assert [one["path"] for one in record["unread"]] == ["end of the page (cut off)"]


@pytest.mark.parametrize("junk", ["<a " * 2_000_000, "<pre>" + "x" * 9_000_000, "<!--" * 1_500_000])
def test_a_page_that_never_ends_is_refused(door: Door, junk: str) -> None:
    said = door.take("render_7.html", HEAD.format(task=7, intent="x") + junk)
    assert said.code == 20
    assert "KiB" in said.err


def test_what_is_no_page_is_not_claimed(door: Door) -> None:
    said = door.take("render_1.html", "<!doctype html><html><body>hello</body></html>")
    assert said.code == 20
    with pytest.raises(Unreadable):
        list(WebArenaReader().traces(Source(door.file("x.html", "<html>"))))


def test_playwright_actions_are_code(tmp_path: Path) -> None:
    inner = "<div class='predict_action'>page.get_by_text(\"Lamps\").click()</div>\n"
    text = page({"action": "none"})
    start = text.index("<div class='predict_action'>")
    record, _ = of_page(tmp_path, text[:start] + inner + END)
    assert record["events"][-1]["arguments"] == {"code": 'page.get_by_text("Lamps").click()'}


@given(st.text(max_size=60))
def test_any_action_text_becomes_one_call(text: str) -> None:
    tool, arguments = parsed(text)
    Draft("webarena").call(tool, arguments)
    assert tool


@settings(max_examples=40, suppress_health_check=[HealthCheck.too_slow])
@given(data=st.data())
def test_broken_pages_never_raise(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    raw = (RUN / "render_0.html").read_bytes()
    at = data.draw(st.integers(0, len(raw)))
    much = data.draw(st.integers(0, 400))
    raw = raw[:at] + data.draw(st.binary(max_size=12)) + raw[at + much :]
    path = tmp_path_factory.mktemp("odd") / "render_0.html"
    path.write_bytes(raw)
    try:
        found = list(WebArenaReader().traces(Source(path)))
    except Unreadable:
        return
    assert all(isinstance(item, (Foreign, Broken)) for item in found)
