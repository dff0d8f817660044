"""Shared by the plain-text tool protocols: the prompt, the history in words, and where injected text and results stand.

No tool is declared in the vendor's API. The system prompt teaches the grammar and lists the tools, and results go back
as a user's message, so every model can use these protocols. `protocols.md` shows each of them.
"""

from __future__ import annotations

import json
import re
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field

from tui_host.llm.messages import Image, Message, Part, Text, Thinking, ToolCall, ToolResult, ToolSpec
from tui_host.llm.protocols.grammar import Grammar
from tui_host.llm.protocols.native import answered
from tui_host.llm.protocols.reader import TextReader
from tui_host.llm.protocols.tool_protocol import Injected, Prepared, ResultPlace
from tui_host.llm.request_writing import Tools
from tui_host.settings.protocol_prompts import INSTRUCTIONS, TOOLS, with_sections

_TEACHES, _LISTS, _FRAMES = "teaches the tool protocol", "lists the tools", "frames a result"


@dataclass(slots=True)
class Words:
    """A message under construction: its text, and the places of injected words, results and the user's own prompt."""

    of: Message
    text: str = ""
    injected: list[tuple[int, int, str]] = field(default_factory=list[tuple[int, int, str]])
    told: list[tuple[int, int, str]] = field(default_factory=list[tuple[int, int, str]])
    own: list[tuple[int, int, str]] = field(default_factory=list[tuple[int, int, str]])
    before: list[Part] = field(default_factory=list[Part])
    more: list[Part] = field(default_factory=list[Part])

    def add(self, text: str, injected: str = "") -> None:
        """Add text; `injected` says what the protocol added it for, empty for other text."""
        if injected and text:
            self.injected.append(self._place(text, injected))
        self.text += text

    def add_result(self, call: str, text: str) -> None:
        """Add a call's result."""
        self.told.append(self._place(text, call))
        self.text += text

    def add_own(self, text: str) -> None:
        """Add the user's own system prompt."""
        self.own.append(self._place(text, ""))
        self.text += text

    def _place(self, text: str, of: str) -> tuple[int, int, str]:
        return len(self.text), len(self.text) + len(text), of

    def message(self) -> Message:
        """Return the message as it is sent."""
        source = "host" if self.of.role in {"system", "tool"} else self.of.source
        role = "user" if self.of.role == "tool" else self.of.role
        parts = (*self.before, Text(text=self.text), *self.more)
        return Message(role=role, parts=parts, stop=self.of.stop, turn=self.of.turn, source=source)


class TextProtocol(ABC):
    """A tool protocol of plain text; its prompt has the placeholders `{tools}` and `{instructions}`."""

    name: str
    grammar: Grammar
    reads_resources: bool = False
    stops: tuple[str, ...] = ()
    envelope: str = ""
    """The text that ends a result, such as a closing tag."""
    between: str = "\n"
    """The text between two results."""
    given: str = "arguments"
    """The word for a call's arguments."""
    any_name: str = "NAME"

    def __init__(self, template: str) -> None:
        self._template = template

    @abstractmethod
    def tool_list(self, tools: Sequence[ToolSpec]) -> str:
        """Return the prompt's list of tools."""

    @abstractmethod
    def write(self, call: ToolCall, tools: Sequence[ToolSpec]) -> str:
        """Write a call in the protocol's grammar."""

    @abstractmethod
    def framed(self, result: ToolResult, tools: Sequence[ToolSpec]) -> tuple[str, str, str]:
        """Return a result's text, between the text before it and the text behind it."""

    def reader(self, tools: Sequence[ToolSpec]) -> TextReader:
        """Make a reader for an answer."""
        return TextReader(self.grammar, tools)

    def spoken(self, name: str, tools: Sequence[ToolSpec]) -> str:
        """Return a tool's name as written in calls."""
        del tools
        return name

    def command(self, message: Message) -> str:
        """Return nothing: most grammars have no commands."""
        del message
        return ""

    def user_words(self, words: Words, text: str, before: Message | None, tools: Sequence[ToolSpec]) -> None:
        """Write the user's words after a message (None for the first message); some protocols add a frame."""
        del before, tools
        words.add(text)

    def thought_words(self, thought: Thinking) -> str:
        """Write thinking as the imitated host sends it back; empty if that host leaves it out."""
        del thought
        return ""

    def prepare(self, messages: Sequence[Message], tools: Sequence[ToolSpec]) -> Prepared:
        """Write the conversation in words; the first message is the protocol's prompt."""
        written = [self._system(messages, tools)]
        for message in answered(messages):
            if message.role == "assistant":
                written.append(self._assistant(message, tools))
            elif message.role != "system":
                before = written[-1].of if len(written) > 1 else None
                if (
                    before is not None and before.role != "assistant"
                ):  # providers may demand that user and model alternate
                    written[-1].add("\n\n")
                else:
                    written.append(Words(message))
                self._from_user(message, written[-1], tools, before)
        numbered = list(enumerate(written))
        return Prepared(
            messages=tuple(words.message() for words in written),
            stop_sequences=self.stops,
            injected=tuple(
                Injected(message=number, start=start, end=end, words=what)
                for number, words in numbered
                for start, end, what in words.injected
            ),
            own=tuple(Injected(message=0, start=start, end=end, words="") for start, end, _ in written[0].own),
            told=tuple(
                ResultPlace(call=call, message=number, start=start, end=end, note=self._note(words.text[start:end]))
                for number, words in numbered
                for start, end, call in words.told
            ),
        )

    def _note(self, result: str) -> str:
        """Return a warning if a result contains the text that ends results."""
        return f"contains {self.envelope}, which ends a result" if self.envelope and self.envelope in result else ""

    def results(self, results: Sequence[ToolResult], *, turn: int) -> tuple[Message, ...]:
        """Make a message of the role `tool`. It is put in words only when sent, so a session may change its protocol."""
        return (Message(role="tool", parts=tuple(results), turn=turn),) if results else ()

    def answer(self, message: Message) -> str | None:
        """Return the answer inside a tag if there is one, else the text."""
        texts = [part for part in message.parts if isinstance(part, Text)]
        given = [part for part in texts if part.written]
        return "".join(part.text for part in given or texts) or None

    def correction(self, reasons: Sequence[str], tools: Sequence[ToolSpec]) -> str:
        """Tell the model the fault and the exact form of a call, and that nothing was run."""
        tool = next((tool for tool in tools if _names(reasons, self.spoken(tool.name, (tool,)))), None)
        name, named = (self.any_name, ()) if tool is None else (tool.name, (tool,))
        form = self.write(ToolCall(id="", wire_id="", name=name, arguments='{"key": "value"}'), named)
        if tool is not None:
            form += f"\n\nwith {self.given} by this schema: {json.dumps(tool.schema, ensure_ascii=False)}"
        wrong = "; ".join(dict.fromkeys(reasons))
        return f"Your call could not be read: {wrong}. Nothing of it was run. The exact form is:\n\n{form}"

    def _system(self, messages: Sequence[Message], tools: Sequence[ToolSpec]) -> Words:
        own = "\n\n".join(_text(message.parts) for message in messages if message.role == "system")
        words = Words(Message(role="system", parts=()))
        template = with_sections(self._template, resources=any(tool.resources is not None for tool in tools))
        template = template if INSTRUCTIONS in template else f"{INSTRUCTIONS}\n\n{template}"
        if not own:
            template = template.replace(INSTRUCTIONS, "")
        for piece in re.split(f"({re.escape(TOOLS)}|{re.escape(INSTRUCTIONS)})", template.strip()):
            if piece == TOOLS:
                offered = tools if isinstance(tools, Tools) else Tools(tools)
                words.add(offered.text(self.name, self.tool_list), _LISTS)
            elif piece == INSTRUCTIONS:
                words.add_own(own)
            else:
                words.add(piece, _TEACHES)
        return words

    def _from_user(self, message: Message, words: Words, tools: Sequence[ToolSpec], before: Message | None) -> None:
        results = [part for part in message.parts if isinstance(part, ToolResult)]
        for number, result in enumerate(results):
            start, text, end = self.framed(result, tools)
            words.add(self.between if number else "")
            words.add(start, _FRAMES)
            words.add_result(result.call.id, text)
            words.add(end, _FRAMES)
        if not results and message.source == "host":
            words.add(_text(message.parts), "a word of the host")
        elif not results:
            self.user_words(words, _text(message.parts), before, tools)
        parts = [*message.parts, *(part for result in results for part in result.content)]
        words.more += [part for part in parts if isinstance(part, Image)]

    def _assistant(self, message: Message, tools: Sequence[ToolSpec]) -> Words:
        """Write the model's own words, up to the end of its last call."""
        words = Words(message)
        for part in message.parts:
            if isinstance(part, Thinking):
                thought = self.thought_words(part)
                words.add(thought)
                words.before += [] if thought else [part]
            elif isinstance(part, Text):
                words.add(part.written or part.text)
            elif isinstance(part, ToolCall):
                before = "" if not words.text or words.text.endswith("\n") else "\n"
                words.add(before + (part.written or self.write(part, tools)))
        return words


def result_text(result: ToolResult) -> str:
    """Return a result in words, with the names of its images; the images follow the message's text."""
    texts = [block.text for block in result.content if isinstance(block, Text)]
    images = [f"[image: {block.media_type}]" for block in result.content if isinstance(block, Image)]
    return "\n\n".join(texts or images)


def _names(reasons: Sequence[str], name: str) -> bool:
    whole = re.compile(rf"(?<![\w-]){re.escape(name)}(?![\w-])")
    return any(whole.search(reason) for reason in reasons)


def _text(parts: Sequence[object]) -> str:
    return "".join(part.text for part in parts if isinstance(part, Text))
