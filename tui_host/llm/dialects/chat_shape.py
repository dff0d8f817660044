"""What Chat Completions and Ollama share: messages with roles, calls beside the text, each result a message."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from typing_extensions import override

from tui_host.errors import JSON
from tui_host.llm.answer_state import AnswerReader
from tui_host.llm.messages import Message, Part, Text, ToolCall, ToolResult, ToolSpec
from tui_host.llm.request_writing import RequestWriter, text_of
from tui_host.llm.thinktags import ThinkTags


class ChatWriter(RequestWriter):
    """Writes messages and tools; a dialect adds what the two do not share."""

    keeps_system = True
    shows_images = True  # whether a message with the images of results may follow the results

    @abstractmethod
    def said(self, message: Message, text: str, calls: Sequence[ToolCall]) -> dict[str, JSON]:
        """Return the members of an answer but for its role."""

    @abstractmethod
    def result(self, result: ToolResult, text: str) -> JSON: ...

    @override
    def tool(self, tool: ToolSpec) -> dict[str, JSON]:
        return {"type": "function", "function": super().tool(tool)}

    @override
    def answer(self, message: Message) -> Iterable[JSON]:
        text, calls = text_of(message.parts), [part for part in message.parts if isinstance(part, ToolCall)]
        if text or calls:  # an empty answer would be refused; it is only stored
            yield {"role": "assistant", **self.said(message, text, calls)}

    @override
    def results(self, results: Sequence[ToolResult]) -> Iterable[JSON]:
        images: list[Part] = []
        for result in results:
            texts: list[str] = []
            for part in self.taken(result.content):
                if isinstance(part, Text):
                    texts.append(part.text)
                elif not self.shows_images:
                    texts.append(f"(an image, {part.media_type}, which cannot be shown to you)")
                else:
                    images.append(part)
                    texts.append(f"(image {len(images)} of this step, {part.media_type}: see the next message)")
            yield self.result(result, "\n".join(texts))
        if images:  # no message may stand between the results of one step
            yield from self.user(images)


@dataclass(eq=False)
class ChatReader(AnswerReader):
    """Reads answers whose text may begin with thinking between tags, as open models write it."""

    def __post_init__(self) -> None:
        self.tags = ThinkTags(self)

    @override
    def closing(self) -> None:
        self.tags.finish()
        super().closing()
