"""Tests for readers of other packages: does a reader keep the rules that ours keep?

    from reviewer.testing import check_reader

    def test_the_reader_of_diaries():
        check_reader(DiaryReader(), "tests/diary.json", many=write_diaries)

`check_reader` raises AssertionError with every rule that a reader breaks. docs/formats.md says how
to write a reader.
"""

from reviewer.testing.conformance import Broken, broken_rules, check_reader

__all__ = ["Broken", "broken_rules", "check_reader"]
