"""Trends: every figure of a suite over its candidates."""
