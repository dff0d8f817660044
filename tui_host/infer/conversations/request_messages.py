"""Read the messages of requests in one form for all dialects, and what tool protocols of plain text put into words.

The forms of protocols were observed in hosts, tui-host among them; a model's calls are read by `llm.protocols`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Literal, TypeAlias

from tui_host.capture.json.reading import read_json
from tui_host.capture.json.spans import Node, spans
from tui_host.errors import JSON
from tui_host.infer.call_values import canonical_text
from tui_host.llm.layout import outline_of
from tui_host.llm.messages import ToolSpec
from tui_host.llm.outline import Part

NATIVE, HERMES = "native", "hermes"
_FLAGS = re.DOTALL | re.MULTILINE


def _wrapping(first: str, inside: str, last: str) -> re.Pattern[str]:
    # Nothing behind a first tag is searched beyond the next one, so that time stays linear.
    return re.compile(rf"{first}{inside.replace('.*', f'(?:(?!{first}).)*?')}{last}", _FLAGS)


_OBSERVED = re.compile(r"^(?P<name>)Observation:[ \t]*(?P<told>.*?)(?=^Observation:|\Z)", _FLAGS)
_TOLD_OF = r"^Tool (?:result|error) for (?P<name>[^\n]*):\n(?P<told>.*?)(?=\n\nTool (?:result|error) for |\Z)"
_OF_JSON = (re.compile(_TOLD_OF, _FLAGS), re.compile(r"^(?P<name>)Tool execution result:\s*(?P<told>.*)\Z", _FLAGS))
_USED = r"\[(?:use_mcp_tool|access_mcp_resource) for '(?P<name>[^'\n]*)'\] Result:(?P<told>.*?)"
_CHERRY = r"\s*<name>(?P<name>[^<]*)</name>\s*<result>(?P<told>.*)"
_OLDER = "Here is the result of mcp tool use `"
_NAMED = r'\s*\{\s*"name"\s*:\s*"(?P<name>[^"\n]*)"\s*,\s*"content"\s*:(?P<told>.*)\}\s*'
_FORMS: Mapping[str, tuple[re.Pattern[str], ...]] = {
    "cline": (
        re.compile(r"<use_mcp_tool>|<attempt_completion>"),
        re.compile(rf"{_USED}(?=\[\w+ for '[^'\n]*'\] Result:|<environment_details>|\Z)", _FLAGS),
    ),
    "cherry": (
        re.compile(r"<tool_use>"),
        _wrapping("<tool_use_result>", _CHERRY, r"</result>\s*</tool_use_result>"),
        re.compile(rf"{_OLDER}(?P<name>[^`\n]*)`:(?P<told>.*?)(?={_OLDER}|\Z)", _FLAGS),
    ),
    HERMES: (
        re.compile(r"<tool_call>"),
        _wrapping("<tool_response>", _NAMED, "</tool_response>"),
        _wrapping("<tool_response>", "(?P<told>.*)", "</tool_response>(?P<name>)"),
    ),
    "react": (re.compile(r"^[^\w\n]*Action Input\W", re.MULTILINE), _OBSERVED),
    "json": (re.compile(r'"tool"\s*:\s*"[^"]*",\s*"arguments"\s*:'), *_OF_JSON),
    "function": (re.compile(r'"function"\s*:\s*"[^"]*",\s*"parameters"\s*:'), *_OF_JSON),
}
"""Of each protocol what a prompt that teaches it holds, or an answer that follows it, and how hosts tell results.

Groups of results are `told`, and `name`: of the tool or the server, where it is said. The first protocol recognised counts.
"""
_DETAILS = tuple(
    _wrapping(f"<{name}>", ".*", f"</{name}>")
    for name in ("system-reminder", "session_context", "environment_context", "environment_details")
)
_WORDS = re.compile(r"<(?:task|feedback|answer|user_message)>\n?|\n?</(?:task|feedback|answer|user_message)>")
_NOT_SAID = (*(form for _, *forms in _FORMS.values() for form in forms), *_DETAILS, _WORDS)
_CHAPTERS = re.compile(
    r"(?P<tools><tools>\s*(?:[{\[]|<tool>)(?:(?!<tools>).)*?</tools>|^# Connected MCP Servers\n.*?(?=^====|^# |\Z))"
    r"|^====\n+(?:EDITING FILES|ACT MODE|CAPABILITIES|SYSTEM INFORMATION|OBJECTIVE|USER'S CUSTOM INSTRUCTIONS)\b"
    r".*?(?=^====|\Z)|^# User Instructions\n.*?(?=^Now Begin!|\Z)",
    _FLAGS,
)
"""Chapters of hosts' prompts that list tools, and those that are about other things."""
_OF_TOOLS = re.compile(r"\b(?i:tool|function)|\b(?:Action|Observation|Final ?Answer)\b|工具|函数")
"""Words of a paragraph that teaches a tool protocol."""
_TOOLS = re.compile(r'^[^\w\n]*Tool:\s*(\S+)|"name"\s*:\s*"([^"\s]+)"|^[^\w\n]*(\w[\w.-]*)(?=:\s)', re.MULTILINE)
"""Tool names in a prompt's list."""
_SERVER = re.compile(r"^## ([^\n`]+?)(?: \(`.*)?$", re.MULTILINE)
Addition: TypeAlias = tuple[int, int, str]
"""First character, or byte, one past the last, and the purpose."""
_Kind: TypeAlias = Literal["text", "call", "result"]
_Role: TypeAlias = Literal["model", "host", "user"]
_ROLES: dict[str, _Role] = {"assistant": "model", "model": "model", "system": "host", "developer": "host"}
_KINDS: dict[str, _Kind] = {"message": "text", "text": "text", "call": "call", "result": "result"}
_LISTS = ("messages", "input", "contents")  # the members that hold a conversation in each dialect
_RUNS = re.compile(
    rb"([^\\\x80-\xff]+)|\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|\\u[0-9a-fA-F]{4}|\\.|[\xc0-\xff][\x80-\xbf]+"
)
"""A run of single-byte characters, or one character of several bytes."""
_RESULT = ("Tool execution result:", "Error executing tool:", "Observation:")  # how results in system messages begin


@dataclass(frozen=True, slots=True, kw_only=True)
class MessagePart:
    """A text, call or result in a message."""

    kind: _Kind
    text: str  # of a call the arguments as JSON
    start: int  # the first byte in the body: of a text or a result with its quotes, or of the whole call
    end: int
    name: str = ""  # of the call or result, empty if unknown
    wire_id: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestMessage:
    """A message of a request."""

    role: _Role  # `host` is the system prompt; the user also tells results
    parts: tuple[MessagePart, ...]  # without thinking and images
    mark: int  # that equal messages share

    @property
    def text(self) -> str:
        """All texts of the message, joined."""
        return "".join(part.text for part in self.of("text"))

    @property
    def said(self) -> str:
        """The person's words, without wrappings and results; empty in a message of the model's."""
        text = "\n".join(part.text for part in self.of("text")) if self.role == "user" else ""
        for form in _NOT_SAID:
            text = form.sub("", text)
        return text.strip()

    def of(self, kind: str) -> tuple[MessagePart, ...]:
        """Return the parts of one kind."""
        return tuple(part for part in self.parts if part.kind == kind)


def message_of(body: bytes, part: Part) -> RequestMessage:
    """Read a message of a body, or a call or result that stands alone; system messages get the role `host`."""
    parts: list[MessagePart] = []
    marks: list[tuple[str, ...]] = []  # what equal parts have in common, however hosts write them
    for piece in part.children if part.kind == "message" and part.children else (part,):
        kind = _KINDS.get(piece.kind)
        if kind is None:
            continue
        data = body[slice(*piece.says)]
        # A JSON string is decoded, the texts of blocks are joined, other JSON stays as written.
        try:
            value: JSON = read_json(data) if data else ""
        except ValueError:
            value = None
        if isinstance(value, list):
            texts = [text for block in value if isinstance(block, dict) and isinstance(text := block.get("text"), str)]
            value = "\n".join(texts) if texts and len(texts) == len(value) else value
        text = value if isinstance(value, str) else data.decode("utf-8", "replace")
        if kind == "text" and not text.strip():
            continue
        start, end = piece.says if kind != "call" and piece.says[1] else (piece.start, piece.end)
        name, wire_id = piece.name, piece.wire_id
        parts.append(MessagePart(kind=kind, text=text, start=start, end=end, name=name, wire_id=wire_id))
        words = canonical_text(text) or text if kind == "call" else text
        for form in _DETAILS if kind != "call" and "<" in text else ():
            words = form.sub("", words)  # which hosts may leave out the next time
        marks.append((kind, wire_id, name if kind == "call" else "", words.strip()))
    role: _Role = "model" if part.kind in {"call", "thinking"} else _ROLES.get(part.label, "user")
    return RequestMessage(role=role, parts=tuple(parts), mark=hash((role, *marks)))


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """The content of a request."""

    system: tuple[MessagePart, ...]
    messages: tuple[RequestMessage, ...]  # a lone text in place of messages counts as one
    offered: tuple[str, ...]  # the names of the tools offered by the vendor's API
    prompt: str


_Content: TypeAlias = tuple[int, Sequence[RequestMessage], Sequence[str]]
"""Of a member or element where it stood last, its messages, and the names of the tools that it offers."""


@dataclass(slots=True, eq=False)
class RequestReader:
    """Reads requests: a conversation's next request repeats nearly all elements of the one before."""

    _contents: dict[tuple[str, bytes], _Content] = field(default_factory=dict[tuple[str, bytes], _Content])
    # From the first byte of the texts in which they stand.
    _additions: dict[tuple[str, bytes], Sequence[Addition]] = field(
        default_factory=dict[tuple[str, bytes], Sequence[Addition]]
    )

    def read(self, body: bytes) -> Request:
        """Return the content of a body; empty if the body is no JSON object."""
        root = spans(body, walk=_LISTS, depth=2)
        system: list[MessagePart] = []
        messages: list[RequestMessage] = []
        offered: list[str] = []
        for name, node in () if root is None else root.members:
            is_list = name in _LISTS and node.kind == "array"
            for element in node.elements if is_list else (node,):
                content, names = self._content(name, body, element, is_list=is_list)
                offered += names
                for message in content:
                    if message.role == "host" and not (messages and message.text.lstrip().startswith(_RESULT)):
                        system += message.parts
                        continue
                    # Some hosts tell results as system messages, and vendors split answers and results differently.
                    role = "user" if message.role == "host" else message.role
                    if message.parts and messages and messages[-1].role == role:
                        parts, mark = messages[-1].parts + message.parts, hash((messages[-1].mark, message.mark))
                        messages[-1] = RequestMessage(role=role, parts=parts, mark=mark)
                    elif message.parts:
                        messages.append(replace(message, role=role))
        prompt = "\n\n".join(part.text for part in system)
        return Request(system=tuple(system), messages=tuple(messages), offered=tuple(offered), prompt=prompt)

    def additions(self, protocol: str, body: bytes, request: Request) -> Iterator[Addition]:
        """Yield first byte, end and purpose of what a protocol of plain text adds to a request, without overlaps."""
        worded = [(_instructions_in, (part,)) for part in request.system]
        asked = [_worded(body, protocol, message) for message in request.messages if message.role == "user"]
        worded += [(_frames_in, parts) for parts in asked if parts]
        for look, parts in worded if protocol != NATIVE else ():
            first, key = parts[0].start, (protocol, body[parts[0].start : parts[-1].end])
            if key not in self._additions:
                self._additions[key] = [
                    (_place(body, parts, start) - first, _place(body, parts, end) - first, purpose)
                    for start, end, purpose in look(protocol, "\n".join(part.text for part in parts))
                ]
            for start, end, purpose in self._additions[key]:
                yield start + first, end + first, purpose

    def _content(
        self, name: str, body: bytes, node: Node, *, is_list: bool
    ) -> tuple[Sequence[RequestMessage], Sequence[str]]:
        data = body[node.start : node.end]
        start, messages, names = self._contents.get((name, data), (-1, (), ()))
        if start < 0:
            before, behind = f"{{{json.dumps(name)}:{'[' * is_list}".encode(), f"{']' * is_list}}}".encode()
            outline = outline_of(before + data + behind, {})
            for part in () if outline is None else outline.parts:
                inside = part.children if part.kind == "messages" else (part,)
                messages = [message_of(before + data + behind, piece) for piece in inside]
                names = [tool.name for tool in part.children if tool.kind == "tool"]
            start = len(before)
        if start != node.start:
            by, moved = node.start - start, list[RequestMessage]()
            for message in messages:
                parts = (replace(part, start=part.start + by, end=part.end + by) for part in message.parts)
                moved.append(replace(message, parts=tuple(parts)))
            messages = moved
            self._contents[name, data] = node.start, messages, names
        return messages, names


def recognise(prompt: str) -> str:
    """Return the tool protocol that a prompt teaches; `native` if none."""
    return next((name for name, (sign, *_) in _FORMS.items() if sign.search(prompt)), NATIVE)


def taught_tools(protocol: str, prompt: str) -> Sequence[ToolSpec]:
    """Return the tools that a prompt lists, and of each of Cline's servers the one that reads its resources."""
    tools: list[ToolSpec] = []
    sections = ["", prompt]
    if protocol == "cline":
        _, *sections = _SERVER.split(prompt.partition("# Connected MCP Servers")[2].partition("\n====")[0])
    for server, text in zip(sections[::2], sections[1::2], strict=True) if protocol != NATIVE else ():
        for tool in sorted({match[match.lastindex or 0] for match in _TOOLS.finditer(text)})[:2000]:
            spoken = f"{server}__{tool}" if server else tool
            tools.append(ToolSpec(name=spoken, description="", schema={}, server=server, tool=tool))
        if server:
            reads, spoken = "access_mcp_resource", f"{server}__access_mcp_resource"
            tools.append(ToolSpec(name=spoken, description="", schema={}, server=server, tool=reads, resources=()))
    return tools


def results_of(body: bytes, protocol: str, message: RequestMessage) -> Sequence[MessagePart]:
    """Return the results in a message of a request under a protocol: those of the vendor's API, else those in words."""
    results, parts = message.of("result"), _worded(body, protocol, message)
    if results and parts != results:
        return results
    return [
        replace(result, start=_place(body, parts, result.start), end=_place(body, parts, result.end))
        for result, _, _ in _results_in(protocol, "\n".join(part.text for part in parts))
    ] or results


def _worded(body: bytes, protocol: str, message: RequestMessage) -> Sequence[MessagePart]:
    """Return the parts whose words a protocol may use: hosts of open models tell tagged results in the vendor's messages."""
    results = message.of("result") if protocol == HERMES else ()
    are_texts = all(body.startswith(b'"', part.start) for part in results)
    return results if results and are_texts else message.of("text")


def _results_in(protocol: str, text: str) -> Sequence[tuple[MessagePart, int, int]]:
    """Return the results in a text, in order: each with its place in characters, and where its frame begins and ends."""
    results: list[tuple[MessagePart, int, int]] = []
    # Agents with a vendor's calls may write their history anew, with observations (smolagents).
    for form in _FORMS[protocol][1:] if protocol in _FORMS else (_OBSERVED,):
        for match in form.finditer(text) if not results else ():
            words, name = match["told"].strip(), match["name"].strip()
            start = match.end("told") - len(match["told"].lstrip())
            part = MessagePart(kind="result", text=words, start=start, end=start + len(words), name=name)
            if protocol == HERMES and name and words.startswith('"'):
                with suppress(ValueError):
                    part = replace(part, text=str(read_json(words)))
            results.append((part, *match.span()))
    return results


def _frames_in(protocol: str, text: str) -> Sequence[Addition]:
    """Return what a protocol adds to a message of the host's or the person's, in order, without overlaps."""
    added: list[Addition] = [(*match.span(), "details of the environment") for match in _DETAILS[-1].finditer(text)]
    added += [(*match.span(), "frames what was said") for match in _WORDS.finditer(text)]
    for result, first, last in _results_in(protocol, text):
        added = [span for span in added if span[1] <= first or span[0] >= last]
        added += [(first, result.start, "frames a result"), (result.end, last, "frames a result")]
    return sorted(span for span in added if span[0] < span[1])


def _instructions_in(protocol: str, prompt: str) -> Sequence[Addition]:
    """Return the lists of tools in a system prompt, and what teaches the protocol: from the first to the last paragraph about tools."""
    additions: list[Addition] = []
    start, is_behind_list = 0, False
    for chapter in (*_CHAPTERS.finditer(prompt), None):
        end = len(prompt) if chapter is None else chapter.start()
        is_list = chapter is not None and chapter["tools"] is not None
        about = list(_OF_TOOLS.finditer(prompt, start, end))
        if about:
            before, behind = prompt.rfind("\n\n", start, about[0].start()), prompt.find("\n\n", about[-1].end(), end)
            first = start if before < 0 or is_behind_list else before + 2
            last = end if behind < 0 or is_list else behind
            additions.append((first, last, f"teaches the tool protocol {protocol}"))
        if chapter is not None:
            start, is_behind_list = chapter.end(), is_list
            additions += [(end, start, "lists the tools")] if is_list else []
    return additions


def _place(body: bytes, parts: Sequence[MessagePart], character: int) -> int:
    """Return the byte at which a character of joined parts stands, which are JSON strings; behind them the last quote."""
    part, *behind = parts
    while behind and character > len(part.text):
        character -= len(part.text) + 1
        part, *behind = behind
    for run in _RUNS.finditer(body, part.start + 1, part.end - 1):
        size = len(run[0]) if run[1] is not None else 1
        if character < size:
            return run.start() + character
        character -= size
    return part.end - 1
