"""`reviewer review-set`: recorded attempts for people to read, and the rates their labels give."""

import argparse
from collections.abc import Iterator

from reviewer.cli.opening import desk_of
from reviewer.cli.parser import amount
from reviewer.cli.say import counted, fact, note, out_json
from reviewer.desk.desk import Desk
from reviewer.desk.errors import DeskError
from reviewer.desk.review_sets.views import SetFlag, SetItem, SetOrder, SetRate, SetView
from reviewer.exit_codes import ExitCode


def _review_set_arguments(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "source", metavar="SOURCE",
        help="a suite of the store, SUITE/CANDIDATE, a file or a folder; or list, or show",
    )  # fmt: skip
    command.add_argument("shown", nargs="?", metavar="NAME", help="with show: id of the set")
    command.add_argument(
        "--sample", metavar="SHARE",
        help="share drawn at random from each stratum (default: 5%%)",
    )  # fmt: skip
    command.add_argument(
        "--seed", type=_seed, metavar="N", help="seed of the random draw (default: 0)"
    )
    command.add_argument(
        "--strata",
        default="",
        metavar="LIST",
        help="strata to draw within: any of tool,outcome,cost",
    )
    command.add_argument(
        "--flags", default="", metavar="LIST",
        help="take all with these besides, of thumbs-down,high-cost,new-tools,refusals,"
        "repeated-calls",
    )  # fmt: skip
    command.add_argument(
        "--high-cost", type=amount, metavar="USD",
        help="attempts above this cost are high-cost (default: the 95th percentile)",
    )  # fmt: skip
    command.add_argument(
        "--about", default="", metavar="WHOM",
        help="user: review the users of conversations, not final messages, by a built-in rubric",
    )  # fmt: skip
    command.add_argument("--rubric", default="", metavar="FILE", help="a rubric.json for this set")
    command.add_argument("--name", default="", metavar="NAME", help="name of the set")
    command.add_argument("--suite", default="", metavar="S", help="suite of the files")
    command.add_argument(
        "--candidate", action="append", default=[], metavar="C",
        help="only this candidate's attempts; with files: the candidate of records that name none",
    )  # fmt: skip
    command.add_argument(
        "--pairs", action="store_true", help="draw pairs of attempts instead of single messages"
    )
    command.add_argument(
        "--baseline", default="", metavar="B", help="with --pairs: the candidate to pair with"
    )
    command.add_argument("--format", default="auto", metavar="F", help="the format of the files")
    command.add_argument("--items", action="store_true", help="with show: list every labeled item")


ARGUMENTS = {
    "review-set": _review_set_arguments,
}


def _seed(text: str) -> int:
    """Parse a whole number that JSON holds exactly."""
    if not (text.isascii() and text.isdigit() and len(text) < 16):
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number from 0")
    return int(text)


def run(arguments: argparse.Namespace) -> int:
    desk = desk_of(arguments)
    if arguments.source == "list" and arguments.shown is None:
        return _list(desk, arguments)
    if arguments.source == "show":
        if arguments.shown is None:
            raise DeskError(
                "show which set?", "reviewer review-set list names them", exit_code=ExitCode.USAGE
            )
        return _show(desk, arguments, arguments.shown)
    if arguments.shown is not None:
        raise DeskError(
            f"a set has one SOURCE, not {arguments.source} and {arguments.shown}",
            "name a folder that holds both, or the suite they are in",
            exit_code=ExitCode.USAGE,
        )
    made = desk.review_sets.make(
        SetOrder(
            source=arguments.source,
            sample="5%" if arguments.sample is None else arguments.sample,
            seed=arguments.seed or 0,
            strata=_listed(arguments.strata),
            flags=_listed(arguments.flags),
            high_cost=arguments.high_cost,
            rubric=arguments.rubric,
            name=arguments.name,
            suite=arguments.suite,
            candidates=tuple(arguments.candidate),
            pairs=arguments.pairs,
            baseline=arguments.baseline,
            format=arguments.format,
            about=arguments.about,
        )
    )
    if not arguments.quiet:
        for text in made.notes:
            note(text)
        what = "made" if made.added else "is there already, nothing added:"
        note(f"review set {made.name} {what}" if made.added else f"{made.name} {what}")
        note(f"  label it: reviewer, then Q and c; progress: reviewer review-set show {made.name}")
    return _show(desk, arguments, made.name)


def _listed(text: str) -> tuple[str, ...]:
    return tuple(part.strip() for part in text.split(",") if part.strip())


def _list(desk: Desk, arguments: argparse.Namespace) -> int:
    found = desk.review_sets.sets()
    if arguments.json:
        import msgspec

        out_json(msgspec.to_builtins(found))
        return ExitCode.DONE
    for one in found:
        fact(
            f"{one.name}: {one.sample} of {one.size:,} of {one.suite_id}, "
            f"{_kind(one.kind, one.items, one.about)}, {one.labeled:,} labeled, made {one.at}"
        )
    if not found:
        note("no review set yet: reviewer review-set SOURCE makes one")
    return ExitCode.DONE


def _show(desk: Desk, arguments: argparse.Namespace, name: str) -> int:
    found = desk.review_sets.view(name)
    if arguments.json:
        import msgspec

        out_json(msgspec.to_builtins(found))
        return ExitCode.DONE
    for line in (*_head(found), *_rates(found.rates), *_flags(found.flags)):
        fact(line)
    for one in found.answered if arguments.items else ():
        fact(_item(one))
    return ExitCode.DONE


def _kind(kind: str, count: int, about: str) -> str:
    return counted(count, "conversation" if about else "pair" if kind == "pair" else "message")


def _head(found: SetView) -> Iterator[str]:
    yield f"review set {found.name}  sha256 {found.uid[:16]}  made {found.at}"
    against = f"  baseline {found.baseline_id}" if found.baseline_id else ""
    of = f", of {counted(found.files, 'file')}" if found.files else ""
    yield f"suite {found.suite_id}  candidates {', '.join(found.candidates)}{against}{of}"
    noun = "conversation" if found.about else "pair" if found.kind == "pair" else "attempt"
    within = f" within {', '.join(found.strata)}" if found.strata else ""
    yield (
        f"population {counted(found.size, noun)}  sha256 {found.population[:16]}; "
        f"drawn by lot {found.drawn:,} ({found.sample}{within}, seed {found.seed}); "
        f"by flags besides {found.picked:,}"
    )
    for why, count in found.left_out.items():
        yield f"not in the population: {count:,} {why}"
    if found.gone:
        yield f"not shown: {found.gone:,} whose attempt has other words now, or is not here"
    if found.about:
        yield "about the users of conversations: no hard gate and no verdict reads these labels"
    yield f"rubric {found.rubric}; labeled by {', '.join(found.reviewers) or 'nobody yet'}"
    rest = "".join(
        f", {count:,} {word}"
        for count, word in ((found.skipped, "skipped"), (found.open, "not settled"))
        if count
    )
    yield f"labeled {found.labeled:,} of {_kind(found.kind, found.items, found.about)}{rest}"


def _rates(rates: tuple[SetRate, ...]) -> Iterator[str]:
    for one in rates:
        if one.dimension:
            yield f"  {one.dimension} {one.stratum}: {_rate(one)}"
        else:
            yield f"rate {one.question}: {_rate(one)}"


def _rate(one: SetRate) -> str:
    still = f" ({one.open:,} more not settled, in the limits as yes and as no)" if one.open else ""
    of = f"{one.hits:,} yes of {one.n:,} labeled{still}, {one.drawn:,} drawn of {one.size:,}"
    if one.value is None or one.low is None or one.high is None:
        return f"not measured ({one.why}); {of}"
    return f"{one.value:.3f} [{one.low:.3f}, {one.high:.3f}], {of}"


def _flags(flags: tuple[SetFlag, ...]) -> Iterator[str]:
    for one in flags:
        unknown = f", {one.unknown:,} not measured" if one.unknown else ""
        yield f"flag {one.flag}: {one.picked:,}{unknown} ({one.rule}); no rate is made of these"
        if one.picked:
            answers = "; ".join(f"{name}: {yes:,} yes of {n:,}" for name, yes, n in one.answers)
            yield f"  labeled {one.labeled:,} of {one.picked:,}; {answers}"


def _item(one: SetItem) -> str:
    words = {True: "yes", False: "no", None: "not settled"}
    answers = ", ".join(f"{name} {words[answer]}" for name, answer in one.answers)
    why = ", ".join((*one.flags, *(("random",) if one.random else ())))
    return f"item {one.episode_id} ({why}): {answers}; traces {', '.join(one.traces)}"
