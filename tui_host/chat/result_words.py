"""Texts about a call's result, failure or rejection: for the model, and as a line for the user; and the images for a model.

The type and the size of an image are read from its bytes: vendors refuse an image that its server declared wrong.
"""

from __future__ import annotations

import base64
import json
import re
import struct
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from tui_host.chat.policy import Decision
from tui_host.llm.messages import Image, Message, Text, ToolCall, ToolResult
from tui_host.llm.outline import size_words
from tui_host.servers.catalog import Content, ToolOutput

if TYPE_CHECKING:
    from tui_host.errors import ModelError

LARGEST_IMAGE_BYTES = 20_000_000
"""No provider accepts larger images."""
MOST_PIXELS = 8_000
"""Longest side that every vendor takes. Source: Anthropic, Vision, Evaluate image size."""
MOST_NAMED = 3
_SIGNATURES: tuple[tuple[re.Pattern[bytes], str], ...] = (
    (re.compile(rb"\x89PNG\r\n\x1a\n"), "image/png"),
    (re.compile(rb"\xff\xd8\xff"), "image/jpeg"),
    (re.compile(rb"GIF8[79]a"), "image/gif"),
    (re.compile(rb"RIFF....WEBP", re.DOTALL), "image/webp"),
    (re.compile(rb"....ftyp(?:heic|heix|mif1)", re.DOTALL), "image/heic"),
)
_DATA_URL = re.compile(r"data:[^,]{0,100};base64,")
_SIZE_OF_JPEG = re.compile(rb"\xff[\xc0-\xc3\xc5-\xc7\xc9-\xcb\xcd-\xcf].{3}(.{4})", re.DOTALL)


def media_type_of(data: bytes) -> str:
    """Return the media type of an image file, empty for any other file."""
    return next((kind for sign, kind in _SIGNATURES if sign.match(data)), "")


def read_image(text: str) -> Image | str:
    """Return a server's image for a model, or why no model is given it. Servers write base64 with line breaks, or as a `data:` URL."""
    text = "".join(_DATA_URL.sub("", text, count=1).split())
    try:
        data = base64.b64decode(text, validate=True)
    except ValueError:
        return "not readable"
    media_type, size = media_type_of(data), _pixels(data)
    if not media_type:
        return "no PNG, JPEG, GIF or WebP"
    if len(data) > LARGEST_IMAGE_BYTES:
        return f"larger than {size_words(LARGEST_IMAGE_BYTES).replace('.0', '')}"
    if size is not None and max(size) > MOST_PIXELS:
        return f"{size[0]:,} × {size[1]:,} pixels, more than {MOST_PIXELS:,} on a side"
    return Image(media_type=media_type, data=text)


def image_words(image: Image) -> str:
    """Describe an image: `image/png, 12.3 kB`."""
    return f"{image.media_type}, {size_words(len(image.data) * 3 // 4)}"


def _pixels(data: bytes) -> tuple[int, int] | None:
    """Return width and height, None if they do not stand in the first bytes of a known form."""
    try:
        match media_type_of(data):
            case "image/png":
                return struct.unpack_from(">II", data, 16)
            case "image/gif":
                return struct.unpack_from("<HH", data, 6)
            case "image/jpeg" if (found := _SIZE_OF_JPEG.search(data)) is not None:
                height, width = struct.unpack(">HH", found[1])
                return width, height
            case _:
                return None
    except struct.error:
        return None


def refused_images(history: Sequence[Message], error: ModelError) -> str:
    """Name the images that were new in a request, if its provider refused one of them; else return nothing.

    Vendors word such a refusal each in their own way, but all of them name the image.
    """
    images = _new_images(history)
    if error.passes or "image" not in error.what.lower():
        return ""
    more = f" and {len(images) - MOST_NAMED} more" if len(images) > MOST_NAMED else ""
    return f"{'; '.join(images[:MOST_NAMED])}{more}"


def _new_images(history: Sequence[Message]) -> list[str]:
    images: list[str] = []
    earlier: list[str] = []
    for message in history:
        if message.role == "assistant" and message.source != "host":
            earlier, images = earlier + images, []
        for part in message.parts:
            if isinstance(part, Image):
                images.append(f"an image of yours ({image_words(part)})")
            elif isinstance(part, ToolResult):
                found = [image for image in part.content if isinstance(image, Image)]
                origin = f"the image from call {part.call.id} of {part.call.name}"
                images += [f"{origin} ({image_words(image)})" for image in found]
    return images or earlier


RESULT_LIMIT = 50_000
"""Most characters of a result."""


def shortened(text: str) -> str:
    """Return the beginning and end of a long text, with the number of omitted characters between them."""
    if len(text) <= RESULT_LIMIT:
        return text
    half = RESULT_LIMIT // 2
    return f"{text[:half]}\n[... {len(text) - 2 * half:,} characters left out ...]\n{text[-half:]}"


def image_of(block: Content) -> Image | str:
    """Return the image of a block for a model; else why no model is given it, empty if the block is no image."""
    if not block.data or (block.kind != "image" and not block.media_type.lower().startswith("image/")):
        return ""
    return read_image(block.data)


def block_text(block: Content) -> str:
    """Return a block as text for the model: the text itself, or what is not told, in brackets."""
    if block.kind == "text":
        return block.text
    if block.kind == "resource_link":
        return f"[link: {block.text} ({block.uri})]"
    if not block.data:
        return block.text
    size = f"{len(block.data) * 3 // 4 - block.data[-2:].count('='):,} bytes"
    image = image_of(block)
    facts = (block.media_type or "unknown type", size, block.uri, image if isinstance(image, str) else "")
    return f"[{block.kind}: {', '.join(filter(None, facts))}]"


def output_text(output: ToolOutput) -> str:
    """Return a tool's output as text, for the model and for the chat."""
    text = "\n\n".join(block_text(block) for block in output.content)
    if not text.strip() and output.has_structured:
        text = json.dumps(output.structured, ensure_ascii=False)  # a server may send NaN, which is passed on unchanged
    return shortened(text) if text.strip() else "(no content)"


def result_of(call: ToolCall, output: ToolOutput) -> ToolResult:
    """Return a tool's output as a result for the model. Images, also inside resources, are passed on as images."""
    images = [image for block in output.content if isinstance(image := image_of(block), Image)]
    text = output_text(output)
    if output.is_error and not text.startswith("Error"):
        text = f"Error: {text}"
    return ToolResult(call=call, content=(Text(text=text), *images), is_error=output.is_error)


def text_of(result: ToolResult | None) -> str:
    """Return the texts of a result."""
    return "" if result is None else "\n".join(block.text for block in result.content if isinstance(block, Text))


def error_of(call: ToolCall, text: str) -> ToolResult:
    """Return the result sent to the model for a call that failed."""
    return ToolResult(call=call, content=(Text(text=text),), is_error=True)


def edited_of(result: ToolResult, arguments: bytes) -> ToolResult:
    """Return the result of a call that the user edited, which says what ran: vendors refuse a call changed in the history."""
    ran = f"edited by the user: ran with {arguments.decode()}"
    first, *others = result.content
    if isinstance(first, Text):
        return replace(result, content=(Text(text=f"{ran}\n{first.text}" if first.text else ran), *others))
    return replace(result, content=(Text(text=ran), *result.content))


def rejection_of(call: ToolCall, decision: Decision) -> ToolResult:
    """Return the result sent to the model for a call that was rejected."""
    if decision.by == "rule":
        return error_of(call, "This call is denied by a rule of the user. It was not run.")
    if decision.by == "default":
        return error_of(call, "Nobody was there to approve this call. It was not run.")
    reason = f" The user's reason: {decision.reason}" if decision.reason else ""
    return error_of(call, f"The user rejected this call. It was not run.{reason}")


STOPPED = "The user stopped the turn before this call was run."
STOPPED_RUNNING = (
    "The user stopped the turn while this call was running. It may have had its effect; its result is unknown."
)
SENT_AGAIN = "sent again over a new session: the server no longer knew the first"
CUT_RUNNING = "stopped while it ran; it may have had its effect"
CUT_BEFORE = "stopped before it was sent"
NOT_DECIDED = "not decided: the turn was stopped"
TURN_STOPPED = "[The user stopped the turn here; no answer followed these results.]"
NO_ANSWER = "[No answer followed here.]"
ANSWER_NOT_BEGUN = "[The user stopped this answer before it began.]"
ANSWER_STOPPED = "[The user stopped the previous answer here.]"
ANSWER_ENDED = "[The host ended here; the previous answer is not complete.]"
ANSWER_CUT = "[The connection broke off here; the previous answer is not complete.]"
FAILED = "A fault in the host ended the turn before this call had a result. It may have had its effect; its result is unknown."
FAILED_BEFORE = "A fault in the host ended the turn before this call was run."
ENDED_BEFORE = "The program ended before this call was run."
ENDED = "The program ended before this call had a result. It may have had its effect; its result is unknown."


def same_call_of(times: int) -> str:
    """Tell the model that it repeats the same call."""
    return (
        f"You have made the same call with the same arguments {times} times in a row. Its result stands above: use it, "
        "make another call, or give the answer. The same call again will not be run."
    )


def cut_behind_call_of(count: int, asked: Sequence[str]) -> str:
    """Tell the user which text was left out of an answer: its length, and the tools that it called."""
    characters = "1 character" if count == 1 else f"{count:,} characters"
    held = " that the model made up"
    if asked:
        held = f", with {_calls_of(asked)} that {_were(asked)} not run"
    return f"left out behind the call: {characters}{held}; the inspector shows them"


def not_run_behind_of(asked: Sequence[str]) -> str:
    """Tell the model that the calls after its first call were not run."""
    return (
        f"In your answer {_calls_of(asked)} stood behind a call whose result you did not have yet, and {_were(asked)} not "
        "run. End an answer with its call, and wait for the result before you ask for more."
    )


def _calls_of(asked: Sequence[str]) -> str:
    return f"a call of {asked[0]}" if len(asked) == 1 else f"{len(asked)} calls ({', '.join(asked)})"


def _were(asked: Sequence[str]) -> str:
    return "was" if len(asked) == 1 else "were"
