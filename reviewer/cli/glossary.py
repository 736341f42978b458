"""`reviewer glossary`: the words of the program, each with its meaning and its name in the code.

`docs/make.py` writes docs/glossary.md from `GLOSSARY`.
"""

import argparse
import shutil
import textwrap
from difflib import get_close_matches
from typing import NamedTuple

from reviewer.cli.say import fact, out, out_json, plain
from reviewer.desk.errors import DeskError
from reviewer.exit_codes import ExitCode


class Term(NamedTuple):
    """One word: what it means, and where the code has it (empty: nowhere under this name)."""

    word: str
    meaning: str
    code: str = ""


GLOSSARY = {
    "What is tested": (
        Term(
            "suite",
            "A frozen, versioned folder of episodes with a policy, a rubric, redaction rules "
            "and a lock.",
            "reviewer.suite.model.Suite",
        ),
        Term(
            "episode",
            "One isolated task: initial state, request, tools, expected final state and budgets.",
            "reviewer.suite.model.Episode",
        ),
        Term(
            "power",
            "How often a policy is wrong: of 100 releases, how many identical agents it stops "
            "and how many worse ones it lets through. Computed by simulation, before the first "
            "run.",
            "reviewer.suite.power.Power",
        ),
        Term(
            "contract",
            "What an episode requires of an attempt: its tools, states, messages, order and "
            "budgets.",
        ),
        Term(
            "candidate",
            "One version of an agent: model, prompts, tools and configuration, identified by "
            "the digest of its manifest.",
            "reviewer.suite.candidate.Candidate",
        ),
        Term("baseline", "The candidate that another one is compared with."),
        Term(
            "policy",
            "The rules of a suite for a release: attempts per episode, rates, bounds, limits of "
            "cost, approvals.",
            "reviewer.suite.model.Policy",
        ),
        Term(
            "toolset",
            "Every tool of the agent's environment, with the JSON Schema of its arguments and "
            "what implements it. The whole toolset is offered in every episode, including the "
            "forbidden tools.",
            "reviewer.suite.toolset.Toolset",
        ),
        Term(
            "candidate's code",
            "The files of a candidate that act in an attempt, as one digest: its script, its "
            "prompts, or everything that its program can read in candidates/.",
            "reviewer.running.code",
        ),
        Term(
            "code not bound",
            "Said of an attempt that was imported, or made before the runner measured code: "
            "nobody can say which code it ran.",
        ),
        Term("lock", "suite.lock: path, SHA-256 and size of every file of a suite."),
        Term(
            "freeze",
            "Write the lock of a suite. Its digest identifies the suite from then on; an edit "
            "is detected and named.",
            "reviewer.suite.freeze",
        ),
        Term(
            "trial",
            "A run of trial agents on every episode of a suite: the oracle must pass, and some "
            "gate or limit must stop each of the others.",
            "reviewer.running.trial",
        ),
        Term(
            "trial agent",
            "A built-in agent that tests a suite: oracle, no-op, refuser, obedient, no-verify, "
            "repeater, leaker, liar.",
            "reviewer.suite.model.TrialAgent",
        ),
        Term(
            "check (of a suite)",
            "A Python function in the suite, `checks/NAME.py` under its lock, that reads one "
            "trace and states findings of the gates state and process.",
            "reviewer.running.checks",
        ),
        Term(
            "untested clause",
            "A clause of a contract that can be dropped without changing the findings of any "
            "trial agent.",
            "reviewer.desk.trials.views.UntestedClause",
        ),
        Term(
            "waiver",
            "The reason why a suite is used although its trial says that it is not sound; a "
            "member of suite.json, shown in every report.",
            "reviewer.suite.model.Waiver",
        ),
        Term(
            "draft",
            "A suite without a lock. Its runs are kept apart and are never evidence: nothing is "
            "imported, exported or signed on it.",
            "reviewer.desk.drafts",
        ),
        Term(
            "blank",
            "A value of a suite that is not known yet, marked by $blank. `suite check` reports "
            "it, and `suite freeze` refuses it.",
            "reviewer.suite.blanks",
        ),
        Term(
            "gap",
            "In an episode made from a trace: a call whose answer was not recorded. It ends the"
            " attempt as world_gap, which neither passes nor fails.",
            "reviewer.running.model.WorldGap",
        ),
        Term(
            "proof",
            "For an episode made from a trace: a run of its scripts, in which the recorded "
            "attempt must fail by its marks and the corrected attempt must pass.",
            "reviewer.desk.episodes.proving",
        ),
        Term(
            "probe",
            "A suite made from a public benchmark: it is shown and compared, and never "
            "certifies a release.",
        ),
        Term(
            "digest",
            "The SHA-256 of canonical bytes (RFC 8785 for JSON), which identifies content.",
        ),
    ),
    "What happened": (
        Term(
            "attempt",
            "One try of one candidate on one episode from a reset state, numbered from 1.",
        ),
        Term(
            "slot",
            "The place of one attempt: suite digest, candidate, episode and attempt number. A "
            "plan expects it and a trace fills it.",
        ),
        Term("plan", "The attempts per episode that the policy requires."),
        Term(
            "trace",
            "The observable record of one attempt: events, final state, final message, cost and "
            "latency.",
            "reviewer.trace.record",
        ),
        Term("trajectory", "The events of a trace in their order."),
        Term(
            "event",
            "One step of a trace: message, tool call, tool result, approval, state or error. "
            "Numbered by `seq` from 1.",
        ),
        Term(
            "record",
            "One trace as it is written in a file, before it is read. A file may contain many "
            "records.",
        ),
        Term("source", "A file or stream that records were imported from."),
        Term("format", "How one tool writes its traces. Each format has a reader."),
        Term("reader", "The code that turns the records of one format into traces."),
        Term(
            "unread",
            "A part of a record that may be an act and that the reader did not understand. The "
            "gates that depend on it are not measured.",
        ),
        Term(
            "quarantine",
            "The list of refused records: source, record, path and reason, never the raw value.",
        ),
        Term(
            "revision",
            "A later record of the same attempt. A record that contains the earlier one "
            "continues it; any other is kept next to it, and both count.",
            "reviewer.db.revisions",
        ),
        Term("run", "The making of attempts of one candidate on one suite by `reviewer run`."),
        Term(
            "shard",
            "One of N disjoint parts of the planned slots of a run, made in a separate store by"
            " `reviewer run --shard` and joined by `reviewer merge`.",
            "reviewer.running.shards.Shard",
        ),
        Term("sandbox", "The isolated process and state in which one attempt runs."),
        Term(
            "simulator",
            "Deterministic tools of an episode: responses, effects on state, faults.",
        ),
        Term(
            "user",
            "The party that answers the agent in an episode that is a conversation: a script, a"
            " model or a person. A user error is found by rule, and spoils the attempt.",
            "reviewer.suite.user.User",
        ),
        Term("infrastructure", "A failure of the harness, not of the candidate. Shown separately."),
    ),
    "What is decided about one attempt": (
        Term(
            "gate",
            "A deterministic check of a trace. The result is pass, fail or not measured.",
            "reviewer.suite.gates.REGISTRY",
        ),
        Term("hard gate", "A gate whose failure no average, weight, label or judge can outweigh."),
        Term(
            "finding",
            "One fact that a gate states: gate, code, severity and the event that shows it.",
            "reviewer.gates",
        ),
        Term("code", "The short name of what a gate found, such as `forbidden:issue_refund`."),
        Term(
            "verdict",
            "Pass or fail of one trace: the result of all its gates together.",
            "reviewer.gates.verdict",
        ),
        Term(
            "critical",
            "A failure that blocks on its own: of authority or redaction, or of a check that "
            "the episode marks critical.",
        ),
        Term(
            "not measured",
            "Evidence is missing or not understood. Never counted as 0 and never as a pass.",
        ),
        Term(
            "redaction",
            "Masking of identifiers before anything is stored; also the gate that checks for them.",
        ),
        Term(
            "authority",
            "The gate that checks whether every tool that was called was allowed, and approved "
            "if approval is required.",
        ),
        Term("approval", "An answer from outside the agent that allows or denies one tool call."),
        Term(
            "approval rule",
            "An episode's answer to calls of one tool that needs an approval: allow, deny, or ask "
            "a person. It comes before the run's --approve.",
            "reviewer.suite.model.EpisodeApproval",
        ),
    ),
    "Figures": (
        Term(
            "scorecard",
            "Episodes × gates of one candidate on one suite, with attempts, repeatability and "
            "cost.",
            "reviewer.desk.scorecards",
        ),
        Term(
            "pass^k",
            "The probability that k attempts of one episode all pass.",
            "reviewer.stats.rates",
        ),
        Term(
            "hard pass rate",
            "The share of attempts that pass every hard gate.",
            "reviewer.stats.rates",
        ),
        Term(
            "interval",
            "Lower and upper limit of a rate, at the confidence that is shown with it.",
        ),
        Term(
            "bound",
            "The limit of the mean over episodes that a strict policy uses instead of the "
            "estimate.",
            "reviewer.stats",
        ),
        Term("cost per success", "All money spent on a candidate divided by its successes (CPST)."),
        Term(
            "first set",
            "The first complete set of planned attempts. Rates are computed from it, so "
            "repeating attempts until something passes does not help.",
        ),
        Term(
            "regression",
            "A loss of the candidate against the baseline, beyond chance.",
            "reviewer.report",
        ),
        Term(
            "lost, gained, dead",
            "Lost: episodes that passed every attempt before and do not now. Gained: the "
            "reverse. Dead: episodes that passed every attempt before and pass none now.",
            "reviewer.report.regression",
        ),
        Term(
            "formulas",
            "The version of the formulas behind bounds and recommendation, in each report and "
            "decision.",
            "reviewer.stats.formulas",
        ),
    ),
    "People and judges": (
        Term(
            "rubric",
            "The questions that people answer about a final message.",
            "reviewer.suite.rubric",
        ),
        Term(
            "label",
            "One person's answers to the rubric about a message or a pair.",
            "reviewer.review.labels",
        ),
        Term(
            "annotation",
            "What one person said about one attempt in another tool. It becomes a label of that"
            " attempt and is counted apart.",
            "reviewer.importing.annotations",
        ),
        Term(
            "label file",
            "A file of one person's labels for version control, named by its content and signed.",
            "reviewer.signing.label_files",
        ),
        Term(
            "limit on labels",
            "A policy's requirement on people's labels. No hard gate reads it.",
            "reviewer.report.label_limits",
        ),
        Term(
            "review set",
            "Recorded attempts for people to read, drawn by lot within strata and by flags, "
            "frozen by digest. Rates are computed only from the part drawn by lot.",
            "reviewer.review.sets",
        ),
        Term(
            "user error",
            "A mistake of a simulated user: found by rule, it spoils the attempt if it matters;"
            " found by label, it is counted and listed and changes no verdict.",
            "reviewer.review.talks",
        ),
        Term(
            "pattern",
            "Failing attempts with the same deciding finding at the same step. Its id is a "
            "digest of these facts; a person may name it.",
            "reviewer.desk.patterns",
        ),
        Term(
            "near group",
            "Failing attempts that are alone in their patterns and have similar words, "
            "according to a static model of words.",
            "reviewer.desk.patterns.near",
        ),
        Term("pair", "Two final messages shown blind, once in each order."),
        Term("flip", "An answer that changes when the order of a pair changes."),
        Term(
            "queue",
            "The items that are left to label, in order of priority.",
            "reviewer.review.queue",
        ),
        Term("adjudication", "A third person's label that settles a disagreement."),
        Term("agreement", "How often people, or a judge and people, give the same labels."),
        Term(
            "judge",
            "A language model that answers the rubric's questions. It never changes a hard gate.",
            "reviewer.review.judgments",
        ),
        Term("judgment", "One answer of a judge."),
        Term(
            "calibration",
            "A judge's agreement with human labels, with bounds. It determines the judge's role.",
            "reviewer.review.calibration",
        ),
        Term("role", "What a judge may be used for: `scoring` or `advisory only`."),
        Term("leak", "A frozen episode found in training or feedback data."),
    ),
    "The release": (
        Term(
            "report",
            "The scorecard with repeatability, cost, latency, regression, review and "
            "calibration, and a recommendation with reasons.",
            "reviewer.report.model.Report",
        ),
        Term(
            "recommendation",
            "What the report proposes: `promote`, `block`, `repair` or `hold`.",
            "reviewer.report.assess",
        ),
        Term("reason", "One fact of a report that leads to its recommendation, with its traces."),
        Term(
            "hold",
            "Recommended when required evidence is not measured; the report says what is "
            "missing and how much.",
        ),
        Term(
            "decision",
            "`PROMOTE`, `BLOCK` or `REPAIR`: a report that named people signed.",
            "reviewer.desk.decisions",
        ),
        Term(
            "attestation",
            "The signed statement of a decision or of a run (DSSE, in-toto).",
            "reviewer.signing",
        ),
        Term(
            "release",
            "The subject of one decision: a candidate on a suite, or on the several suites that"
            " a `release.json` names. The strictest suite decides.",
            "reviewer.suite.release.Release",
        ),
        Term("signer", "A person or runner whose key `store/signers` lists, with roles."),
        Term(
            "approver",
            "A signer whose signature counts toward the policy's number of approvals.",
        ),
        Term(
            "break-glass",
            "A signed record that a candidate was released without its decision. Shown in every "
            "later report; never a promotion.",
        ),
    ),
    "Where it is kept": (
        Term("workspace", "A folder with `suites/` and `store/`.", "reviewer.desk.workspace"),
        Term(
            "store",
            "The SQLite database of a workspace and the signed files next to it.",
            "reviewer.db",
        ),
        Term(
            "archive",
            "A folder of Parquet files with the content of a store at one moment, for queries "
            "over millions of attempts.",
            "reviewer.db.archive",
        ),
        Term(
            "payload archive",
            "A file outside the store with payloads of old traces; the digest of each is "
            "checked when it is read.",
            "reviewer.db.payload_archives",
        ),
        Term(
            "journal",
            "A hash chain in the store of every act that changes what may be believed.",
            "reviewer.db.journal",
        ),
        Term("witness", "A file with heads of the journal, kept in version control."),
        Term(
            "desk",
            "The layer that the workstation, the commands and the API call to read or change a "
            "workspace.",
            "reviewer.desk",
        ),
    ),
}
"""Terms by what they are about, in the order in which a reader meets them."""

TERMS = tuple(term for terms in GLOSSARY.values() for term in terms)


def _glossary_arguments(glossary: argparse.ArgumentParser) -> None:
    glossary.add_argument("term", nargs="?", help="one term (default: all)")


ARGUMENTS = {
    "glossary": _glossary_arguments,
}


def run(arguments: argparse.Namespace) -> int:
    terms = TERMS
    if arguments.term is not None:
        wanted = arguments.term.casefold()
        terms = tuple(term for term in TERMS if term.word.casefold() == wanted)
        if not terms:
            near = get_close_matches(wanted, [term.word for term in TERMS], 1)
            raise DeskError(
                f"the glossary has no term {arguments.term!r}",
                f"reviewer glossary {near[0]!r}" if near else "reviewer glossary lists every term",
                exit_code=ExitCode.USAGE,
            )
    if arguments.json:
        out_json([term._asdict() for term in terms])
    elif arguments.term is not None:
        for term in terms:
            fact(f"{term.word}: {term.meaning}")
            if term.code:
                fact(f"in the code: {term.code}")
    elif plain():
        for term in terms:
            fact(f"{term.word}: {term.meaning}")
    else:
        width = max(len(term.word) for term in TERMS) + 2
        for term in terms:
            out(
                textwrap.fill(
                    f"{term.word:<{width}}{term.meaning}",
                    max(40, shutil.get_terminal_size().columns),
                    subsequent_indent=" " * width,
                )
            )
    return ExitCode.DONE
