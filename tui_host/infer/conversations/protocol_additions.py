"""Find the bytes that a tool protocol of plain text adds to a tapped host's requests, with their purpose.

The forms were observed in hosts, tui-host among them.
"""

from __future__ import annotations

import hashlib
import re
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from itertools import chain

from tui_host.infer.conversations.request_messages import MessagePart, RequestMessage
from tui_host.infer.conversations.text_protocols import Wrapping, envelopes, in_words, offsets_of

_SPACE = r"(?:(?<!\s)\s+)?"
"""All white space before the next token, matched only from its beginning so that time stays linear."""
_RESULT = (
    r"\[(?:use_mcp_tool|access_mcp_resource) for '[^'\n]*'\] Result:\n?"
    r"|<tool_use_result>\s*<name>[^<]*</name>\s*<result>|</result>\s*</tool_use_result>"
    r"|^Here is the result of mcp tool use `[^`\n]*`:"
    rf"|<tool_response>\s*|{_SPACE}</tool_response>"
    r"|^Observation:[ \t]*|^Tool execution result:|^Tool (?:result|error) for [^\n]*:\n"
)
_FRAMES = (
    (Wrapping(r"<tools>\s*(?:[{\[]|<tool>).*?", "</tools>"), "lists the tools"),
    (Wrapping(r"^# Connected MCP Servers\n.*?(?=^====|^# |\Z)"), "lists the tools"),
    (Wrapping(rf"{_SPACE}<environment_details>.*?", "</environment_details>"), "details of the environment"),
    (Wrapping(r"<(?:task|feedback|answer|user_message)>\n?|\n?</(?:task|feedback|answer|user_message)>"), "frames what was said"),
    (Wrapping(_RESULT), "frames a result"),
)  # fmt: skip
"""Wrappings that hosts put into messages, with their purpose."""

_OF_TOOLS = re.compile(r"\b(?i:tool|function)|\b(?:Action|Observation|Final ?Answer)\b|工具|函数")
"""Words of a paragraph that teaches a tool protocol."""
_OF_OTHER_THINGS = re.compile(
    r"^====\n+(?:EDITING FILES|ACT MODE|CAPABILITIES|SYSTEM INFORMATION|OBJECTIVE|USER'S CUSTOM INSTRUCTIONS)\b"
    r".*?(?=^====|\Z)|^# User Instructions\n.*?(?=^Now Begin!|\Z)",
    re.DOTALL | re.MULTILINE,
)
"""Chapters of hosts' prompts that do not teach a tool protocol."""


class ProtocolAdditions:
    """Finds the additions of tool protocols in requests; repeated bytes are searched once."""

    def __init__(self) -> None:
        self._found_before: dict[tuple[object, ...], Sequence[tuple[int, int, str]]] = {}

    def found_in(
        self, name: str, body: bytes, system: Sequence[MessagePart], messages: Sequence[RequestMessage]
    ) -> Iterator[tuple[int, int, str]]:
        """Yield start, end and purpose of each addition to a request, without overlaps.

        Args:
            name: The tool protocol.
            body: The request's body.
            system: The parts of the system prompt.
            messages: The messages.
        """
        if name == "native":
            return
        for part in system:
            yield from self._found_once(body, (part,), name, partial(_of_prompt, name, body, part))
        for message in messages:
            kinds = {"text", "result"} if name == "hermes" else {"text"}
            if message.role == "user" and (parts := [part for part in message.parts if part.kind in kinds]):
                yield from self._found_once(body, parts, "", partial(_wrappings, body, parts))

    def _found_once(
        self, body: bytes, parts: Sequence[MessagePart], name: str, look: Callable[[], Iterable[tuple[int, int, str]]]
    ) -> Iterator[tuple[int, int, str]]:
        """Yield the additions in parts of a body, from the cache if equal bytes were searched before."""
        begin = parts[0].start
        digest = hashlib.blake2b(digest_size=16)
        for part in parts:
            digest.update(body[part.start : part.end])
        key = (name, *((part.start - begin, part.end - begin) for part in parts), digest.digest())
        if key not in self._found_before:
            self._found_before[key] = [(start - begin, end - begin, words) for start, end, words in look()]
        for start, end, words in self._found_before[key]:
            yield start + begin, end + begin, words


def _of_prompt(name: str, body: bytes, part: MessagePart) -> Iterator[tuple[int, int, str]]:
    """Yield tool lists and protocol instructions in a part of the system prompt."""
    lists = [frame for frame in _frames_in(part.text) if frame[2] == "lists the tools"]
    taught = [(*span, f"teaches the tool protocol {name}") for span in _instructions(part.text, lists)]
    yield from _in_bytes(body, part, sorted((*lists, *taught)))


def _wrappings(body: bytes, parts: Sequence[MessagePart]) -> Iterator[tuple[int, int, str]]:
    """Yield the host's wrapping around the person's words and around results, without their content."""
    texts = tuple(part for part in parts if part.kind == "text")
    messages = [RequestMessage(role="user", parts=texts, mark=b"")] if texts else []
    messages += filter(None, (in_words(body, part) for part in parts if part.kind == "result"))
    frames = list[tuple[int, int, str]]()
    for message in messages:
        frames += _wrappings_in(body, message)
    yield from sorted(frames)


def _wrappings_in(body: bytes, message: RequestMessage) -> Iterator[tuple[int, int, str]]:
    frames = list(chain.from_iterable(_in_bytes(body, part, _frames_in(part.text)) for part in message.parts))
    results = list(envelopes(body, message)) if frames else []
    ends = [result.whole[1] for result in results]
    for frame in frames:
        first = bisect_right(ends, frame[0])  # the first result that does not end before the frame
        if first == len(results) or results[first].whole[0] >= frame[1]:
            yield frame
    for result in results:
        start, end = result.whole
        spans = (start, result.start), (result.end, end)
        yield from ((*span, "frames a result") for span in spans if span[0] < span[1])


def _frames_in(text: str) -> list[tuple[int, int, str]]:
    """Return the wrappings in a text in order, without nested ones."""
    frames = [(*match.span(), words) for form, words in _FRAMES for match in form.found_in(text)]
    kept: list[tuple[int, int, str]] = []
    for frame in sorted(frames, key=lambda frame: (frame[0], -frame[1])):
        if not kept or frame[0] >= kept[-1][1]:
            kept.append(frame)
    return kept


def _instructions(text: str, lists: Sequence[tuple[int, int, str]]) -> Iterator[tuple[int, int]]:
    """Yield instructions in a prompt: in each run of chapters from the first to the last paragraph about tools."""
    speakers = sorted([*(match.span() for match in _OF_TOOLS.finditer(text)), *(listed[:2] for listed in lists)])
    for start, end in _between(0, len(text), [match.span() for match in _OF_OTHER_THINGS.finditer(text)]):
        inside = [span for span in speakers if start <= span[0] and span[1] <= end]
        if inside:
            first = text.rfind("\n\n", start, inside[0][0])
            last = text.find("\n\n", inside[-1][1], end)
            began, ended = start if first < 0 else first + 2, end if last < 0 else last
            yield from _between(began, ended, [listed[:2] for listed in lists])


def _between(start: int, end: int, taken: Iterable[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    """Yield the parts of a range that are not taken, in order."""
    for begin, stop in taken:
        if start < min(begin, end):
            yield start, min(begin, end)
        start = max(start, stop)
    if start < end:
        yield start, end


def _in_bytes(body: bytes, part: MessagePart, frames: Sequence[tuple[int, int, str]]) -> Iterator[tuple[int, int, str]]:
    """Convert ranges of a part's text to ranges of the body."""
    offsets = (
        offsets_of(body[part.start : part.end], *(at for start, end, _ in frames for at in (start, end)))
        if frames
        else ()
    )
    for (_, _, words), start, end in zip(frames, offsets[::2], offsets[1::2], strict=True):
        yield part.start + start, part.start + end, words
