"""The tool protocols in plain text, on the model's side: finds tools in a prompt, reads calls and results; how a call is written.

Only the forms of this program's own prompts, of Cline and of Cherry Studio are known. Each protocol is a row of patterns.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from tui_host.demo.model.conversation import DemoCall
from tui_host.demo.model.json_values import parsed_object, text_at

_SERVER = re.compile(r"^## [`*]*([^\s`*(]+)", re.MULTILINE)
_FLAGS = re.DOTALL | re.MULTILINE


@dataclass(frozen=True, slots=True, kw_only=True)
class Grammar:
    """A tool protocol in plain text."""

    mark: re.Pattern[str]  # what a system prompt with this protocol contains
    tool: re.Pattern[str]  # the head of a tool in the prompt, with its `name`
    call: str  # a call, with `%(name)s` (JSON: `%(quoted)s`) and `%(arguments)s` to fill in
    calls: re.Pattern[str]  # a call in an answer, with `name` (or `server` and `tool`) and `arguments`
    results: re.Pattern[str]  # results in a user message, with `text`
    several: bool = False  # whether an answer may contain several calls

    def tools(self, prompt: str) -> tuple[str, ...]:
        """Read the names of the tools in a system prompt."""
        heads = self.tool.finditer(prompt)
        if self is not CLINE:
            return tuple(head["name"] for head in heads)
        # Cline lists the tools of each server below its name.
        return tuple(f"{_SERVER.findall(prompt[: head.start()])[-1]}__{head['name']}" for head in heads)

    def read(self, text: str) -> list[DemoCall]:
        """Find the calls in an answer of the model."""
        calls: list[DemoCall] = []
        for match in self.calls.finditer(text):
            names = match.groupdict()
            name = names.get("name") or f"{names['server']}__{names['tool']}"
            calls.append(DemoCall(name=name.strip(), arguments=match["arguments"].strip()))
        return calls

    def told(self, text: str) -> list[str]:
        """Return the results that a user message tells, in their order."""
        results = [match["text"].strip() for match in self.results.finditer(text)]
        if self is not HERMES:
            return results
        return [text_at(parsed_object(result), "content") or result for result in results]


def _json_grammar(tool: str, arguments: str) -> Grammar:
    """Return the grammar of an answer that is a JSON object: `{"tool": …, "arguments": …}`."""
    return Grammar(
        mark=re.compile(rf'\{{"{tool}": "'),
        tool=re.compile(r"^Tool: (?P<name>\S+)$", _FLAGS),
        call=f'{{"{tool}": %(quoted)s, "{arguments}": %(arguments)s}}',
        calls=re.compile(rf'^\{{"{tool}": "(?P<name>[^"\n]+)", "{arguments}": (?P<arguments>.*?)\}}$', _FLAGS),
        results=re.compile(r"^Tool result for [^\n:]+:\n(?P<text>.*?)(?=^Tool result for |\Z)", _FLAGS),
    )


CLINE = Grammar(
    mark=re.compile(r"<use_mcp_tool>"),
    tool=re.compile(r"^- (?P<name>[^\s:]+)(?::[^\n]*)?\n\s+Input Schema:", _FLAGS),
    call=(
        "<use_mcp_tool>\n<server_name>%(server)s</server_name>\n<tool_name>%(tool)s</tool_name>\n"
        "<arguments>\n%(arguments)s\n</arguments>\n</use_mcp_tool>"
    ),
    calls=re.compile(
        r"^<use_mcp_tool>\s*<server_name>(?P<server>.*?)</server_name>\s*<tool_name>(?P<tool>.*?)</tool_name>\s*"
        r"<arguments>(?P<arguments>.*?)</arguments>\s*</use_mcp_tool>",
        _FLAGS,
    ),
    results=re.compile(
        r"^(?:\[\w+(?: for '[^'\n]*')?\] Result:[ \t]*\n?|(?=The user denied|The tool execution failed))"
        r"(?P<text>.*?)(?=^\[\w+(?: for '[^'\n]*')?\] Result:|<environment_details>|\Z)",
        _FLAGS,
    ),
)
CHERRY = Grammar(
    mark=re.compile(r"<tool_use>"),
    tool=re.compile(r"<name>(?P<name>[^<\n]+)</name>\s*<description>", re.DOTALL),
    call="<tool_use>\n  <name>%(name)s</name>\n  <arguments>%(arguments)s</arguments>\n</tool_use>",
    calls=re.compile(
        r"^<tool_use>\s*<name>(?P<name>.*?)</name>\s*<arguments>(?P<arguments>.*?)</arguments>\s*</tool_use>", _FLAGS
    ),
    # The second form is the one in which Cherry Studio really sends results.
    results=re.compile(
        r"(?:<tool_use_result>\s*<name>.*?</name>\s*<result>|\AHere is the result of (?:mcp )?tool use [^\n]*\n)"
        r"(?P<text>.*?)(?:</result>\s*</tool_use_result>|\Z)",
        re.DOTALL,
    ),
    several=True,
)
HERMES = Grammar(
    mark=re.compile(r"<tool_call>"),
    tool=re.compile(r'"function": \{"name": "(?P<name>[^"]+)", "description":'),
    call='<tool_call>\n{"name": %(quoted)s, "arguments": %(arguments)s}\n</tool_call>',
    calls=re.compile(
        r'^<tool_call>\s*\{"name": "(?P<name>[^"\n]+)", "arguments": (?P<arguments>.*?)\}\s*</tool_call>', _FLAGS
    ),
    results=re.compile(r"<tool_response>(?P<text>.*?)</tool_response>", re.DOTALL),
    several=True,
)
REACT = Grammar(
    mark=re.compile(r"^Action Input:", re.MULTILINE),
    tool=re.compile(r"^- (?P<name>[^\s:]+):[^\n]*Input schema:", _FLAGS),
    call="Action: %(name)s\nAction Input: %(arguments)s",
    calls=re.compile(r"^Action: (?P<name>[^\n]+)\nAction Input:(?P<arguments>.*)", _FLAGS),
    results=re.compile(r"^Observation:(?P<text>.*?)(?=^Observation:|\Z)", _FLAGS),
)
GRAMMARS = (CLINE, CHERRY, HERMES, REACT, _json_grammar("function", "parameters"), _json_grammar("tool", "arguments"))
