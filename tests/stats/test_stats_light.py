"""The statistics load neither numpy nor scipy until a function needs them."""

import ast
import inspect
import subprocess
import sys
from pathlib import Path

import pytest

import reviewer.stats
from reviewer.api import stats

PACKAGE = Path(reviewer.stats.__file__).parent

MODULES = sorted(path.stem for path in PACKAGE.glob("*.py") if path.stem != "__init__")

REPORT = """
import reviewer.api.stats as m
groups = [[1, 1, 1], [1, 0, 1], [1, 1, 0]]
m.wilson_interval(2, 3), m.wilson_effective(groups), m.clopper_pearson(2, 3)
m.rate_lower_bound(successes=28, total=29)
m.failure_rate_upper_bound(0, 59), m.failure_rate_upper_bound(1, 59)
m.pass_hat_k_suite(groups), m.pass_hat_k_interval([(3, 3), (3, 2)], 3), m.pass_at_k(5, 2, 3)
m.cost_per_success(groups, [[0.1] * 3] * 3), m.icc1(groups), m.korn_graubard_interval(groups)
m.latency_summary([float(x) for x in range(100)]), m.zero_failure_sample_size(0.01)
m.labels_needed_for_accuracy(0), m.runs_needed_for_max_rate(0), m.episodes_needed(.05, 0, .1, .1, 3)
m.calibrate_judge([], confidence=0.95), m.adjusted_paired_interval([1.0], [0.5])
m.rate_lower_bound([(3, 2), (3, 3)]), m.cost_per_success_upper_bound([3, 2], [0.1, 0.2])
m.regression_lower_bound([3], [2], 3), m.paired_signflip_exact([1.0], [0.5])
m.tango_paired(1, 1, 7, 12)
m.confidence_sequence(3, 3), m.clean_episodes_needed([(3, 3)], 0.9, k=3)
m.unchanged_episodes_needed([], 0.05), m.attempts_needed_for_quantile(0, 9, 0.95)
m.clustered_upper_limit([1.0, 2.0], [(2, 1)], 0.95)
m.episodes_needed_for_cost([(0.1, 3, 3)], 0.2)
"""

PROBE = """
import sys
{body}
print([n for n in ("numpy", "scipy", "rapidfuzz", "pydantic", "textual") if n in sys.modules])
"""


def heavy_modules_after(body):
    program = [sys.executable, "-c", PROBE.format(body=body)]
    answer = subprocess.run(program, capture_output=True, text=True, check=True, timeout=60)
    return ast.literal_eval(answer.stdout)


def test_a_report_loads_no_heavy_module():
    assert heavy_modules_after(REPORT) == []


def test_importing_every_module_loads_no_heavy_module():
    body = "\n".join(f"import reviewer.stats.{name}" for name in MODULES)
    assert heavy_modules_after(body) == []


def test_the_probe_sees_a_heavy_module():
    assert "scipy" in heavy_modules_after(
        "import reviewer.api.stats as m; m.power_paired_t(0.5, 1)"
    )


def test_every_exported_name_is_defined():
    for name in stats.__all__:
        assert getattr(stats, name) is not None


def test_every_public_function_is_documented():
    values = [getattr(stats, name) for name in stats.__all__]
    functions = [value for value in values if inspect.isfunction(value)]
    assert len(functions) > 60
    assert [f.__name__ for f in functions if not f.__doc__] == []


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="no attribute 'wald_interval'"):
        stats.wald_interval  # noqa: B018
