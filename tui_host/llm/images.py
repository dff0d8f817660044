"""Images as the APIs of models take them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from tui_host.llm.messages import Image, Text

IMAGES: Final = frozenset({"image/jpeg", "image/png", "image/gif", "image/webp"})
"""The types of images that nearly every service accepts; any other type would be refused."""


def image_url(image: Image) -> str:
    """Write an image as a `data:` URL."""
    return f"data:{image.media_type};base64,{image.data}"


def with_taken_images(parts: Sequence[object], taken: frozenset[str] = IMAGES) -> list[object]:
    """Return the parts, with words in place of images of types that the service refuses."""
    return [
        Text(text=f"(an image of the type {part.media_type}, which this model's API does not take)")
        if isinstance(part, Image) and part.media_type not in taken
        else part
        for part in parts
    ]
