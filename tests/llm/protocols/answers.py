"""Answers in every tool protocol's grammar, written by hand, and what reading one gives however it is cut."""

import itertools
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from tui_host.errors import JSON
from tui_host.llm.events import CutOff, ModelEvent, Stopped, TextDelta, ThinkingDelta
from tui_host.llm.fold import Fold
from tui_host.llm.messages import Message, Stop, Text, ToolSpec
from tui_host.llm.protocols.table import protocol
from tui_host.llm.protocols.tool_protocol import ToolProtocol
from tui_host.settings.paths import shipped

NUMBERS: JSON = {"type": "object", "properties": {each: {"type": "number"} for each in "ab"}, "required": ["a", "b"]}
TOOLS = tuple(
    ToolSpec(name=f"math__{name}", description=f"{name} two numbers", schema=NUMBERS, server="math", tool=name)
    for name in ("add", "multiply")
)
WORD: JSON = {"type": "object", "properties": {"word": {"type": "string"}}}
LOOK = ToolSpec(name="web__look", description="", schema=WORD, server="web", tool="look")
PLAIN = ("cline", "cherry", "json", "function", "react", "hermes")  # the protocols of plain text
SUM = '{"a": 6, "b": 5}'


def call(name: str, tool: str = "add", arguments: str = SUM, *, server: str = "math") -> str:
    """A call of one of the tools, as the protocol's prompt teaches it."""
    full = f"{server}__{tool}" if server == "math" else tool  # the hub's own go by their bare names
    match name:
        case "cline":
            return (
                f"<use_mcp_tool>\n<server_name>{server}</server_name>\n<tool_name>{tool}</tool_name>\n"
                f"<arguments>\n{arguments}\n</arguments>\n</use_mcp_tool>"
            )
        case "cherry":
            return f"<tool_use>\n  <name>{full}</name>\n  <arguments>{arguments}</arguments>\n</tool_use>"
        case "json":
            return f'{{"tool": "{full}", "arguments": {arguments}}}'
        case "function":
            return f'{{"function": "{full}", "parameters": {arguments}}}'
        case "react":
            return f"Action: {full}\nAction Input: {arguments}"
        case _:
            return f'<tool_call>\n{{"name": "{full}", "arguments": {arguments}}}\n</tool_call>'


def made_up(name: str) -> str:
    """What a model writes behind its call as if it had the result."""
    return {
        "cline": "[use_mcp_tool for 'math'] Result:\n12\n\nIt is 12.",
        "cherry": "<tool_use_result>\n  <name>math__add</name>\n  <result>12</result>\n</tool_use_result>\nIt is 12.",
        "json": "Tool result for math__add:\n12\n\nIt is 12.",
        "function": "The function gave 12.",
        "react": "Observation: 12\nThought: I know it.\nFinal Answer: 12",
        "hermes": '<tool_response>\n{"name": "math__add", "content": "12"}\n</tool_response>\nIt is 12.',
    }[name]


def speaking(name: str) -> ToolProtocol:
    template = shipped(f"protocols/{name}.md")
    return protocol(name, template.read_text(encoding="utf-8") if template.is_file() else "")


@dataclass(frozen=True, slots=True)
class Reading:
    """What an answer was read as: name and arguments of calls, the model's own words, the bytes that a call came with."""

    events: list[ModelEvent]  # neighbours that are text of one kind joined, without bytes
    shown: list[str]  # the visible text after each event that changed it
    calls: list[tuple[str, str]]
    written: list[str]
    spans: list[bytes]
    text: str
    thinking: str
    cut: str
    malformed: list[str]
    message: Message


def read(
    name: str, answer: str, cuts: Iterable[int] = (), *, stop: Stop = "end", tools: Sequence[ToolSpec] = TOOLS
) -> Reading:
    places = sorted({0, len(answer), *(cut for cut in cuts if 0 < cut < len(answer))})
    body = answer.encode("utf-8", "surrogatepass")
    fold = Fold(provider="p", model="m", call_id=str)
    reader = protocol(name).reader(tools)
    offset, shown, events = 0, list[str](), list[ModelEvent]()
    for start, end in itertools.pairwise(places):
        size = len(answer[start:end].encode("utf-8", "surrogatepass"))
        events += reader.feed(TextDelta(text=answer[start:end], start=offset, end=offset + size))
        offset += size
    events += reader.feed(Stopped(stop=stop, vendor="stop", start=offset, end=offset))
    events += reader.finish()
    for event in events:
        assert 0 <= event.start <= event.end <= len(body)
        fold.add(event)
        if isinstance(event, TextDelta):
            shown.append(fold.text)
    return Reading(
        events=joined(events),
        shown=shown,
        calls=[(found.call.name, found.call.arguments) for found in fold.calls],
        written=[found.call.written for found in fold.calls],
        spans=[body[found.spans[0][0] : found.spans[-1][1]] for found in fold.calls],
        text=fold.text,
        thinking=fold.thinking,
        cut="".join(piece.text for piece in fold.cut_off),
        malformed=[each.reason for each in fold.malformed],
        message=fold.message(turn=1),
    )


def joined(events: Sequence[ModelEvent]) -> list[ModelEvent]:
    """Events without bytes; texts of one kind that follow each other are one."""
    found: list[ModelEvent] = []
    for event in events:
        bare = replace(event, start=0, end=0)
        last = found[-1] if found else None
        if isinstance(bare, TextDelta | ThinkingDelta | CutOff) and isinstance(last, type(bare)):
            found[-1] = replace(bare, text=last.text + bare.text)
        else:
            found.append(bare)
    return found


def text_of(message: Message) -> str:
    return "".join(part.text for part in message.parts if isinstance(part, Text))
