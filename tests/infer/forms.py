"""All ways in which hosts speak to models: the dialects of `tests/kit`, and what hosts say in plain text over one of them: Cline's XML,
Cherry Studio's, JSON, actions, and what open models are trained on.
"""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from tests.kit import bodies
from tests.kit.bodies import SYSTEM, Answer, Call, Entry, Results, User


@dataclass
class Spoken:
    """A dialect over HTTP; Chat Completions if nothing is said. `several` is whether an answer may hold several calls."""

    name: str = "openai"
    url: str = "https://api.example/v1/chat/completions"
    is_streamed: bool = True
    model: str = "gpt-x"
    several: bool = True

    def request(self, entries: Sequence[Entry], system: str = SYSTEM) -> bytes:
        return bodies.DIALECTS[self.name].request(entries, system=system, model=self.model)

    def response(self, answer: Answer) -> Sequence[bytes]:
        dialect = bodies.DIALECTS[self.name]
        return dialect.events(answer) if self.is_streamed else [dialect.whole(answer)]


GEMINI = "https://api.example/v1beta/models/gemini-x:generateContent"
DIALECTS: Mapping[str, Spoken] = {
    "openai": Spoken(),
    "openai-responses": Spoken("openai-responses", "https://api.example/v1/responses", is_streamed=False),
    "anthropic": Spoken("anthropic", "https://api.example/v1/messages", model="claude-x"),
    "gemini": Spoken("gemini", GEMINI, is_streamed=False),
    "gemini-cli": Spoken("gemini-cli", GEMINI, is_streamed=False),
    "ollama": Spoken("ollama", "http://127.0.0.1:11434/api/chat", model="qwen-x"),
}


@dataclass(frozen=True)
class Words:
    """A tool protocol of plain text: its prompt, a call as the model writes it, a result as the host tells it.

    `several` stands between the calls of an answer and between results, None where an answer has but one; `asks` is what the host makes of
    what a person says, `ends` what the model makes of its last answer, `behind` what the host puts behind each message of its own.
    """

    system: str
    call: Callable[[Call], str]
    told: Callable[[Call, str], str]
    several: str | None = None
    asks: Callable[[str, int], str] = lambda text, _: text
    ends: Callable[[str], str] = lambda text: text
    behind: str = ""


class Worded:
    def __init__(self, words: Words, dialect: Spoken) -> None:
        self._words = words
        self._dialect = dialect
        self.url = dialect.url
        self.several = words.several is not None

    def request(self, entries: Sequence[Entry], system: str = SYSTEM) -> bytes:
        return self._dialect.request(list(self._plain(entries)), f"{self._words.system}\n{system}")

    def response(self, answer: Answer) -> Sequence[bytes]:
        return self._dialect.response(Answer(self._said(answer), (), answer.thinking))

    def _plain(self, entries: Sequence[Entry]) -> Iterator[Entry]:
        words = self._words
        for number, entry in enumerate(entries):
            match entry:
                case User():
                    yield User(words.asks(entry.text, number) + words.behind)
                case Answer():
                    yield Answer(self._said(entry))
                case Results():
                    told = [words.told(call, text) for call, text in entry.told]
                    yield User((words.several or "\n").join(told) + words.behind)

    def _said(self, answer: Answer) -> str:
        if not answer.calls:
            return self._words.ends(answer.text)
        calls = [self._words.call(call) for call in answer.calls]
        return "\n\n".join(filter(None, [answer.text, (self._words.several or "\n").join(calls)]))


Form: TypeAlias = Spoken | Worded


def _use(call: Call) -> str:
    if call.name == "access_mcp_resource":
        server, uri = call.arguments["server_name"], call.arguments["uri"]
        return f"<{call.name}>\n<server_name>{server}</server_name>\n<uri>{uri}</uri>\n</{call.name}>"
    server, _, tool = call.name.partition("__")
    return (
        f"<thinking>I need {tool}.</thinking>\n\n<use_mcp_tool>\n<server_name>{server}</server_name>\n"
        f"<tool_name>{tool}</tool_name>\n<arguments>\n{call.text}\n</arguments>\n</use_mcp_tool>"
    )


def _used(call: Call, text: str) -> str:
    server, _, tool = call.name.partition("__")
    used = "use_mcp_tool" if tool else call.name
    return f"[{used} for '{server if tool else call.arguments['server_name']}'] Result:\n{text}"


def _tagged(text: str, number: int) -> str:
    tag = "feedback" if number else "task"
    return f"<{tag}>\n{text}\n</{tag}>"


_CLINE = (
    "You are Cline, a highly skilled software engineer.\n\n====\n\nTOOL USE\n\n## use_mcp_tool\nUsage:\n<use_mcp_tool>\n"
    "<server_name>server name here</server_name>\n<tool_name>tool name here</tool_name>\n<arguments>\n{}\n</arguments>\n"
    "</use_mcp_tool>\n\n====\n\nMCP SERVERS\n\n# Connected MCP Servers\n\n## math (`uvx math`)\n\n### Available Tools\n"
    "- add: Adds.\n    Input Schema:\n    {}\n\n## docs\n\n### Direct Resources\n- docs://1 (One): a page\n\n====\n\nRULES\n"
)
_DETAILS = "\n\n<environment_details>\n# VSCode Visible Files\n(none) 3 12 42\n# Current Mode\nACT MODE\n</environment_details>"
_CHERRY = (
    "In this environment you have access to a set of tools.\n\n## Tool Use Formatting\n\n<tool_use>\n  <name>{tool_name}</name>\n"
    "  <arguments>{json_arguments}</arguments>\n</tool_use>\n\n## Tool Use Available Tools\n<tools>\n\n<tool>\n"
    "  <name>math__add</name>\n  <description>Adds.</description>\n  <arguments>\n    {}\n  </arguments>\n</tool>\n</tools>\n"
)
_HERMES = "# Tools\n\n<tools>\n{}\n</tools>\n\nFor each call, return <tool_call>\n{}\n</tool_call>\n"
_REACT = "Tools:\n- math__add: Adds.\n\nThought: why\nAction: the tool\nAction Input: JSON\nObservation: given\n"


def _cherry(told: Callable[[Call, str], str]) -> Words:
    name, arguments = "  <name>{}</name>\n", "  <arguments>{}</arguments>\n"
    call = f"<tool_use>\n{name}{arguments}</tool_use>"
    return Words(_CHERRY, lambda asked: call.format(asked.name, asked.text), told, several="\n\n")


def words_of(names: Sequence[str]) -> Mapping[str, Words]:
    """The tool protocols of plain text; of some the prompt must name the tools."""
    listed = "\n\n".join(f"Tool: {name}\nDescription: It does.\nArguments:" for name in names)
    quoted = json.dumps
    return {
        "cline": Words(_CLINE, _use, _used, asks=_tagged,
            ends=lambda text: f"<attempt_completion>\n<result>\n{text}\n</result>\n</attempt_completion>",
            behind=_DETAILS),
        "cherry": _cherry(
            lambda call, text: (
                f"<tool_use_result>\n  <name>{call.name}</name>\n  <result>{text}</result>\n</tool_use_result>"
            )
        ),
        "older cherry": _cherry(lambda call, text: f"Here is the result of mcp tool use `{call.name}`:\n\n{text}"),
        "json": Words(f'{listed}\n\nRespond with:\n{{"tool": "tool-name", "arguments": {{"name": "value"}}}}\n',
            lambda call: f'{{"tool": {quoted(call.name)}, "arguments": {call.text}}}',
            lambda _, text: f"Tool execution result: {text}"),
        "function": Words(f'{listed}\n\nRespond with:\n{{"function": "name", "parameters": {{"name": "value"}}}}\n',
            lambda call: f'{{"function": {quoted(call.name)}, "parameters": {call.text}}}',
            lambda call, text: f"Tool result for {call.name}:\n{text}"),
        "react": Words(_REACT, lambda call: f"Thought: I need it.\nAction: {call.name}\nAction Input: {call.text}",
            lambda _, text: f"Observation: {text}", ends=lambda text: f"Thought: I know.\nFinal Answer: {text}"),
        "hermes": Words(
            _HERMES,
            lambda call: f'<tool_call>\n{{"name": {quoted(call.name)}, "arguments": {call.text}}}\n</tool_call>',
            lambda call, text: (
                f'<tool_response>\n{{"name": {quoted(call.name, ensure_ascii=False)}, '
                f'"content": {quoted(text, ensure_ascii=False)}}}\n</tool_response>'
            ),
            several="\n",
        ),
    }  # fmt: skip


NAMES: Sequence[str] = (*DIALECTS, *words_of(()))


def form(name: str, names: Sequence[str] = (), dialect: str = "openai") -> Form:
    """A dialect, or a tool protocol of plain text over one, whose prompt lists these tools."""
    return DIALECTS[name] if name in DIALECTS else Worded(words_of(names)[name], DIALECTS[dialect])


FORMS: Mapping[str, Form] = {
    name: DIALECTS.get(name) or Worded(words_of(())[name], Spoken(model="deepseek-chat")) for name in NAMES
}
