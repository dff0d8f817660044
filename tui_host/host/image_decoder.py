"""Draws a server's image small, by a helper process with limits of memory and time. No decoder runs in this process."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from dataclasses import dataclass

from tui_host.capture.json.narrowing import items, mapping, number_or_zero, text_or_empty
from tui_host.errors import TuiHostError
from tui_host.host.helper_process import HelperProcess

SECONDS = 10.0
"""Time limit for an image, the start of the process included."""
NO_DECODER = "drawing images needs Pillow, which is not installed"
"""What the helper answers if the library that decodes images is missing."""
INSTALL = "install tui-host with the extra «images»: uv tool install 'tui-host[images]'"


@dataclass(frozen=True, slots=True, kw_only=True)
class Picture:
    """A small picture."""

    width: int  # pixels of a line
    height: int  # lines
    rgb: bytes  # three bytes a pixel, line by line
    form: str  # name of the file's format
    original: tuple[int, int]  # width and height of the image itself


async def decode_image(
    data: bytes, *, columns: int, rows: int, background: str, environment: Mapping[str, str]
) -> Picture:
    """Decode an image file into at most `columns` × `rows` cells of two pixels each.

    `background` is the colour behind transparent pixels, six hexadecimal digits.

    Raises:
        TuiHostError: The image cannot be drawn; says why.
    """
    helper = HelperProcess("tui_host.host.image_pixels", environment)  # one for each image, with limits of its own
    try:
        answer = await helper.ask([base64.b64encode(data).decode(), columns, rows, background], SECONDS)
    finally:
        await helper.close()
    facts = mapping(answer)
    error = text_or_empty(facts.get("error"))
    if error == NO_DECODER:
        raise TuiHostError(NO_DECODER, remedy=INSTALL)
    if error or not facts:
        raise TuiHostError(f"the image cannot be drawn: {error or 'decoding took too much memory or time'}")
    width, height = map(number_or_zero, items(facts.get("size")))
    across, down = map(number_or_zero, items(facts.get("from")))
    rgb = base64.b64decode(text_or_empty(facts.get("rgb")))
    return Picture(
        width=width, height=height, rgb=rgb, form=text_or_empty(facts.get("format")), original=(across, down)
    )
