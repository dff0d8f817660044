"""Recognise a tapped host's tool protocol of plain text, and find results in its messages.

The forms were observed in hosts, tui-host among them.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain, pairwise

from tui_host.capture.json.narrowing import said
from tui_host.capture.json.reading import read_json
from tui_host.capture.json.spans import spans
from tui_host.infer.conversations.host_names import OWN
from tui_host.infer.conversations.request_messages import MessagePart, RequestMessage
from tui_host.infer.same_result import DENIAL, DENIED
from tui_host.llm.messages import ToolSpec
from tui_host.llm.protocols.reader import HeldReader
from tui_host.llm.protocols.table import protocol
from tui_host.llm.protocols.tool_protocol import Reader


class Wrapping:
    """A wrapping that hosts put into texts, on one line or several.

    A beginning without an end is no match. The search stops at the last end, because behind the last end each beginning would
    be followed to the end of the text.

    Args:
        pattern: The pattern up to the end.
        end: The pattern of the first end that counts; empty if the text's end will do.
    """

    def __init__(self, pattern: str, end: str = "") -> None:
        flags = re.DOTALL | re.MULTILINE
        self._whole = re.compile(pattern + end, flags)
        self._end = re.compile(end, flags) if end else None

    def found_in(self, text: str) -> Iterator[re.Match[str]]:
        """Yield each match in a text, in order."""
        if self._end is None:
            return self._whole.finditer(text)
        return self._whole.finditer(text, 0, max((match.end() for match in self._end.finditer(text)), default=0))

    def without(self, text: str) -> str:
        """Return a text without the matches."""
        kept, start = list[str](), 0
        for match in self.found_in(text):
            kept.append(text[start : match.start()])
            start = match.end()
        return "".join((*kept, text[start:]))


_SIGNS: tuple[tuple[str, re.Pattern[str]], ...] = (
    ("cline", re.compile(r"<use_mcp_tool>|<attempt_completion>")),
    ("cherry", re.compile(r"<tool_use>")),
    ("hermes", re.compile(r"<tool_call>")),
    ("react", re.compile(r"^[^\w\n]*Action Input\W", re.MULTILINE)),
    ("json", re.compile(r'"tool"\s*:\s*"[^"]*",\s*"arguments"\s*:')),
    ("function", re.compile(r'"function"\s*:\s*"[^"]*",\s*"parameters"\s*:')),
)
"""Signs of a protocol in the prompt that teaches it, or in an answer that follows it; the first match counts."""

_TOOLS = re.compile(r'^[^\w\n]*Tool:\s*(\S+)|"name"\s*:\s*"([^"\s]+)"|^[^\w\n]*(\w[\w.-]*)(?=:\s)', re.MULTILINE)
"""Tool names in a prompt's list."""
_MOST_TOOLS = 2000
_SERVERS = re.compile(r"^## ([^\n`]+?)(?: \(`.*)?$", re.MULTILINE)
"""Headings of servers in Cline's prompt; a model may read the servers' resources."""

_READS = "access_mcp_resource"
"""The name of the tool for reading resources in Cline's prompt."""

_HERMES = "hermes"
_TAGGED = Wrapping(r"<tool_response>(?P<told>.*?)", r"</tool_response>(?P<name>)")
"""A result in Hermes' form, which some hosts send within the vendor's result messages."""
_SAYS_WHY = r"(?: (?:tool )?(?:call|use))?(?: and provided the following feedback:\s*<feedback>.*?</feedback>)?[.!]?\s*"
"""What may follow a denial in a message of its own. Other words belong to a person whose text begins alike."""
_SAYS_NO = rf"(?:{DENIAL}{_SAYS_WHY}|(?i:(?:the )?user|用户)[^\n,，?？<]{{0,40}}?{DENIED}[^\n,，?？<]{{0,20}}\s*)"
"""A denial as some forks of Cline write it, without the word `Result` behind the call's name and with nothing behind the denial."""
_RESULTS = (
    Wrapping(r"\[(?:use_mcp_tool|access_mcp_resource) for '(?P<name>[^'\n]*)'\] Result:(?P<told>.*?)"
         r"(?=\[\w+ for '[^'\n]*'\] Result:|<environment_details>|\Z)"),
    Wrapping(r"<tool_use_result>\s*<name>(?P<name>[^<]*)</name>\s*<result>(?P<told>.*?)", r"</result>\s*</tool_use_result>"),
    Wrapping(r"Here is the result of mcp tool use `(?P<name>[^`\n]*)`:(?P<told>.*?)(?=Here is the result of mcp tool use `|\Z)"),
    _TAGGED,
    Wrapping(r"^Tool (?:result|error) for (?P<name>[^\n]*):\n(?P<told>.*?)(?=\n\nTool (?:result|error) for |\Z)"),
    Wrapping(r"^(?P<name>)Observation:[ \t]*(?P<told>.*?)(?=^Observation:|\Z)"),
    Wrapping(r"^(?P<name>)Tool execution result:\s*(?P<told>.*)\Z"),
    Wrapping(rf"\A\s*\[(?:use_mcp_tool|access_mcp_resource) for '(?P<name>[^'\n]*)'\] (?P<told>{_SAYS_NO})(?=<environment_details>|\Z)"),
    Wrapping(rf"\A\s*(?P<name>)(?P<told>{DENIAL}{_SAYS_WHY})(?=<environment_details>|\Z)"),
)  # fmt: skip
_NOT_SAID = (
    *(Wrapping(f"<{name}>.*?", f"</{name}>") for name in ("system-reminder", "session_context", "environment_context")),
    Wrapping(r"<environment_details>.*?(?:</environment_details>|\Z)"),
    Wrapping(r"</?(?:task|feedback|answer|user_message)>"),
)
"""Wrappings around the person's words, and additions beside them."""
_MAY_BE_WRAPPED = re.compile(
    r"[<\[]|^Tool |^Observation:|Here is the result of mcp|\A\s*(?i:the user|user)", re.MULTILINE
)
"""What every result in words and every wrapping holds: most texts hold nothing of these."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Envelope:
    """A result in the text of a message.

    Attributes:
        name: The name beside the result: of the tool or the server; empty if none.
        text: The result itself.
        start: The first byte in the body.
        end: One past the last byte.
        whole: First byte and end of the object around name and result; of the result, if there is no object.
    """

    name: str
    text: str
    start: int
    end: int
    whole: tuple[int, int]


def protocol_of(system: str, messages: Sequence[RequestMessage]) -> str:
    """Return the tool protocol that a system prompt or first message teaches; `native` if none."""
    text = system + (messages[0].text if messages and len(messages[0].text) > 2000 else "")
    return next((name for name, sign in _SIGNS if sign.search(text)), "native")


def readers_of(name: str, system: str, host: str = "") -> Callable[[], Reader]:
    """Return a factory of readers, to be called once per answer.

    Args:
        name: The tool protocol.
        system: The prompt that teaches the protocol.
        host: The host's name: hosts other than tui-host also run calls in prose and in code.
    """
    names = _listed(system) if name != "native" else ()
    tools = [ToolSpec(name=name, description="", schema={}, server="", tool=name) for name in names]
    servers = _sections(system) if name == "cline" else {}
    tools += [
        ToolSpec(name=f"{name}__{_READS}", description="", schema={}, server=name, tool=_READS, resources=())
        for name in servers
    ]
    return partial(_reader, name, tools, is_own=host == OWN)


def _reader(name: str, tools: Sequence[ToolSpec], *, is_own: bool) -> Reader:
    reader = protocol(name).reader(tools)
    return reader.anywhere() if isinstance(reader, HeldReader) and not is_own else reader


def listed_names(name: str, system: str) -> Sequence[str]:
    """Return the tool names that a protocol's prompt lists."""
    if name != "cline":
        return _listed(system) if name != "native" else ()
    return [f"{server}__{tool}" for server, text in _sections(system).items() for tool in _listed(text)]


def _listed(text: str) -> Sequence[str]:
    return sorted({next(filter(None, match.groups())) for match in _TOOLS.finditer(text)})[:_MOST_TOOLS]


def _sections(system: str) -> dict[str, str]:
    """Return the section of each server in Cline's prompt."""
    listed = system.partition("# Connected MCP Servers")[2]
    sections: dict[str, str] = {}
    for match, next_ in pairwise((*_SERVERS.finditer(listed), None)):
        if match is not None:
            sections.setdefault(match[1], listed[match.end() : len(listed) if next_ is None else next_.start()])
    return sections


def results_of(body: bytes, protocol: str, message: RequestMessage) -> Sequence[MessagePart]:
    """Return the results in a message, from the vendor's API or from text.

    Args:
        body: The request's body.
        protocol: The tool protocol of the request.
        message: A message of the request.
    """
    results = message.of("result")
    if protocol == _HERMES:
        results = [result for part in results for result in _untagged(body, part)]
    return results or [
        MessagePart(kind="result", text=envelope.text, start=envelope.start, end=envelope.end, name=envelope.name)
        for envelope in envelopes(body, message)
    ]


def _untagged(body: bytes, result: MessagePart) -> Sequence[MessagePart]:
    """Split a vendor's result in Hermes' form into the results inside; other results stay whole."""
    message = in_words(body, result)
    inside = [] if message is None else list(envelopes(body, message, (_TAGGED,)))
    if len(inside) > 1:  # a shared id or name decides nothing
        result = replace(result, name="", wire_id="")
    results = [replace(result, text=inner.text, start=inner.start, end=inner.end) for inner in inside]
    return [replace(part, name=by.name or part.name) for part, by in zip(results, inside, strict=True)] or [result]


def in_words(body: bytes, result: MessagePart) -> RequestMessage | None:
    """Return a vendor's result as a text message if the result consists of Hermes tags alone; else None."""
    if not result.text.lstrip().startswith("<tool_response>") or _TAGGED.without(result.text).strip():
        return None
    start, end = result.says
    root = spans(body[start:end], depth=2)
    if root is None:
        return None
    texts = [root] if root.kind == "string" else [text for block in root.elements if (text := block.get("text"))]
    parts = [
        MessagePart(kind="text", text=text.text(body[start:end]), start=start + text.start, end=start + text.end)
        for text in texts
    ]
    return RequestMessage(role="user", parts=tuple(parts), mark=b"")


def envelopes(body: bytes, message: RequestMessage, forms: Sequence[Wrapping] = _RESULTS) -> Iterator[Envelope]:
    """Yield the results in a message's text, in order.

    Args:
        body: The request's body.
        message: A message of the request.
        forms: The forms to look for; the first form that matches counts.
    """
    texts = message.of("text")
    whole = "\n".join(part.text for part in texts)
    by_form = ((form, list(form.found_in(whole))) for form in forms)
    form, matches = next((candidate for candidate in by_form if candidate[1]), (_TAGGED, list[re.Match[str]]()))
    names, texts_told, inner, ranges = list[str](), list[str](), list[tuple[int, int]](), list[tuple[int, int]]()
    for match in matches:
        text = match["told"].strip()
        start = match.end("told") - len(match["told"].lstrip())
        named = _named_result(text) if form is _TAGGED else None
        name, said_there, low, high = named or (match["name"].strip(), text, 0, len(text))
        names.append(name)
        texts_told.append(said_there)
        inner.append((start + low, start + high))
        ranges.append((start, start + len(text)))
    places, wholes = _places(body, texts, inner), _places(body, texts, ranges)
    for name, text, (start, end), around in zip(names, texts_told, places, wholes, strict=True):
        yield Envelope(name=name, text=text, start=start, end=end, whole=around)


def _named_result(quoted: str) -> tuple[str, str, int, int] | None:
    """Return tool name, text and range of a Hermes result that names its tool; None for a bare result."""
    if not quoted.startswith("{"):
        return None
    try:
        value, data = read_json(quoted), quoted.encode()
    except ValueError:
        return None
    root = spans(data, depth=2)
    node = root.get("content") if root is not None else None
    if node is None or not isinstance(value, dict) or value.keys() != {"name", "content"}:
        return None
    start, size = len(data[: node.start].decode()), len(data[node.start : node.end].decode())
    text = node.text(data) if node.kind == "string" else data[node.start : node.end].decode()
    return said(value["name"]), text, start, start + size


def said_by_person(message: RequestMessage) -> str:
    """Return the person's words in a message, without wrappings and results."""
    text = "\n".join(part.text for part in message.of("text"))
    for form in (*_RESULTS, *_NOT_SAID) if _MAY_BE_WRAPPED.search(text) else ():
        text = form.without(text)
    return text.strip()


def _places(body: bytes, texts: Sequence[MessagePart], ranges: Sequence[tuple[int, int]]) -> Sequence[tuple[int, int]]:
    """Convert ranges of the joined texts to byte ranges of the body, in order."""
    bytes_by_number: dict[int, tuple[int, int]] = {}
    starts, ends = [start for start, _ in ranges], [end for _, end in ranges]
    at = 0
    for part in texts:
        size = len(part.text)
        there = range(bisect_left(ends, at), bisect_right(starts, at + size))
        spans = {number: (max(starts[number] - at, 0), min(ends[number] - at, size)) for number in there}
        offsets = iter(offsets_of(body[part.start : part.end], *chain.from_iterable(spans.values())) if spans else ())
        for number, (low, high) in spans.items():
            first, last = part.start + next(offsets), part.start + next(offsets)
            if high > low or (starts[number] == ends[number] and number not in bytes_by_number):
                bytes_by_number[number] = bytes_by_number.get(number, (first, last))[0], last
        at += size + 1
    whole = (texts[0].start, texts[-1].end) if texts else (0, 0)
    return [bytes_by_number.get(number, whole) for number in range(len(ranges))]


_RUNS = re.compile(
    rb"([^\\\x80-\xff]+)|\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|\\u[0-9a-fA-F]{4}|\\.|[\xc0-\xff][\x80-\xbf]+"
)
"""A run of single-byte characters, or one character of several bytes."""


def offsets_of(quoted: bytes, *characters: int) -> tuple[int, ...]:
    """Return the byte offsets of characters in a JSON string; the string's end for characters beyond."""
    last = max(len(quoted) - 1, 1)
    starts, counts, ends = [1], [0], [1]
    count, most = 0, max(characters, default=0)
    for run in _RUNS.finditer(quoted, 1, last):
        starts.append(run.start())
        counts.append(count)
        ends.append(run.end())
        count += run.end() - run.start() if run[1] is not None else 1
        if count > most:
            break
    starts, counts, ends = [*starts, ends[-1]], [*counts, count], [*ends, ends[-1]]
    offsets: list[int] = []
    for character in characters:
        place = bisect_right(counts, character) - 1
        offsets.append(min(starts[place] + character - counts[place], ends[place]))
    return tuple(offsets)
