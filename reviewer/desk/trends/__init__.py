"""The figures of a suite's reports, candidate after candidate."""
