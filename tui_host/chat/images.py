"""Images for a model: recognised by their bytes, since vendors refuse one that its server declared wrong, and left out after a refusal."""

from __future__ import annotations

import base64
import re
import struct
from collections.abc import Sequence
from typing import TYPE_CHECKING

from tui_host.llm.messages import Image, Message, ToolResult
from tui_host.llm.outline import size_words

if TYPE_CHECKING:
    from tui_host.errors import ModelError
    from tui_host.servers.catalog import ContentBlock

LARGEST_IMAGE_BYTES = 20_000_000
"""No provider accepts larger images."""
MOST_PIXELS = 8_000
"""Longest side that every vendor takes. Source: Anthropic, Vision, Evaluate image size."""
_SIGNATURES: tuple[tuple[re.Pattern[bytes], str], ...] = (
    (re.compile(rb"\x89PNG\r\n\x1a\n"), "image/png"),
    (re.compile(rb"\xff\xd8\xff"), "image/jpeg"),
    (re.compile(rb"GIF8[79]a"), "image/gif"),
    (re.compile(rb"RIFF....WEBP", re.DOTALL), "image/webp"),
)
_DATA_URL = re.compile(r"data:[^,]{0,100};base64,")
_SIZE_OF_JPEG = re.compile(rb"\xff[\xc0-\xc3\xc5-\xc7\xc9-\xcb\xcd-\xcf].{3}(.{4})", re.DOTALL)


def media_type_of(data: bytes) -> str:
    """Return the media type of an image file that vendors take, empty for any other file."""
    return next((kind for sign, kind in _SIGNATURES if sign.match(data)), "")


def image_of(block: ContentBlock) -> Image | str:
    """Return the image of a block for a model; else why no model is given it, empty if the block is no image."""
    if not block.data or (block.kind != "image" and not block.media_type.lower().startswith("image/")):
        return ""
    # Servers write base64 with line breaks, or as a `data:` URL.
    text = "".join(_DATA_URL.sub("", block.data, count=1).split())
    try:
        data = base64.b64decode(text, validate=True)
    except ValueError:
        return "not readable"
    media_type, width, height = media_type_of(data), 0, 0
    # The size where it stands in the first bytes: of screenshots, the large images that there are.
    if media_type == "image/png" and len(data) >= 24:
        width, height = struct.unpack_from(">II", data, 16)
    elif media_type == "image/jpeg" and (jpeg := _SIZE_OF_JPEG.search(data)) is not None:
        height, width = struct.unpack(">HH", jpeg[1])
    if not media_type:
        return "no PNG, JPEG, GIF or WebP"
    if len(data) > LARGEST_IMAGE_BYTES:
        return f"larger than {size_words(LARGEST_IMAGE_BYTES).replace('.0', '')}"
    if max(width, height) > MOST_PIXELS:
        return f"{width:,} × {height:,} pixels, more than {MOST_PIXELS:,} on a side"
    return Image(media_type=media_type, data=text)


def image_words(image: Image) -> str:
    """Describe an image: `image/png, 12.3 kB`."""
    return f"{image.media_type}, {size_words(len(image.data) * 3 // 4 - image.data[-2:].count('='))}"


def refused_images(history: Sequence[Message], error: ModelError) -> str:
    """Name the images that were new in a request, if its provider refused one of them; else return nothing."""
    # Vendors word such a refusal each in their own way, but all of them name the image.
    if error.passes or "image" not in error.what.lower():
        return ""
    earlier: list[str] = []
    images: list[str] = []
    for message in history:
        if message.role == "assistant" and message.source != "host":
            earlier, images = earlier + images, []
        for part in message.parts:
            if isinstance(part, Image):
                images.append(f"an image of yours ({image_words(part)})")
            elif isinstance(part, ToolResult):
                found = [image_words(image) for image in part.content if isinstance(image, Image)]
                images += [f"the image from call {part.call.id} of {part.call.name} ({words})" for words in found]
    return "; ".join(images or earlier)
