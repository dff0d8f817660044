"""Where a head ends in what comes a few bytes at a time."""

from __future__ import annotations

from itertools import product

import pytest

from tui_host.tap.message_heads import HEAD_LIMIT, HeadEnd, HeadError


@pytest.mark.parametrize("size", [1, 2, 3])
def test_the_end_of_a_head_is_found_whatever_its_lines_end_with_and_however_it_comes(size: int) -> None:
    for lines in product((b"a", b"\r", b"\n"), repeat=7):
        whole = b"".join(lines)
        ends = (end for end in range(len(whole) + 1) if whole[:end].endswith((b"\n\n", b"\n\r\n")))
        expected = next(ends, None)
        came, head_end = bytearray(), HeadEnd()
        found = None
        for start in range(0, len(whole), size):
            came += whole[start : start + size]
            found = head_end.find(came)
            if found is not None:
                break
        assert found == expected, whole


def test_behind_one_head_another_is_found_from_its_beginning() -> None:
    came, head_end = bytearray(b"a\n" * 20 + b"\nb\n\nc\n"), HeadEnd()
    assert head_end.find(came) == 41
    del came[:41]
    assert head_end.find(came) == 3
    del came[:3]
    assert head_end.find(came) is None
    came.clear()
    head_end.forget()
    came += b"\n\n"
    assert head_end.find(came) == 2


@pytest.mark.exhaustive
def test_a_head_that_comes_byte_by_byte_is_looked_at_in_no_time_and_is_too_long_at_its_limit() -> None:
    """From its beginning each time this was minutes of the one loop in which all connections are."""
    came, head_end = bytearray(), HeadEnd()
    for number in range(HEAD_LIMIT):
        came += b"\nx"[number % 2 :][:1]
        assert head_end.find(came) is None
    came += b"x"
    with pytest.raises(HeadError):
        head_end.find(came)
