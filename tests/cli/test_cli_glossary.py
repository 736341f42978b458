"""`reviewer glossary` prints the words of the program, and their names in the code exist."""

import importlib
import json
import re

from doors import Door

from reviewer.cli.glossary import TERMS


def test_every_term_is_printed_on_a_line_of_its_own(door: Door) -> None:
    said = door.ok("glossary", "--plain").out.splitlines()
    assert [line.partition(": ")[0] for line in said] == [term.word for term in TERMS]
    assert len({term.word for term in TERMS}) == len(TERMS) >= 60


def test_one_term_is_printed_with_its_name_in_the_code(door: Door) -> None:
    assert door.ok("glossary", "Suite").out.splitlines() == [
        f"suite: {TERMS[0].meaning}",
        "in the code: reviewer.suite.model.Suite",
    ]
    assert json.loads(door.ok("glossary", "journal", "--json").out)[0]["word"] == "journal"


def test_an_unknown_term_is_refused_with_the_nearest_one(door: Door) -> None:
    refused = door.run("glossary", "atempt")
    assert refused.code == 2
    assert "no term 'atempt'" in refused.err
    assert "reviewer glossary 'attempt'" in refused.err


def test_names_in_the_code_exist() -> None:
    for term in TERMS:
        if not term.code:
            continue
        module, _, name = term.code.rpartition(".")
        try:
            importlib.import_module(term.code)
        except ModuleNotFoundError:
            assert hasattr(importlib.import_module(module), name), term


def test_meanings_are_sentences() -> None:
    for term in TERMS:
        assert re.fullmatch(r"[^a-z].*\.", term.meaning) or term.word == "lock", term
