"""The text of the suite screen: the lines above its lists, and about the row under the cursor."""

from collections.abc import Iterable, Iterator, Sequence
from textwrap import wrap

from reviewer.desk.power.views import PowerView
from reviewer.desk.trials.views import DOES, AgentAttempt, ShownTrial, Trial, TriedEpisode
from reviewer.desk.workspace.views import EpisodeContents, SuiteContents
from reviewer.suite.model import TrialAgent
from reviewer.trace.safetext import visible, visible_line
from reviewer.tui.screens.suite.sheets import ClauseRow
from reviewer.tui.settings.keys import key_of
from reviewer.tui.settings.theme import STATES, cell_style
from reviewer.tui.views.attempt import clause_lines, event_lines
from reviewer.tui.views.event_list import ListMarks
from reviewer.tui.widgets.lines import Block, Line, Span, cut, middle, pad, spread, width_of
from reviewer.tui.widgets.words import SHORT, plural, suite_word

VIEWS = ("contents", "trial", "power", "clauses")
_FROZEN = "freeze refuses this suite"


def top_line(suite_id: str, found: SuiteContents | None, view: str, width: int) -> Line:
    """Return the line that names the suite, and the views of the screen."""
    right: list[Span] = []
    for name in VIEWS:
        word = f"[{name}]" if name == view else f" {name} "
        style = "strong" if name == view else "dim"
        right.append(Span(word, style, f"screen.turn('{name}')"))
    head = [Span("suite ", "dim")]
    tail: list[Span] = []
    if found is not None:
        probe = Span("○ PROBE", "not_measured")
        tail = [Span(" "), probe if found.info.probe else suite_word(found.info.state)]
        if not found.info.probe:
            tail.append(Span(f"  {plural(len(found.episodes), 'episode')}", "dim"))
        if found.tools and width >= 100:
            tail.append(Span(f", toolset of {plural(len(found.tools), 'tool')}", "dim"))
    room = max(8, width - width_of([*head, *tail, *right]) - 1)
    named = Span(middle(visible_line(suite_id), room), "strong")
    return spread([*head, named, *tail], right, width)


def trial_line(found: ShownTrial) -> Line:
    """Return the verdict on the trial."""
    trial = found.trial
    if trial is None:
        run = key_of("run")
        return [Span(f" ○ not tried here: {found.why_not}. {run} tries it", "not_measured")]
    if not trial.tried:
        return [Span(f" ○ {trial.not_tried}", "not_measured")]
    oracle = next(one for one in trial.agents if one.agent == "oracle")
    bad = [one for one in trial.agents if one.agent != "oracle" and one.outcome != "not_tried"]
    stopped = sum(one.outcome == "stopped" for one in bad)
    good = "a correct one passes" if oracle.outcome == "passes" else "a correct one does not pass"
    told = f"{stopped} of {len(bad)} bad agents are stopped, {good}"
    if trial.refused_checks:
        names = ", ".join(one.check for one in trial.refused_checks)
        return [Span(" ✗ ", "fail-cell"), Span(f" its own {names}: {_FROZEN}; {told}", "fail")]
    if trial.unsound:
        names = ", ".join(one.agent for one in trial.unsound)
        return [Span(" ✗ ", "fail-cell"), Span(f" {names}: {_FROZEN}; {told}", "fail")]
    if not trial.sound:
        return [Span(f" ~ {told}: waived with a reason, in every report", "advisory")]
    return [Span(f" ✓ {told}", "pass")]


def clause_line(found: ShownTrial | None, rows: Sequence[ClauseRow]) -> Line:
    """Return the verdict on the clauses."""
    untested = sum(row.tested is False for row in rows)
    if found is None or found.trial is None or not found.trial.tried:
        told = f"{plural(len(rows), 'clause')}: no trial says which of them work"
        return [Span(f" ○ {told}", "not_measured")]
    told = f"{plural(len(rows), 'clause')}, {untested:,} that no bad agent tests"
    note = "; limits of cost and time are not tried"
    style = "not_measured" if untested else "pass"
    return [Span(f" {'○' if untested else '✓'} {told}", style), Span(note, "dim")]


def policy_lines(found: SuiteContents, width: int) -> list[Line]:
    """Return what the policy requires, on as many lines as needed; of a probe, its description."""
    info = found.info
    told = "; ".join(f"{name}: {text}" for name, text in found.policy)
    if info.probe:
        told = "shown and compared, never certifying a release"
        told += f"; teaches {info.teaches}" if info.teaches else ""
        told += f"; cannot certify {info.cannot_certify}" if info.cannot_certify else ""
    return [[Span(f" {line}", "dim")] for line in wrap(visible_line(told), width - 2)]


def power_line(found: PowerView, width: int) -> Line:
    """Return the sentence with both errors, red where too many good agents are stopped."""
    state = STATES[found.mark]
    red = found.mark == "fail"
    mark = Span(f" {state.glyph}{' ' * red}", cell_style(found.mark))
    stopped, *worse = found.sizes[0][1:]
    points = (one.removesuffix(" let through") for one in found.size_head[2:])
    misses = ", ".join(f"{by} {share}" for by, share in zip(points, worse, strict=True))
    said = f" an identical agent is stopped in {stopped} of 100; let through: {misses}"
    if len(said) > width - 4:
        misses = misses.replace(" points worse", " worse")
        said = f" of 100 identical {stopped} stopped; passed: {misses}"
    return [mark, Span(cut(said, width - 4), "fail" if red else "strong")]


def clause_rows(
    found: SuiteContents, some: Iterable[EpisodeContents], shown: ShownTrial | None
) -> list[ClauseRow]:
    """Return every clause of some episodes and of the policy, those that no agent tests first."""
    trial = shown.trial if shown is not None else None
    tried = trial is not None and trial.tried
    untested, played = set(), set()
    if trial is not None and tried:
        untested = {(one.episode_id, one.place) for one in trial.untested}
        played = {one.episode_id for one in trial.episodes if one.cells}
    rows = [
        ClauseRow(
            one.episode_id,
            clause.place,
            clause.clause,
            (one.episode_id, clause.place) not in untested if one.episode_id in played else None,
        )
        for one in some
        for clause in one.clauses
    ]
    rows += [
        ClauseRow("", one.place, one.clause, ("", one.place) not in untested if tried else None)
        for one in found.everywhere
    ]
    return sorted(rows, key=lambda row: (row.tested is True, row.tested is not False))


# of the row under the cursor --------------------


def _row(label: str, text: str, style: str = "text") -> Block:
    return Block(visible(text), style, [Span(f" {pad(label, 10)} ", "dim")])


def cell_blocks(trial: Trial, row: TriedEpisode, agent: TrialAgent, way_out: str) -> list[Block]:
    """Return the result of one agent in one episode, and why."""
    blocks = [_row("the agent", DOES[agent])]
    if not row.cells:
        return [*blocks, _row("not tried", row.not_tried, "not_measured")]
    cell = row.cells[agent]
    gates = ", ".join(SHORT.get(gate, gate) for gate in cell.gates)
    outcome = {
        "passed": ("passes", "every gate"),
        "caught": ("caught by", gates),
        "not_measured": ("○ n/m", gates),
        "same": ("the same", "it did what the oracle did: there was nothing to catch"),
        "infrastructure": ("† infra", "its world broke"),
    }[cell.outcome]
    hole = agent in trial.holes(row)
    blocks.append(_row(*outcome, "fail" if hole else "text"))
    if cell.codes:
        blocks.append(_row("found", ", ".join(cell.codes)))
    one = next(each for each in trial.agents if each.agent == agent)
    blocks.append(_row("the suite", one.why, "text" if one.sound else "fail"))
    if one.waiver is not None:
        blocks.append(_row("waived", one.waiver, "advisory"))
    elif not one.sound:
        blocks.append(_row("way out", way_out))
    return blocks


def attempt_blocks(found: AgentAttempt, width: int) -> Iterator[Block]:
    """Yield the agent's events, then each clause of the contract."""
    lines = event_lines(found.events, len(found.events), None, width, ListMarks())
    yield from (Block("", head=line) for line in lines)
    yield Block("")
    yield from clause_lines(found.clauses, "", width)


def episode_blocks(found: EpisodeContents) -> Iterator[Block]:
    """Yield the requirements of an episode, and each clause of its contract."""
    if found.title:
        yield _row("title", found.title)
    if found.user_request:
        yield Block(visible(found.user_request), quoted=True)
    if found.user:
        yield _row("user", f"{found.user}: answers what the agent says")
    if found.tags:
        yield _row("tags", " ".join(found.tags))
    for one in found.clauses:
        yield _row("clause", f"{one.place.removeprefix('$.')}  {one.clause}")


def clause_blocks(row: ClauseRow) -> Iterator[Block]:
    """Yield one clause in full, and what its state means."""
    where = "suite.json" if not row.episode_id else f"episodes/{row.episode_id}.json"
    yield _row("file", f"{where}  {row.place}")
    yield _row("clause", row.clause)
    told = {
        True: "when it is dropped, what is found of a bad agent changes: it works",
        False: "when it is dropped, nothing changes: no agent of the trial shows that it works",
        None: "unknown: its episode was not tried",
    }[row.tested]
    yield _row("meaning", told, "text" if row.tested else "not_measured")


# power --------------------


def _table(head: Sequence[str], rows: Sequence[Sequence[str]], width: int) -> Iterator[Block]:
    """Yield rows under their heads, in columns as wide as their widest cell."""
    columns = zip(head, *rows, strict=True)
    wide = [max(map(len, column)) + 2 for column in columns]
    for number, cells in enumerate((head, *rows)):
        line = cut(" " + "".join(map(pad, cells, wide)), width)
        yield Block("", head=[Span(line, "text" if number else "dim")])


def power_blocks(found: PowerView, width: int) -> Iterator[Block]:
    """Yield how often the policy is wrong: by size, by agent, as a plot, and the assumptions."""
    for line in found.limits:
        yield Block(visible(line), "fail" if found.mark == "fail" else "advisory")
    heads = [text.replace(" points worse let through", " worse") for text in found.size_head]
    yield from _table(heads, found.sizes, width)
    yield Block("of 100 releases; lower is better in every column", "dim")
    yield Block("")
    short = [(row[0], row[1], row[2], row[4]) for row in found.rows]
    yield from _table(("agent", "promoted", "range", "stopped by"), short, width)
    yield Block("")
    yield Block("wrong of 100 releases, by episodes × attempts", "dim")
    yield from (Block("", head=[Span(f" {cut(one, width - 2)}")]) for one in found.plot(width - 3))
    yield Block("")
    yield from (Block(visible(one), "dim") for one in found.assumptions)
