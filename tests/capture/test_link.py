"""A link is read as it was written."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tui_host.capture.link import Link, read_link


@given(st.from_type(Link).filter(lambda link: link.span.exchange != "" and link.span.seq != 0))
def test_a_link_is_read_as_it_was_written(link: Link) -> None:
    assert read_link(link.to_bytes()) == link


@pytest.mark.parametrize(
    "data", [b"", b"[]", b"{}", b'{"relation":"other","span":{}}', b'{"relation":"asked","span":3}']
)
def test_what_tells_no_link_is_none(data: bytes) -> None:
    assert read_link(data) is None
