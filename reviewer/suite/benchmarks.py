"""Public benchmarks as probes: what each can teach, what it cannot certify, what feeds it."""

from typing import NamedTuple


class Benchmark(NamedTuple):
    """One line each, to be shown wherever a suite of it is. `readers` are names of readers."""

    title: str
    teaches: str
    cannot_certify: str
    readers: tuple[str, ...]


BENCHMARKS: dict[str, Benchmark] = {
    "tau-bench": Benchmark(
        "tau-bench and tau2-bench",
        "whether an agent keeps a policy and reaches the right database state while it talks to a "
        "user, and how often it does so again (pass^k)",
        "your policies, tools and users: its customers are simulated by a model, its two or three "
        "domains are public",
        ("tau-bench", "tau2-bench", "hal"),
    ),
    "swe-bench": Benchmark(
        "SWE-bench",
        "whether a patch makes a real issue's failing tests pass and breaks none that passed",
        "code that is right beyond those tests, safe tool use on the way, or other repositories "
        "than a dozen well-known public ones",
        ("swe-bench", "swe-agent", "mini-swe-agent", "openhands", "hal"),
    ),
    "terminal-bench": Benchmark(
        "Terminal-Bench",
        "whether an agent finishes a whole job in a shell, checked by tests on the container it "
        "leaves behind",
        "harm done on the way: only the end of a throw-away container is looked at",
        ("terminal-bench", "harbor", "atif"),
    ),
    "webarena": Benchmark(
        "WebArena",
        "whether an agent finds and changes things on working copies of web sites through a "
        "browser",
        "your sites and logins; answers matched as text pass and fail some that people would not",
        ("webarena", "webarena-verified", "agentlab"),
    ),
    "osworld": Benchmark(
        "OSWorld",
        "whether an agent works a desktop by its screen, mouse and keyboard, checked by the files "
        "and settings it leaves",
        "what else it touched, and any desktop but its virtual machine",
        ("osworld",),
    ),
    "gaia": Benchmark(
        "GAIA",
        "whether an assistant finds one short true answer with search, files and several steps",
        "that the steps were right or allowed: only the answer is compared, and many have leaked",
        ("gaia", "hal", "inspect"),
    ),
    "agentbench": Benchmark(
        "AgentBench",
        "how one model holds up in turns with very different environments: a shell, a database, "
        "a shop, a clinic's records",
        "an agent with tools of its own: acts are text in a fixed form, and a slip of form fails",
        ("agentbench",),
    ),
}
"""By the start of a suite's id."""

_ALSO = {
    "tau2": "tau-bench",
    "swebench": "swe-bench",
    "visualwebarena": "webarena",
}


def benchmark_of(suite_id: str) -> Benchmark | None:
    """Return the benchmark of a probe suite (`osworld-chrome`), None for an unknown one."""
    for start in (*BENCHMARKS, *_ALSO):
        if suite_id == start or suite_id.startswith(f"{start}-"):
            return BENCHMARKS[_ALSO.get(start, start)]
    return None
