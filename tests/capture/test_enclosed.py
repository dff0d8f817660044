"""What stands between two brackets is what a pattern of all of it finds, wherever texts begin and end."""

from __future__ import annotations

import re
from itertools import product

import pytest

from tui_host.capture.redact.body_fields import TEXT, Brackets

WHOLE = re.compile(rb'(a?\[)((?:[^"\[\]]|' + TEXT + rb")*)\]", re.DOTALL)


@pytest.mark.parametrize("length", [5, pytest.param(7, marks=pytest.mark.exhaustive)])
def test_brackets_are_found_where_a_pattern_finds_them_that_searches_from_each_beginning(length: int) -> None:
    enclosed = Brackets(rb"a?\[", b"[]")
    for pieces in product((b"[", b"]", b'"', b"\\", b"a"), repeat=length):
        data = b"".join(pieces)
        found: list[tuple[bytes, bytes]] = []

        def put(begin: re.Match[bytes], inner: bytes, found: list[tuple[bytes, bytes]] = found) -> bytes:
            found.append((begin[0], inner))
            return b"x" + inner

        kept = enclosed.sub(put, data)
        assert found == [(hit[1], hit[2]) for hit in WHOLE.finditer(data)], data
        assert kept == WHOLE.sub(rb"\1x\2]", data)
