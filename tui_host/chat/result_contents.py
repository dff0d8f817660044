"""What a result contains besides plain text: described, with what of it the model is not told, and written to files."""

from __future__ import annotations

import base64
import json
import mimetypes
import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from tui_host.capture.visible import line
from tui_host.chat.result_words import image_of, shortened
from tui_host.errors import JSON, TuiHostError
from tui_host.llm.messages import Image
from tui_host.llm.outline import size_words
from tui_host.servers.catalog import Content, ToolOutput

_LINE_CHARACTERS, _NAME_CHARACTERS = 200, 60
_UNFIT = re.compile(r"[^\w.-]+")
KNOWN_KINDS = frozenset({"text", "image", "audio", "resource", "resource_link"})
"""Kinds of content in MCP 2025-11-25 and 2026-07-28; all other kinds are shown as JSON."""
ONLY_NAMED = "the model is told only this"
NO_STRUCTURE = "the tool has an output schema, but its result has no structured content"
UNCHECKED = "not checked: the output schema is unusable, or the check takes too long"


def content_lines(output: ToolOutput, *, is_own: bool = True) -> str:
    """Describe the contents of a result, a line each; with `is_own`, this host told the model, so what was left out is known."""
    describe = _described_to_user if is_own else described
    lines = [describe(block) for block in output.content if block.kind != "text" or block.annotations]
    if is_own and structured_text(output):
        size = size_words(len(_compact(output.structured).encode("utf-8", "replace")))
        lines.append(f"structured content: {size} · the model is told only the text")
    return "\n".join(lines)


def structured_text(output: ToolOutput) -> str:
    """Return the structured content as JSON; empty if there is none, or if the result's text says the same."""
    if not output.has_structured or _is_spelled_out(output):
        return ""
    return shortened(_compact(output.structured))


def described(block: Content) -> str:
    """Describe a block of a result: kind, type, size, address, and the server's hints."""
    kind = {"resource_link": "link", "resource": "resource"}.get(block.kind, block.kind)
    if block.kind not in KNOWN_KINDS:
        kind = f"«{block.kind}», of a kind that is not known here, as JSON"
    size = "" if block.size is None else size_words(block.size)
    name = block.text if block.kind == "resource_link" and block.text != block.uri else ""
    facts = (block.media_type, size, name, block.uri, *_hints(block.annotations))
    return line(f"{kind}: {', '.join(filter(None, facts))}", _LINE_CHARACTERS)


def _described_to_user(block: Content) -> str:
    words, image = described(block), image_of(block)
    if block.kind == "resource_link":
        return f"{words} · not read"
    if isinstance(image, Image):
        return words if image.media_type == block.media_type else f"{words} · sent as {image.media_type}"
    if image:
        return f"{words} · {image}; {ONLY_NAMED}"
    return f"{words} · {ONLY_NAMED}" if block.data else words


def _hints(annotations: Sequence[tuple[str, JSON]]) -> list[str]:
    """Return the server's hints in words. Source: MCP 2025-11-25, Resources, Annotations."""
    hints = dict(annotations)
    audience = hints.pop("audience", None)
    names = [name for name in audience if isinstance(name, str)] if isinstance(audience, list) else []
    words = [f"for {' and '.join(names)}"] if names else []
    return [*words, *(f"{name} {value}" for name, value in hints.items() if isinstance(value, str | int | float))]


def _is_spelled_out(output: ToolOutput) -> bool:
    """Whether a text is equal to the structured content, or to its only member `result`, in which SDKs wrap plain values."""
    texts = [block.text for block in output.content if block.kind == "text"]
    inner = output.structured
    if isinstance(inner, Mapping) and list(inner) == ["result"]:
        inner = inner["result"]
    if any(_is_equal(text, value) for text in texts for value in (output.structured, inner)):
        return True
    return isinstance(inner, list) and len(inner) == len(texts) and all(map(_is_equal, texts, inner))


def _is_equal(text: str, value: JSON) -> bool:
    if isinstance(value, str) and text == value:
        return True
    try:
        return json.loads(text) == value
    except (ValueError, RecursionError):
        return False


def _compact(value: JSON) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def content_bytes(content: Content) -> bytes:
    """Return the bytes of a content: decoded from base64, or its text as UTF-8. Raises TuiHostError for broken base64."""
    if not content.data:
        return content.text.encode("utf-8", "replace")
    try:
        return base64.b64decode("".join(content.data.split()), validate=True)
    except ValueError:
        raise TuiHostError(f"the server's data is not base64, so there is no {content.kind} to use") from None


def suggested_name(content: Content, tool: str, number: int) -> str:
    """Suggest a file name, from the resource's address or from the tool's name. Contains no folder."""
    last = content.uri.partition("?")[0].rstrip("/").rpartition("/")[2]
    stem, dot, ending = last.rpartition(".")
    if dot and stem and len(ending) <= 5:
        name, suffix = stem, f".{ending}"
    else:
        guessed = mimetypes.guess_extension(content.media_type.partition(";")[0].strip())
        name, suffix = last or f"{tool}-{number}", guessed or (".bin" if content.data else ".txt")
    return f"{_UNFIT.sub('-', name).strip('.-')[:_NAME_CHARACTERS] or 'content'}{_UNFIT.sub('-', suffix)}"


def save_content(name: str, data: bytes, *, replaces: bool) -> Path:
    """Write a file with mode 0600 where no file is, or also in place of one. Returns its whole path. Blocks on the disk.

    Raises FileExistsError where there is one that is not to be replaced, TuiHostError where it cannot be written.
    """
    flags = os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC | os.O_NONBLOCK | (os.O_TRUNC if replaces else os.O_EXCL)
    try:
        path = Path(name).expanduser().absolute()
        with os.fdopen(os.open(path, flags, 0o600), "wb") as file:
            file.write(data)
    except FileExistsError:
        raise
    except (OSError, ValueError, RuntimeError) as error:  # the last for the home of an unknown user
        reason = error.strerror if isinstance(error, OSError) and error.strerror else "not a path"
        raise TuiHostError(f"{name} cannot be written: {reason}", remedy="name another file") from error
    return path
