"""What the writers of Chat Completions and Ollama share: messages with roles, each result a message."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from typing_extensions import override

from tui_host.errors import JSON
from tui_host.llm.messages import Part, Text, ToolResult
from tui_host.llm.request_writing import RequestWriter
from tui_host.llm.tool_names import OPENAI_NAMES


class ChatWriter(RequestWriter):
    """Writes messages and tools; a dialect adds what the two do not share."""

    keeps_system = True
    around_tool = ({"type": "function"}, {})
    nests_tools = True
    shows_images = True  # whether a message with the images of results may follow the results
    names_tools = False  # whether a result names its tool, and has an id only if the call came with one

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
            written: dict[str, JSON] = {"role": "tool"}
            if self.names_tools:
                written["tool_name"] = OPENAI_NAMES.clean(result.call.name)
            if result.call.wire_id or not self.names_tools:
                written["tool_call_id"] = self.ids.of(result.call)
            yield {**written, "content": "\n".join(texts)}
        if images:  # no message may stand between the results of one step
            yield from self.user(images)
