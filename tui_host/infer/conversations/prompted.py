"""The forms of tool protocols of plain text: how prompts teach them, how results are told, and what hosts put around words.

All functions read texts alone. The forms were observed in hosts, tui-host among them; a model's calls are read by `llm.protocols`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, pairwise
from types import MappingProxyType

from tui_host.capture.json.narrowing import said
from tui_host.capture.json.reading import read_json
from tui_host.capture.json.spans import spans
from tui_host.llm.messages import ToolSpec
from tui_host.llm.protocols.reader import HeldReader
from tui_host.llm.protocols.table import protocol
from tui_host.llm.protocols.tool_protocol import Reader

NATIVE, HERMES = "native", "hermes"
LISTS_TOOLS, FRAMES_RESULT = "lists the tools", "frames a result"
_MOST_TOOLS = 2000
_FLAGS = re.DOTALL | re.MULTILINE


def _wrapping(first: str, inside: str, last: str) -> re.Pattern[str]:
    """Return the pattern of a wrapping. Nothing behind a first tag is searched beyond the next one, so that time stays linear."""
    return re.compile(rf"{first}{inside.replace('.*', f'(?:(?!{first}).)*?')}{last}", _FLAGS)


@dataclass(frozen=True, slots=True, kw_only=True)
class PromptedForm:
    """A tool protocol in requests.

    Attributes:
        sign: What a prompt that teaches the protocol holds, or an answer that follows it.
        results: How hosts tell results: groups `name` (of the tool or the server, where it is said) and `told`.
    """

    sign: re.Pattern[str]
    results: tuple[re.Pattern[str], ...]


_OBSERVED = re.compile(r"^(?P<name>)Observation:[ \t]*(?P<told>.*?)(?=^Observation:|\Z)", _FLAGS)
_OF_JSON = (
    re.compile(
        r"^Tool (?:result|error) for (?P<name>[^\n]*):\n(?P<told>.*?)(?=\n\nTool (?:result|error) for |\Z)", _FLAGS
    ),
    re.compile(r"^(?P<name>)Tool execution result:\s*(?P<told>.*)\Z", _FLAGS),
)
_USED = r"\[(?:use_mcp_tool|access_mcp_resource) for '(?P<name>[^'\n]*)'\] Result:(?P<told>.*?)"
_CHERRY = r"\s*<name>(?P<name>[^<]*)</name>\s*<result>(?P<told>.*)"
_OLDER = "Here is the result of mcp tool use `"
FORMS: Mapping[str, PromptedForm] = MappingProxyType(
    {
        "cline": PromptedForm(
            sign=re.compile(r"<use_mcp_tool>|<attempt_completion>"),
            results=(re.compile(rf"{_USED}(?=\[\w+ for '[^'\n]*'\] Result:|<environment_details>|\Z)", _FLAGS),),
        ),
        "cherry": PromptedForm(
            sign=re.compile(r"<tool_use>"),
            results=(
                _wrapping("<tool_use_result>", _CHERRY, r"</result>\s*</tool_use_result>"),
                re.compile(rf"{_OLDER}(?P<name>[^`\n]*)`:(?P<told>.*?)(?={_OLDER}|\Z)", _FLAGS),
            ),
        ),
        HERMES: PromptedForm(
            sign=re.compile(r"<tool_call>"),
            results=(_wrapping("<tool_response>", "(?P<told>.*)", "</tool_response>(?P<name>)"),),
        ),
        "react": PromptedForm(
            sign=re.compile(r"^[^\w\n]*Action Input\W", re.MULTILINE),
            results=(_OBSERVED,),
        ),
        "json": PromptedForm(
            sign=re.compile(r'"tool"\s*:\s*"[^"]*",\s*"arguments"\s*:'),
            results=_OF_JSON,
        ),
        "function": PromptedForm(
            sign=re.compile(r'"function"\s*:\s*"[^"]*",\s*"parameters"\s*:'),
            results=_OF_JSON,
        ),
    }
)
"""The protocols by name; the first one recognised counts."""


def recognise(system: str) -> str:
    """Return the tool protocol that a prompt teaches; `native` if none."""
    return next((name for name, form in FORMS.items() if form.sign.search(system)), NATIVE)


# Results.


@dataclass(frozen=True, slots=True, kw_only=True)
class PromptedResult:
    """A result in a text, by characters: `start` to `end` what the model is told, `first` to `last` with what frames it.

    `name` is the name beside it, of the tool or of the server; empty if there is none.
    """

    name: str
    text: str
    start: int
    end: int
    first: int
    last: int


def results_in(name: str, text: str) -> Sequence[PromptedResult]:
    """Return the results in a message under a protocol, in order."""
    # Agents with a vendor's calls may write their history anew, with observations (smolagents).
    forms = FORMS[name].results if name in FORMS else (_OBSERVED,)
    by_form = (list(form.finditer(text)) for form in forms)
    return [_result(name, match) for match in next(filter(None, by_form), list[re.Match[str]]())]


def _result(protocol_name: str, match: re.Match[str]) -> PromptedResult:
    text = match["told"].strip()
    start = match.end("told") - len(match["told"].lstrip())
    name, low, high = match["name"].strip(), 0, len(text)
    if protocol_name == HERMES and (named := _named_result(text)) is not None:
        name, low, high, text = named
    return PromptedResult(
        name=name, text=text, start=start + low, end=start + high, first=match.start(), last=match.end()
    )


def _named_result(told: str) -> tuple[str, int, int, str] | None:
    """Return the tool's name, and range and text of the result, of an object that holds both; None for a bare result."""
    try:
        value, data = read_json(told), told.encode()
    except ValueError:
        return None
    root = spans(data, depth=2)
    node = root.get("content") if root is not None else None
    if node is None or not isinstance(value, dict) or value.keys() != {"name", "content"}:
        return None
    start, size = len(data[: node.start].decode()), len(data[node.start : node.end].decode())
    text = node.text(data) if node.kind == "string" else data[node.start : node.end].decode()
    return said(value["name"]), start, start + size, text


# Additions.


_DETAILS = tuple(
    _wrapping(f"<{name}>", ".*", f"</{name}>")
    for name in ("system-reminder", "session_context", "environment_context", "environment_details")
)
_WORDS = re.compile(r"<(?:task|feedback|answer|user_message)>\n?|\n?</(?:task|feedback|answer|user_message)>")
_MAY_BE_WRAPPED = re.compile(r"[<\[]|^Tool |^Observation:|Here is the result of mcp", re.MULTILINE)
"""What every result in words and every wrapping holds: most texts hold nothing of these."""
_TOOL_LISTS = (
    _wrapping("<tools>", r"\s*(?:[{\[]|<tool>).*", "</tools>"),
    re.compile(r"^# Connected MCP Servers\n.*?(?=^====|^# |\Z)", _FLAGS),
)
_OF_TOOLS = re.compile(r"\b(?i:tool|function)|\b(?:Action|Observation|Final ?Answer)\b|工具|函数")
"""Words of a paragraph that teaches a tool protocol."""
_OF_OTHER_THINGS = re.compile(
    r"^====\n+(?:EDITING FILES|ACT MODE|CAPABILITIES|SYSTEM INFORMATION|OBJECTIVE|USER'S CUSTOM INSTRUCTIONS)\b"
    r".*?(?=^====|\Z)|^# User Instructions\n.*?(?=^Now Begin!|\Z)",
    _FLAGS,
)
"""Chapters of hosts' prompts that do not teach a tool protocol."""


def without_details(text: str) -> str:
    """Return a message's text without what hosts add to it and may leave out the next time."""
    for form in _DETAILS if "<" in text else ():
        text = form.sub("", text)
    return text.strip()


def said_in(text: str) -> str:
    """Return the person's words in a message's text, without wrappings and results."""
    if _MAY_BE_WRAPPED.search(text) is None:
        return text.strip()
    for form in (*chain.from_iterable(form.results for form in FORMS.values()), *_DETAILS, _WORDS):
        text = form.sub("", text)
    return text.strip()


Addition = tuple[int, int, str]
"""First character, one past the last, and the purpose."""


def additions_in(name: str, text: str) -> Sequence[Addition]:
    """Return what a protocol adds to a message of the host's or the person's, in order, without overlaps."""
    results = results_in(name, text)
    added: list[Addition] = [
        *((result.first, result.start, FRAMES_RESULT) for result in results),
        *((result.end, result.last, FRAMES_RESULT) for result in results),
        *((*match.span(), "details of the environment") for match in _DETAILS[-1].finditer(text)),
        *((*match.span(), "frames what was said") for match in _WORDS.finditer(text)),
    ]
    inside = [(result.start, result.end) for result in results]
    return [
        (first, last, purpose)
        for first, last, purpose in sorted(added)
        if first < last and not any(start < last and first < end for start, end in inside)
    ]


def instructions_in(name: str, prompt: str) -> Sequence[Addition]:
    """Return the lists of tools in a system prompt, and what teaches the protocol.

    In each run of chapters that is what stands from the first to the last paragraph about tools.
    """
    lists = sorted(match.span() for form in _TOOL_LISTS for match in form.finditer(prompt))
    about = sorted([*(match.span() for match in _OF_TOOLS.finditer(prompt)), *lists])
    taught: list[tuple[int, int]] = []
    for start, end in _between(0, len(prompt), (match.span() for match in _OF_OTHER_THINGS.finditer(prompt))):
        inside = [span for span in about if start <= span[0] and span[1] <= end]
        if inside:
            first, last = prompt.rfind("\n\n", start, inside[0][0]), prompt.find("\n\n", inside[-1][1], end)
            taught += _between(max(first + 2, start) if first >= 0 else start, last if last >= 0 else end, lists)
    teaches = f"teaches the tool protocol {name}"
    return sorted([*((*span, LISTS_TOOLS) for span in lists), *((*span, teaches) for span in taught)])


def _between(start: int, end: int, taken: Iterable[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    """Yield the parts of a range that are not taken, in order."""
    for begin, stop in taken:
        if start < min(begin, end):
            yield start, min(begin, end)
        start = max(start, stop)
    if start < end:
        yield start, end


# Tools, and the calls in answers.


_TOOLS = re.compile(r'^[^\w\n]*Tool:\s*(\S+)|"name"\s*:\s*"([^"\s]+)"|^[^\w\n]*(\w[\w.-]*)(?=:\s)', re.MULTILINE)
"""Tool names in a prompt's list."""
_SERVERS = re.compile(r"^## ([^\n`]+?)(?: \(`.*)?$", re.MULTILINE)
"""Headings of servers in Cline's prompt; a model may read the servers' resources."""
_READS = "access_mcp_resource"


def listed_names(name: str, system: str) -> Sequence[str]:
    """Return the names of the tools that a prompt lists."""
    match name:
        case "native":
            return ()
        case "cline":
            return [f"{server}__{tool}" for server, text in _sections(system).items() for tool in _listed(text)]
        case _:
            return _listed(system)


def reader_of(name: str, system: str, *, is_own: bool) -> Reader:
    """Return a reader for one answer under a protocol. Other hosts than tui-host also run calls in prose and in code."""
    names = () if name == NATIVE else _listed(system)
    tools = [ToolSpec(name=tool, description="", schema={}, server="", tool=tool) for tool in names]
    for server in _sections(system) if name == "cline" else ():
        spoken = f"{server}__{_READS}"
        tools.append(ToolSpec(name=spoken, description="", schema={}, server=server, tool=_READS, resources=()))
    reader = protocol(name).reader(tools)
    return reader.anywhere() if isinstance(reader, HeldReader) and not is_own else reader


def _listed(text: str) -> Sequence[str]:
    return sorted({next(filter(None, match.groups())) for match in _TOOLS.finditer(text)})[:_MOST_TOOLS]


def _sections(system: str) -> Mapping[str, str]:
    """Return the section of each server in Cline's prompt."""
    listed = system.partition("# Connected MCP Servers")[2]
    heads = list(_SERVERS.finditer(listed))
    ends = [following.start() for _, following in pairwise(heads)]
    sections: dict[str, str] = {}
    for head, end in zip(heads, (*ends, len(listed)), strict=False):
        sections.setdefault(head[1], listed[head.end() : end])
    return sections
