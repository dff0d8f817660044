"""Lets a conversation go on after a provider has refused one of its images, which would stay in every later request."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from tui_host.chat.images import image_words
from tui_host.llm.messages import Image, Message, ToolResult

if TYPE_CHECKING:
    from tui_host.chat.session import Session
    from tui_host.errors import ModelError

MOST_NAMED = 3


def leave_out_images(session: Session, history: Sequence[Message], error: ModelError) -> None:
    """Leave the images so far out of further requests to the session's model, if the model's provider refused an image.

    The remedy of the error then says so, and names the images that were new in the request. Vendors word such a refusal
    each in their own way, but all of them name the image.
    """
    images = _new_images(history)
    if not images or error.passes or "image" not in error.what.lower():
        return
    session.refused_images[str(session.model)] = session.turn
    session.save()
    named = "; ".join(images[:MOST_NAMED])
    more = f" and {len(images) - MOST_NAMED} more" if len(images) > MOST_NAMED else ""
    error.remedy = f"try again: the next request leaves out {named}{more}"


def _new_images(history: Sequence[Message]) -> list[str]:
    """Describe the images that no answer of the model follows; all images if there are none of these."""
    images: list[str] = []
    earlier: list[str] = []
    for message in history:
        if message.role == "assistant" and message.source != "host":
            earlier, images = earlier + images, []
        for part in message.parts:
            if isinstance(part, Image):
                images.append(f"an image of yours ({image_words(part)})")
            elif isinstance(part, ToolResult):
                of_call = f"call {part.call.id} of {part.call.name}"
                images += [
                    f"the image from {of_call} ({image_words(image)})"
                    for image in part.content
                    if isinstance(image, Image)
                ]
    return images or earlier
