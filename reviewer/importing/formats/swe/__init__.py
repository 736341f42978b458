"""Benchmarks of software engineering: SWE-agent, mini-swe-agent, SWE-bench results."""
