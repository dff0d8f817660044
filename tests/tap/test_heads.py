"""Where a head ends in what comes a few bytes at a time."""

from __future__ import annotations

from itertools import product

import pytest

from tui_host.tap.message_heads import HeadEnd


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
