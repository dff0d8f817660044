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

from tui_host.llm.messages import Image, Message, Part, Role, Text, Thinking, ToolCall, ToolResult, ToolSpec
from tui_host.llm.protocols.native import answered
from tui_host.llm.protocols.tool_protocol import Injected, Prepared, Reader, ResultPlace
from tui_host.llm.request_writing import Tools
from tui_host.settings.protocol_prompts import INSTRUCTIONS, TOOLS, with_sections


@dataclass(slots=True)
class Words:
    """A text under construction, which records where injected words and results stand."""

    text: str = ""
    injected: list[tuple[int, int, str]] = field(default_factory=list[tuple[int, int, str]])
    told: list[tuple[str, int, int]] = field(default_factory=list[tuple[str, int, int]])
    own: tuple[int, int] | None = None

    def add(self, text: str, injected: str = "") -> None:
        """Add text; `injected` says what the protocol added it for, empty for other text."""
        start = len(self.text)
        self.text += text
        if injected and text:
            self.injected.append((start, len(self.text), injected))

    def add_result(self, call: str, text: str) -> None:
        """Add a call's result."""
        start = len(self.text)
        self.text += text
        self.told.append((call, start, len(self.text)))


class TextProtocol(ABC):
    """A tool protocol of plain text.

    Args:
        template: The system prompt, with the placeholders `{tools}` and `{instructions}`.
    """

    name: str
    reads_resources: bool = False
    stops: tuple[str, ...] = ()
    envelope: str = ""
    """The text that ends a result, such as a closing tag."""
    between: str = "\n"
    """The text between two results."""
    given: str = "arguments"
    """The word for a call's arguments."""

    def __init__(self, template: str) -> None:
        self._template = template

    @abstractmethod
    def reader(self, tools: Sequence[ToolSpec]) -> Reader:
        """Make a reader for an answer."""

    @abstractmethod
    def tool_list(self, tools: Sequence[ToolSpec]) -> str:
        """Return the prompt's list of tools."""

    @abstractmethod
    def call_words(self, call: ToolCall, tools: Sequence[ToolSpec]) -> str:
        """Write a call in the protocol's grammar."""

    @abstractmethod
    def framed(self, result: ToolResult, tools: Sequence[ToolSpec]) -> tuple[str, str, str]:
        """Return a result's text, between the text before it and the text behind it."""

    def spoken(self, name: str, tools: Sequence[ToolSpec]) -> str:
        """Return a tool's name as written in calls."""
        del tools
        return name

    def command(self, message: Message) -> str:
        """Return nothing: most grammars have no commands."""
        del message
        return ""

    def form(self, tool: ToolSpec | None) -> str:
        """Return the exact form of a call to a given tool, or to any tool."""
        name, tools = ("NAME", ()) if tool is None else (tool.name, (tool,))
        called = self.call_words(ToolCall(id="", wire_id="", name=name, arguments='{"key": "value"}'), tools)
        if tool is None:
            return called
        return f"{called}\n\nwith {self.given} by this schema: {json.dumps(tool.schema, ensure_ascii=False)}"

    def prepare(self, messages: Sequence[Message], tools: Sequence[ToolSpec]) -> Prepared:
        """Write the conversation in words; the first message is the protocol's prompt."""
        system = self._system(messages, tools)
        written = [_Written("system", system)]
        for message in answered(messages):
            if message.role == "assistant":
                written.append(_Written("assistant", Words(), message))
                self._assistant(message, written[-1], tools)
            elif message.role != "system":
                before = written[-1].of
                if written[-1].role == "user":  # some providers demand that user and model alternate
                    written[-1].words.add("\n\n")
                else:
                    written.append(_Written("user", Words(), message))
                self._from_user(message, written[-1], tools, before)
        return Prepared(
            messages=tuple(sent.message() for sent in written),
            stop_sequences=self.stops,
            injected=tuple(
                Injected(message=number, start=start, end=end, words=what)
                for number, sent in enumerate(written)
                for start, end, what in sent.words.injected
            ),
            own=() if system.own is None else (Injected(message=0, start=system.own[0], end=system.own[1], words=""),),
            told=tuple(
                ResultPlace(
                    call=call,
                    message=number,
                    start=start,
                    end=end,
                    note=self._note(sent.words.text[start:end]),
                )
                for number, sent in enumerate(written)
                for call, start, end in sent.words.told
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
        named = next((tool for tool in tools if _names(reasons, self.spoken(tool.name, (tool,)))), None)
        wrong = "; ".join(dict.fromkeys(reasons))
        return f"Your call could not be read: {wrong}. Nothing of it was run. The exact form is:\n\n{self.form(named)}"

    def user_words(self, words: Words, text: str, before: Message | None, tools: Sequence[ToolSpec]) -> None:
        """Write the user's words after a message (None for the first message); some protocols add a frame."""
        del before, tools
        words.add(text)

    def thought_words(self, thought: Thinking) -> str:
        """Write thinking as the imitated host sends it back; empty if that host leaves it out."""
        del thought
        return ""

    def _system(self, messages: Sequence[Message], tools: Sequence[ToolSpec]) -> Words:
        own = "\n\n".join(_text(message.parts) for message in messages if message.role == "system")
        words = Words()
        template = with_sections(self._template, resources=any(tool.resources is not None for tool in tools))
        template = template if INSTRUCTIONS in template else f"{INSTRUCTIONS}\n\n{template}"
        if not own:
            template = template.replace(INSTRUCTIONS, "")
        rest = template.strip()
        while rest:
            at = {placeholder: place for placeholder in (TOOLS, INSTRUCTIONS) if (place := rest.find(placeholder)) >= 0}
            if not at:
                words.add(rest, "teaches the tool protocol")
                break
            next_one = min(at, key=lambda placeholder: at[placeholder])
            before, _, rest = rest.partition(next_one)
            words.add(before, "teaches the tool protocol")
            if next_one == TOOLS:
                offered = tools if isinstance(tools, Tools) else Tools(tools)
                words.add(offered.text(self.name, self.tool_list), "lists the tools")
            else:
                words.own = (len(words.text), len(words.text) + len(own))
                words.add(own)
        return words

    def _from_user(
        self, message: Message, written: _Written, tools: Sequence[ToolSpec], before: Message | None
    ) -> None:
        results = [part for part in message.parts if isinstance(part, ToolResult)]
        if results:
            for number, result in enumerate(results):
                start, text, end = self.framed(result, tools)
                written.words.add(self.between if number else "")
                written.words.add(start, "frames a result")
                written.words.add_result(result.call.id, text)
                written.words.add(end, "frames a result")
        elif message.source == "host":
            written.words.add(_text(message.parts), "a word of the host")
        else:
            self.user_words(written.words, _text(message.parts), before, tools)
        parts = [*message.parts, *(part for result in results for part in result.content)]
        written.more += [part for part in parts if isinstance(part, Image)]

    def _assistant(self, message: Message, written: _Written, tools: Sequence[ToolSpec]) -> None:
        """Write the model's own words, up to the end of its last call."""
        words = written.words
        for part in message.parts:
            if isinstance(part, Thinking):
                thought = self.thought_words(part)
                if thought:
                    words.add(thought)
                else:
                    written.before.append(part)
            elif isinstance(part, Text):
                words.add(part.written or part.text)
            elif isinstance(part, ToolCall):
                before = "" if not words.text or words.text.endswith("\n") else "\n"
                words.add(before + (part.written or self.call_words(part, tools)))


@dataclass(slots=True)
class _Written:
    """A message under construction."""

    role: Role
    words: Words
    of: Message | None = None
    before: list[Part] = field(default_factory=list[Part])
    more: list[Part] = field(default_factory=list[Part])

    def message(self) -> Message:
        parts = (*self.before, Text(text=self.words.text), *self.more)
        return Message(
            role=self.role,
            parts=parts,
            stop=self.of.stop if self.of is not None else None,
            turn=self.of.turn if self.of is not None else 0,
            source="host" if self.of is None or self.of.role == "tool" else self.of.source,
        )


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
