"""The figures of a suite's reports, candidate by candidate."""
