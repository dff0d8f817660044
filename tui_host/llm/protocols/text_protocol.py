"""Shared by the plain-text tool protocols: the prompt, the history in words, and where injected text and results stand.

No tool is declared in the vendor's API. The system prompt teaches the grammar and lists the tools, and results go back
as a user's message, so every model can use these protocols. `protocols.md` shows each of them.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, replace

from typing_extensions import override

from tui_host.llm.messages import Image, Message, Part, Text, Thinking, ToolCall, ToolResult, ToolSpec
from tui_host.llm.protocols.grammar import Syntax
from tui_host.llm.protocols.reader import HeldReader
from tui_host.llm.protocols.tool_protocol import Prepared, Source, TextPlace, ToolProtocol, answered
from tui_host.llm.request_writing import Tools, json_text, text_of

TOOLS, INSTRUCTIONS = "{tools}", "{instructions}"
spaced_json = json.JSONEncoder(ensure_ascii=False).encode
# A section of a prompt that is used only if there are resources to read.
RESOURCES = re.compile(r"\{resources\}\n?(.*?)\{/resources\}\n?", re.DOTALL)


@dataclass(slots=True)
class Wording:
    """A message under construction: its text, with the places of what nobody wrote in the chat."""

    of: Message
    number: int
    text: str = ""
    places: list[TextPlace] = field(default_factory=list[TextPlace])
    before: list[Part] = field(default_factory=list[Part])
    more: list[Part] = field(default_factory=list[Part])

    def add(self, text: str, words: str = "", *, source: Source = "injected", call: str = "") -> None:
        """Add text; `words` say what it is there for, if it is not the conversation's own."""
        start, self.text = len(self.text), self.text + text
        if call or (text and (words or source != "injected")):
            self.places.append(
                TextPlace(source=source, message=self.number, start=start, end=len(self.text), words=words, call=call)
            )


class TextProtocol(ToolProtocol):
    """A tool protocol of plain text; its prompt has the placeholders `{tools}` and `{instructions}`."""

    grammar: Syntax
    # The forms of a tool in the prompt's list, of a call, and of what stands before and behind a result, to fill in:
    # `name`, `schema`, `given` (arguments) and so on, or as JSON `quoted`. What is around and between the listed tools.
    tool_form: str = ""
    list_form: tuple[str, str, str] = ("", "\n", "")
    call_form: str = ""
    result_form: tuple[str, str] = ("", "")
    quotes_results = False  # whether a result is written as a JSON string
    stops: tuple[str, ...] = ()
    # The tags of thinking that the imitated host sends back, and in which form: `line` has no white space behind it.
    thought_tags: Collection[str] = ()
    thought_form: str = "{tag}: {line}\n"
    envelope: str = ""  # what ends a result, such as a closing tag
    between: str = "\n"  # what stands between two results
    given: str = "arguments"  # the word for a call's arguments
    any_name: str = "NAME"

    def tool_list(self, tools: Sequence[ToolSpec]) -> str:
        """Return the prompt's list of tools."""
        first, between, last = self.list_form
        listed: list[str] = []
        for tool in tools:
            quoted = {"quoted": spaced_json(tool.name), "quoted_description": spaced_json(tool.description)}
            compact = json_text(tool.schema)
            schemas = {"schema": spaced_json(tool.schema), "compact_schema": compact}
            listed.append(self.tool_form % {"name": tool.name, "description": tool.description, **quoted, **schemas})
        return f"{first}{between.join(listed)}{last}"

    def write(self, call: ToolCall, tools: Sequence[ToolSpec]) -> str:
        """Write a call in the protocol's grammar."""
        del tools
        names = {"name": call.name, "quoted": spaced_json(call.name), "ascii": json.dumps(call.name)}
        return self.call_form % {**names, "written": call.arguments, "given": call.arguments.strip() or "{}"}

    def framed(self, result: ToolResult, tools: Sequence[ToolSpec]) -> tuple[str, str, str]:
        """Return a result's text, between the text before it and the text behind it."""
        del tools
        before, behind = self.result_form
        name, text = result.call.name, result_text(result)
        told = {"name": name, "quoted": spaced_json(name), "kind": "error" if result.is_error else "result"}
        return before % told, spaced_json(text) if self.quotes_results else text, behind

    def user_words(self, words: Wording, text: str, before: Message | None, tools: Sequence[ToolSpec]) -> None:
        """Write the user's words; `before` is None for the first message."""
        del before, tools
        words.add(text)

    @override
    def reader(self, tools: Sequence[ToolSpec], *, anywhere: bool = False) -> HeldReader:
        return HeldReader(self.grammar, tools, anywhere=anywhere)

    @override
    def prepare(self, messages: Sequence[Message], tools: Sequence[ToolSpec]) -> Prepared:
        """Write the conversation in words; the first message is the protocol's prompt."""
        written = [self._system(messages, tools)]
        for message in answered(messages):
            before = written[-1].of if len(written) > 1 else None
            if message.role == "system":
                continue
            if message.role == "assistant" or before is None or before.role == "assistant":
                written.append(Wording(message, len(written)))
            else:
                written[-1].add("\n\n")  # some providers demand that the roles alternate
            words = written[-1]
            if message.role == "assistant":
                for part in message.parts:
                    if isinstance(part, Thinking) and part.tag in self.thought_tags:
                        words.add(self.thought_form.format(tag=part.tag, text=part.text, line=part.text.rstrip()))
                    elif isinstance(part, Thinking):
                        words.before.append(part)
                    elif isinstance(part, Text):
                        words.add(part.written or part.text)
                    elif isinstance(part, ToolCall):
                        start = "" if not words.text or words.text.endswith("\n") else "\n"
                        words.add(start + (part.written or self.write(part, tools)))
            else:
                self._from_user(message, words, tools, before)
        prepared: list[Message] = []
        for words in written:
            source = "host" if words.of.role in {"system", "tool"} else words.of.source
            role = "user" if words.of.role == "tool" else words.of.role
            parts = (*words.before, Text(text=words.text), *words.more)
            prepared.append(replace(words.of, role=role, parts=parts, source=source))
        places = tuple(place for words in written for place in words.places)
        return Prepared(messages=tuple(prepared), stop_sequences=self.stops, places=places)

    @override
    def correction(self, reasons: Sequence[str], tools: Sequence[ToolSpec]) -> str:
        said, whole = "\n".join(reasons), r"(?<![\w-]){}(?![\w-])"
        names = ((tool, re.escape(self.spoken(tool.name, (tool,)))) for tool in tools)
        tool = next((tool for tool, name in names if re.search(whole.format(name), said)), None)
        name, named = (self.any_name, ()) if tool is None else (tool.name, (tool,))
        form = self.write(ToolCall(id="", wire_id="", name=name, arguments='{"key": "value"}'), named)
        if tool is not None:
            form += f"\n\nwith {self.given} by this schema: {spaced_json(tool.schema)}"
        return f"{super().correction(list(dict.fromkeys(reasons)), tools)} The exact form is:\n\n{form}"

    def _system(self, messages: Sequence[Message], tools: Sequence[ToolSpec]) -> Wording:
        own = "\n\n".join(text_of(message.parts) for message in messages if message.role == "system")
        words = Wording(Message(role="system", parts=()), 0)
        template = RESOURCES.sub(r"\1" if any(tool.resources is not None for tool in tools) else "", self._template)
        template = template if INSTRUCTIONS in template else f"{INSTRUCTIONS}\n\n{template}"
        if not own:
            template = template.replace(INSTRUCTIONS, "")
        for piece in re.split(f"({re.escape(TOOLS)}|{re.escape(INSTRUCTIONS)})", template.strip()):
            if piece == TOOLS:
                offered = tools if isinstance(tools, Tools) else Tools(tools)
                words.add(offered.text(self.name, self.tool_list), "lists the tools")
            elif piece == INSTRUCTIONS:
                words.add(own, source="profile")
            else:
                words.add(piece, "teaches the tool protocol")
        return words

    def _from_user(self, message: Message, words: Wording, tools: Sequence[ToolSpec], before: Message | None) -> None:
        results = [part for part in message.parts if isinstance(part, ToolResult)]
        for number, result in enumerate(results):
            words.add(self.between if number else "")
            start, text, end = self.framed(result, tools)
            is_closed = self.envelope and self.envelope in text
            words.add(start, "frames a result")
            note = f"contains {self.envelope}, which ends a result" if is_closed else ""
            words.add(text, note, source="told", call=result.call.id)
            words.add(end, "frames a result")
        if not results and message.source == "host":
            words.add(text_of(message.parts), "a word of the host")
        elif not results:
            self.user_words(words, text_of(message.parts), before, tools)
        parts = [*message.parts, *(part for result in results for part in result.content)]
        words.more += [part for part in parts if isinstance(part, Image)]


def result_text(result: ToolResult) -> str:
    """Return a result in words, with the names of its images; the images follow the message's text."""
    texts = [block.text for block in result.content if isinstance(block, Text)]
    images = [f"[image: {block.media_type}]" for block in result.content if isinstance(block, Image)]
    return "\n\n".join(texts or images)
