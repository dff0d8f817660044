"""Draws a server's image small, by a process with limits of memory and time. No decoder runs in this process."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass

import anyio

from tui_host.capture.json.narrowing import is_array
from tui_host.errors import JSON, TuiHostError
from tui_host.settings.environment_references import listed_environment

SECONDS = 10.0
"""Time limit for an image, the start of the process included."""
NOT_INSTALLED = "drawing images needs Pillow, which is not installed"
INSTALL = "install tui-host with the extra «images»: uv tool install 'tui-host[images]'"


@dataclass(frozen=True, slots=True, kw_only=True)
class Picture:
    """A small picture.

    Attributes:
        width: Pixels of a line.
        height: Number of lines.
        rgb: Three bytes a pixel, line by line.
        form: Name of the file's format.
        original: Width and height of the image itself.
    """

    width: int
    height: int
    rgb: bytes
    form: str
    original: tuple[int, int]


async def decode_image(
    data: bytes, *, columns: int, rows: int, background: str, environment: Mapping[str, str]
) -> Picture:
    """Decode an image into at most `columns` × `rows` cells of two pixels each.

    Args:
        data: The image file.
        columns: Cells of a line.
        rows: Number of lines.
        background: Six hexadecimal digits: the colour behind transparent pixels.
        environment: This program's environment; the process gets only the listed variables.

    Raises:
        TuiHostError: The image cannot be drawn; says why.
    """
    command = [sys.executable, "-P", "-m", "tui_host.host.image_pixels", str(columns), str(rows), background]
    try:
        with anyio.fail_after(SECONDS):
            done = await anyio.run_process(
                command,
                input=data,
                check=False,
                stderr=subprocess.DEVNULL,
                env=listed_environment(environment),
                start_new_session=True,
            )
    except TimeoutError:
        raise TuiHostError(f"the image cannot be drawn: decoding took longer than {SECONDS:.0f} s") from None
    except OSError as error:
        raise TuiHostError(f"the image cannot be drawn: {error.strerror}") from error
    head, _, rgb = done.stdout.partition(b"\n")
    return _picture(head, rgb)


def _picture(head: bytes, rgb: bytes) -> Picture:
    from tui_host.host.image_pixels import NO_DECODER

    try:
        facts: JSON = json.loads(head)
    except ValueError:
        facts = None
    if not isinstance(facts, Mapping):
        raise TuiHostError("the image cannot be drawn: decoding took too much memory or time")
    error = facts.get("error")
    if error == NO_DECODER:
        raise TuiHostError(NOT_INSTALLED, remedy=INSTALL)
    width, height = _pair(facts.get("size"))
    if error or not width or len(rgb) != 3 * width * height:
        raise TuiHostError(f"the image cannot be drawn: {error or 'its decoder gave no pixels'}")
    return Picture(
        width=width, height=height, rgb=rgb, form=str(facts.get("format")), original=_pair(facts.get("from"))
    )


def _pair(value: JSON) -> tuple[int, int]:
    numbers = [number for number in value if isinstance(number, int)] if is_array(value) else []
    return (numbers[0], numbers[1]) if len(numbers) == 2 else (0, 0)
