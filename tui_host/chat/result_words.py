"""What is told of a call: to the model in words and images, to the user as a line for each content, and on the disk as a file."""

from __future__ import annotations

import base64
import json
import mimetypes
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from tui_host.capture.visible import line
from tui_host.chat.images import image_of
from tui_host.chat.policy import Decider, Decision
from tui_host.errors import JSON, TuiHostError
from tui_host.llm.messages import Image, Text, ToolCall, ToolResult
from tui_host.llm.outline import size_words
from tui_host.llm.request_writing import json_text
from tui_host.servers.catalog import CallProgress, ContentBlock, ToolOutput

_LINE_CHARACTERS, _NAME_CHARACTERS = 200, 60
_UNFIT = re.compile(r"[^\w.-]+")
KNOWN_KINDS = frozenset({"text", "image", "audio", "resource", "resource_link"})
"""Kinds of content in MCP 2025-11-25 and 2026-07-28; all other kinds are shown as JSON."""
_NOT_KNOWN = "of a kind that is not known here, as JSON"
ONLY_NAMED = "the model is told only this"
NO_STRUCTURE = "the tool has an output schema, but its result has no structured content"
UNCHECKED = "not checked: the output schema is unusable, or the check takes too long"
RESULT_LIMIT = 50_000
"""Most characters of a result."""


def shortened(text: str) -> str:
    """Return the beginning and end of a long text, with the number of omitted characters between them."""
    if len(text) <= RESULT_LIMIT:
        return text
    half = RESULT_LIMIT // 2
    return f"{text[:half]}\n[... {len(text) - 2 * half:,} characters left out ...]\n{text[-half:]}"


def block_text(block: ContentBlock) -> str:
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


def result_of(call: ToolCall, output: ToolOutput) -> ToolResult:
    """Return a tool's output as a result for the model. Images, also inside resources, are passed on as images."""
    images = [image for block in output.content if isinstance(image := image_of(block), Image)]
    text = "\n\n".join(map(block_text, output.content))
    if not text.strip() and output.has_structured:
        text = json.dumps(output.structured, ensure_ascii=False)  # a server may send NaN, which is passed on unchanged
    text = shortened(text) if text.strip() else "(no content)"
    if output.is_error and not text.startswith("Error"):
        text = f"Error: {text}"
    return ToolResult(call=call, content=(Text(text=text), *images), is_error=output.is_error)


def text_of(result: ToolResult | None) -> str:
    """Return the texts of a result."""
    return "" if result is None else "\n".join(block.text for block in result.content if isinstance(block, Text))


def error_of(call: ToolCall, text: str) -> ToolResult:
    """Return the result sent to the model for a call that failed."""
    return ToolResult(call=call, content=(Text(text=text),), is_error=True)


def told_of(result: ToolResult, sent: Decision | None) -> ToolResult:
    """Return what the model is told. If the user edited what was sent, it says what ran: vendors refuse a call changed in the history."""
    if sent is None or sent.verdict != "edited":
        return result
    ran = f"edited by the user: ran with {sent.arguments.decode()}"
    first, *others = result.content
    if isinstance(first, Text):
        return replace(result, content=(Text(text=f"{ran}\n{first.text}" if first.text else ran), *others))
    return replace(result, content=(Text(text=ran), *result.content))


REJECTED: Mapping[Decider, str] = {
    "rule": "This call is denied by a rule of the user. It was not run.",
    "default": "Nobody was there to approve this call. It was not run.",
    "person": "The user rejected this call. It was not run.",
}
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
SAME_CALL = (
    "You have made the same call with the same arguments {} times in a row. Its result stands above: use it, "
    "make another call, or give the answer. The same call again will not be run."
)
ENDED = "The program ended before this call had a result. It may have had its effect; its result is unknown."


def cut_behind_call_of(count: int, asked: Sequence[str]) -> str:
    """Tell the user which text was left out of an answer: its length, and the tools that it called."""
    characters = "1 character" if count == 1 else f"{count:,} characters"
    held = " that the model made up"
    if asked:
        calls, were = _calls_of(asked)
        held = f", with {calls} that {were} not run"
    return f"left out behind the call: {characters}{held}; the inspector shows them"


def not_run_behind_of(asked: Sequence[str]) -> str:
    """Tell the model that the calls after its first call were not run."""
    calls, were = _calls_of(asked)
    return (
        f"In your answer {calls} stood behind a call whose result you did not have yet, and {were} not "
        "run. End an answer with its call, and wait for the result before you ask for more."
    )


def _calls_of(asked: Sequence[str]) -> tuple[str, str]:
    if len(asked) == 1:
        return f"a call of {asked[0]}", "was"
    return f"{len(asked)} calls ({', '.join(asked)})", "were"


# What the user is told.


def content_lines(output: ToolOutput, *, is_own: bool = True) -> str:
    """Describe the contents of a result, a line each; with `is_own`, this host told the model, so what was left out is known."""
    lines: list[str] = []
    for block in output.content:
        if block.kind == "text" and not block.annotations:
            continue
        words, image = described(block), image_of(block)
        if is_own and isinstance(image, Image):
            words += "" if image.media_type == block.media_type else f" · sent as {image.media_type}"
        elif is_own and block.kind == "resource_link":
            words += " · not read"
        elif is_own and block.data:
            words += f" · {image}; {ONLY_NAMED}" if image else f" · {ONLY_NAMED}"
        lines.append(words)
    if is_own and structured_text(output):
        size = size_words(len(json_text(output.structured).encode("utf-8", "replace")))
        lines.append(f"structured content: {size} · the model is told only the text")
    return "\n".join(lines)


def structured_text(output: ToolOutput) -> str:
    """Return the structured content as JSON; empty if there is none, or if the result's text says the same."""
    if not output.has_structured:
        return ""
    texts = [block.text for block in output.content if block.kind == "text"]
    inner = output.structured
    if isinstance(inner, Mapping) and list(inner) == ["result"]:
        inner = inner["result"]  # the only member, in which SDKs wrap plain values
    if any(_says(text, value) for text in texts for value in (output.structured, inner)):
        return ""
    # Of a list, SDKs make a text for each element.
    is_spelled_out = isinstance(inner, list) and len(inner) == len(texts) and all(map(_says, texts, inner))
    return "" if is_spelled_out else shortened(json_text(output.structured))


def progress_words(progress: CallProgress) -> str:
    """Describe how far a call has come: `2/5 files read`."""
    of = f"/{progress.total:g}" if progress.total is not None else ""
    return f"{progress.progress:g}{of} {progress.message}".strip()


def described(block: ContentBlock) -> str:
    """Describe a block of a result: kind, type, size, address, and the server's hints."""
    kind = block.kind.removeprefix("resource_") if block.kind in KNOWN_KINDS else f"«{block.kind}», {_NOT_KNOWN}"
    size = "" if block.size is None else size_words(block.size)
    name = block.text if block.kind == "resource_link" and block.text != block.uri else ""
    hints: list[str] = []  # the server's. Source: MCP 2025-11-25, Resources, Annotations.
    for hint, value in block.annotations:
        if hint == "audience" and isinstance(value, list):
            hints.append(f"for {' and '.join(map(str, value))}")
        elif isinstance(value, str | int | float):
            hints.append(f"{hint} {value}")
    facts = (block.media_type, size, name, block.uri, *hints)
    return line(f"{kind}: {', '.join(filter(None, facts))}", _LINE_CHARACTERS)


def _says(text: str, value: JSON) -> bool:
    try:
        return text == value or json.loads(text) == value
    except (ValueError, RecursionError):
        return False


def content_bytes(content: ContentBlock) -> bytes:
    """Return the bytes of a content: decoded from base64, or its text as UTF-8. Raises TuiHostError for broken base64."""
    if not content.data:
        return content.text.encode("utf-8", "replace")
    try:
        return base64.b64decode("".join(content.data.split()), validate=True)
    except ValueError:
        raise TuiHostError(f"the server's data is not base64, so there is no {content.kind} to use") from None


def suggested_name(content: ContentBlock, tool: str, number: int) -> str:
    """Suggest a file name, from the resource's address or from the tool's name. Contains no folder."""
    name = content.uri.partition("?")[0].rstrip("/").rpartition("/")[2] or f"{tool}-{number}"
    if not Path(name).suffix:
        guessed = mimetypes.guess_extension(content.media_type.partition(";")[0].strip())
        name += guessed or (".bin" if content.data else ".txt")
    return _UNFIT.sub("-", name).strip(".-")[-_NAME_CHARACTERS:] or "content"


def save_content(name: str, data: bytes, *, replaces: bool) -> Path:
    """Write a file with mode 0600, and return its whole path. Blocks on the disk. Raises FileExistsError, or TuiHostError with why."""
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
