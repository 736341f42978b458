"""What is told of public benchmarks, by the suites their readers fill."""

import pytest

from reviewer.importing.formats import foreign_readers
from reviewer.suite.benchmarks import BENCHMARKS, benchmark_of


@pytest.mark.parametrize(
    ("suite", "title"),
    [
        ("tau2-airline", "tau-bench and tau2-bench"),
        ("tau-bench-retail", "tau-bench and tau2-bench"),
        ("swe-bench", "SWE-bench"),
        ("terminal-bench", "Terminal-Bench"),
        ("webarena-verified", "WebArena"),
        ("visualwebarena", "WebArena"),
        ("osworld-chrome", "OSWorld"),
        ("gaia", "GAIA"),
        ("agentbench-os-std", "AgentBench"),
    ],
)
def test_a_suite_finds_its_benchmark(suite: str, title: str) -> None:
    found = benchmark_of(suite)
    assert found is not None
    assert found.title == title


@pytest.mark.parametrize("suite", ["refund-eval-v5", "gaiafication", "osworldly-x", ""])
def test_another_suite_has_none(suite: str) -> None:
    assert benchmark_of(suite) is None


def test_each_says_in_one_line_what_it_teaches_and_cannot_certify() -> None:
    assert len(BENCHMARKS) == 7
    for found in BENCHMARKS.values():
        assert found.teaches
        assert found.cannot_certify
        assert "\n" not in found.teaches + found.cannot_certify


def test_the_readers_named_are_there() -> None:
    named = {name for found in BENCHMARKS.values() for name in found.readers}
    assert named <= {reader.name for reader in foreign_readers()}
