"""Reads a request of `/api/chat`, ours or another host's, as a tree of parts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from typing_extensions import override

from tui_host.capture.json.spans import Node
from tui_host.llm.outline import Part
from tui_host.llm.outline_parts import ROLES, ChatReader

_WALKED = ("tools", "messages", "function", "tool_calls", "images", "options")


class OllamaParts(ChatReader):
    """Makes the parts of a request's body."""

    walked = _WALKED

    @override
    def message_of(self, node: Node, key: str) -> Part:
        role, content = self.text(node.get("role")), node.get("content")
        images, calls, thinking = node.get("images"), node.get("tool_calls"), node.get("thinking")
        count = len(images.elements) if images is not None else 0
        if role == "tool":
            wire_id = self.text(node.get("tool_call_id"))
            name = self.text(node.get("tool_name")) or self.called(wire_id)
            children = self._images(images, key, [self.result_origin(name, content)] * count)
            return replace(self.result(node, key, name, content, wire_id), children=tuple(children))
        has_words = content is not None and content.size > len('""')
        servers = self.image_origins(count) if role == "user" and count and not has_words else ()
        origin = ", ".join(dict.fromkeys(servers)) or ROLES.get(role, "")
        children: list[Part] = []
        if thinking is not None:
            children.append(replace(self.part(thinking, f"{key}/thinking", "thinking"), origin="model"))
        if content is not None and has_words and (calls or images or children):
            children.append(replace(self.part(content, f"{key}/text", "text"), origin=origin))
        children += self._images(images, key, servers or [origin] * count)
        children += [self._call(call, f"{key}/calls/{n}") for n, call in enumerate(calls.elements if calls else ())]
        self.before.clear()
        return replace(self.message(node, key, role, children, content), origin=origin)

    def _images(self, node: Node | None, key: str, origins: Sequence[str]) -> list[Part]:
        images = zip(node.elements if node is not None else (), origins, strict=True)
        parts = [(self.part(image, f"{key}/images/{n}", "image"), origin) for n, (image, origin) in enumerate(images)]
        return [replace(part, origin=origin, preview="") for part, origin in parts]

    def _call(self, node: Node, key: str) -> Part:
        name = self.text(node.get("function", "name"))
        return self.call(node, key, name, node.get("function", "arguments"), self.text(node.get("id")))
