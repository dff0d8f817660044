"""A server's image is decoded in a process with limits, and why it is not drawn is said."""

from __future__ import annotations

import os

import pytest

from tests.servers.rich_server import png
from tui_host.errors import TuiHostError
from tui_host.host.image_decoder import Picture, decode_image


async def drawn(data: bytes) -> Picture:
    return await decode_image(data, columns=20, rows=5, background="000000", environment=os.environ)


async def test_an_image_is_made_to_fit_its_cells() -> None:
    picture = await drawn(png(400, 100))
    assert (picture.width, picture.height, picture.original, picture.form) == (20, 5, (400, 100), "PNG")
    assert picture.rgb == b"\xff\0\0" * 100


async def test_an_image_that_is_too_large_is_not_decoded() -> None:
    with pytest.raises(TuiHostError, match=r"100,000 × 100,000 pixels; the limit is 40 million"):
        await drawn(png(1, 1, claims=(100_000, 100_000)))


async def test_what_is_no_image_is_said() -> None:
    with pytest.raises(TuiHostError, match="cannot be decoded"):
        await drawn(b"<svg/>")
