"""The forms of tool protocols of plain text: how prompts teach them, how results are told, and what hosts put around words.

All functions read texts alone. The forms were observed in hosts, tui-host among them; a model's calls are read by `llm.protocols`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from itertools import chain
from types import MappingProxyType
from typing import NamedTuple, TypeAlias

from tui_host.capture.json.reading import read_json
from tui_host.llm.messages import ToolSpec
from tui_host.llm.protocols.reader import HeldReader
from tui_host.llm.protocols.table import protocol
from tui_host.llm.protocols.tool_protocol import Reader

NATIVE, HERMES = "native", "hermes"
_FLAGS = re.DOTALL | re.MULTILINE


def _wrapping(first: str, inside: str, last: str) -> re.Pattern[str]:
    """Return the pattern of a wrapping. Nothing behind a first tag is searched beyond the next one, so that time stays linear."""
    return re.compile(rf"{first}{inside.replace('.*', f'(?:(?!{first}).)*?')}{last}", _FLAGS)


_OBSERVED = re.compile(r"^(?P<name>)Observation:[ \t]*(?P<told>.*?)(?=^Observation:|\Z)", _FLAGS)
_TOLD_OF = r"^Tool (?:result|error) for (?P<name>[^\n]*):\n(?P<told>.*?)(?=\n\nTool (?:result|error) for |\Z)"
_OF_JSON = (re.compile(_TOLD_OF, _FLAGS), re.compile(r"^(?P<name>)Tool execution result:\s*(?P<told>.*)\Z", _FLAGS))
_USED = r"\[(?:use_mcp_tool|access_mcp_resource) for '(?P<name>[^'\n]*)'\] Result:(?P<told>.*?)"
_CHERRY = r"\s*<name>(?P<name>[^<]*)</name>\s*<result>(?P<told>.*)"
_OLDER = "Here is the result of mcp tool use `"
_NAMED = r'\s*\{\s*"name"\s*:\s*"(?P<name>[^"\n]*)"\s*,\s*"content"\s*:(?P<told>.*)\}\s*'
FORMS: Mapping[str, tuple[re.Pattern[str], ...]] = MappingProxyType(
    {
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
)
"""Of each protocol what a prompt that teaches it holds, or an answer that follows it, and how hosts tell results.

Groups of results are `told`, and `name`: of the tool or the server, where it is said. The first protocol recognised counts.
"""
_DETAILS = tuple(
    _wrapping(f"<{name}>", ".*", f"</{name}>")
    for name in ("system-reminder", "session_context", "environment_context", "environment_details")
)
_WORDS = re.compile(r"<(?:task|feedback|answer|user_message)>\n?|\n?</(?:task|feedback|answer|user_message)>")
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
_MOST_TOOLS = 2000
_SERVERS = re.compile(r"^## ([^\n`]+?)(?: \(`.*)?$", re.MULTILINE)
"""Headings of servers in Cline's prompt; a model may read the servers' resources."""
Addition: TypeAlias = tuple[int, int, str]
"""First character, or byte, one past the last, and the purpose."""


def recognise(system: str) -> str:
    """Return the tool protocol that a prompt teaches; `native` if none."""
    return next((name for name, (sign, *_) in FORMS.items() if sign.search(system)), NATIVE)


class PromptedResult(NamedTuple):
    """A result in a text: `start` to `end` are its characters, `first` to `last` those with its frame. `name` is of tool or server."""

    name: str
    text: str
    start: int
    end: int
    first: int
    last: int


def results_in(name: str, text: str) -> Sequence[PromptedResult]:
    """Return the results in a message under a protocol, in order."""
    # Agents with a vendor's calls may write their history anew, with observations (smolagents).
    forms = FORMS[name][1:] if name in FORMS else (_OBSERVED,)
    matches = next(filter(None, (list(form.finditer(text)) for form in forms)), list[re.Match[str]]())
    results: list[PromptedResult] = []
    for match in matches:
        words = match["told"].strip()
        start = match.end("told") - len(match["told"].lstrip())
        results.append(PromptedResult(match["name"].strip(), words, start, start + len(words), *match.span()))
        if name == HERMES and match["name"] and words.startswith('"'):
            with suppress(ValueError):
                results[-1] = results[-1]._replace(text=str(read_json(words)))
    return results


def without_details(text: str) -> str:
    """Return a message's text without what hosts add to it and may leave out the next time."""
    for form in _DETAILS if "<" in text else ():
        text = form.sub("", text)
    return text.strip()


def said_in(text: str) -> str:
    """Return the person's words in a message's text, without wrappings and results."""
    for form in (*chain.from_iterable(results for _, *results in FORMS.values()), *_DETAILS, _WORDS):
        text = form.sub("", text)
    return text.strip()


def additions_in(name: str, text: str) -> Sequence[Addition]:
    """Return what a protocol adds to a message of the host's or the person's, in order, without overlaps."""
    added: list[Addition] = [(*match.span(), "details of the environment") for match in _DETAILS[-1].finditer(text)]
    added += [(*match.span(), "frames what was said") for match in _WORDS.finditer(text)]
    for result in results_in(name, text):
        added = [span for span in added if span[1] <= result.first or span[0] >= result.last]
        added += [(result.first, result.start, "frames a result"), (result.end, result.last, "frames a result")]
    return sorted(span for span in added if span[0] < span[1])


def instructions_in(name: str, prompt: str) -> Sequence[Addition]:
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
            additions.append((first, last, f"teaches the tool protocol {name}"))
        if chapter is not None:
            start, is_behind_list = chapter.end(), is_list
            additions += [(end, start, "lists the tools")] if is_list else []
    return additions


def listed_names(name: str, system: str) -> Sequence[str]:
    """Return the names of the tools that a prompt lists."""
    sections = _sections(system) if name == "cline" else {"": system}
    names: list[str] = []
    for server, text in sections.items() if name != NATIVE else ():
        tools = sorted({match[match.lastindex or 0] for match in _TOOLS.finditer(text)})[:_MOST_TOOLS]
        names += (f"{server}__{tool}" if server else tool for tool in tools)
    return names


def _sections(system: str) -> Mapping[str, str]:
    """Return the section of each server in Cline's prompt."""
    _, *pieces = _SERVERS.split(system.partition("# Connected MCP Servers")[2])
    return dict(zip(reversed(pieces[::2]), reversed(pieces[1::2]), strict=True))


def reader_of(name: str, system: str, *, is_own: bool) -> Reader:
    """Return a reader for one answer under a protocol. Other hosts than tui-host also run calls in prose and in code."""
    tools = [
        ToolSpec(name=tool, description="", schema={}, server="", tool=tool) for tool in listed_names(name, system)
    ]
    reads = "access_mcp_resource"
    for server in _sections(system) if name == "cline" else ():
        spoken = f"{server}__{reads}"
        tools.append(ToolSpec(name=spoken, description="", schema={}, server=server, tool=reads, resources=()))
    reader = protocol(name).reader(tools)
    return reader.anywhere() if isinstance(reader, HeldReader) and not is_own else reader
