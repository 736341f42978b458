"""Contracts derived from what other tools expect of an agent: tasks of a benchmark, golden records.

Pure: from parsed JSON to the files of a suite that nobody has frozen yet. What a source expects
and no gate can hold is not bent into one: it is kept beside the contracts for people, or the
record is left out with its reason.
"""
