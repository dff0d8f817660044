"""Reads a Chat Completions request, ours or another host's, as a tree of parts."""

from __future__ import annotations

from dataclasses import replace

from typing_extensions import override

from tui_host.capture.json.spans import Node
from tui_host.llm.outline import Part
from tui_host.llm.outline_parts import ROLES, ChatReader

_WALKED = ("tools", "messages", "function", "content", "tool_calls")


class OpenAIParts(ChatReader):
    """Makes the parts of a request's body."""

    walked = _WALKED

    @override
    def message_of(self, node: Node, key: str) -> Part:
        role = self.text(node.get("role"))
        content, calls = node.get("content"), node.get("tool_calls")
        if role == "tool":
            wire_id = self.text(node.get("tool_call_id"))
            name = self.called(wire_id) or self.text(node.get("name"))
            self.result_origin(name, content)
            return self.result(node, key, name, content, wire_id)
        children: list[Part] = []
        for name in ("reasoning_content", "reasoning"):
            thinking = node.get(name)
            if thinking is not None:
                children.append(replace(self.part(thinking, f"{key}/{name}", "thinking"), origin="model"))
        origin = ROLES.get(role, "")
        if content is not None and content.kind == "array":
            is_of_results = role == "user" and all(map(_is_image, content.elements))
            servers = self.image_origins(len(content.elements)) if is_of_results else ()
            owners = servers or [origin] * len(content.elements)
            origin = ", ".join(dict.fromkeys(servers)) or origin
            pieces = zip(content.elements, owners, strict=True)
            children += [self._piece(piece, f"{key}/{n}", owner) for n, (piece, owner) in enumerate(pieces)]
        elif content is not None and content.kind == "string" and content.size > 2 and (calls or children):
            children.append(replace(self.part(content, f"{key}/text", "text"), origin=origin))
        if calls is not None:
            children += [self._call(call, f"{key}/calls/{n}") for n, call in enumerate(calls.elements)]
        self.before.clear()
        plain = content if content is not None and content.kind == "string" else None
        message = self.message(node, key, role, children, plain)
        return message if message.origin == origin else replace(message, origin=origin)

    def _piece(self, node: Node, key: str, origin: str) -> Part:
        if _is_image(node):
            return replace(self.part(node, key, "image"), origin=origin, preview="")
        part = self.part(node, key, "text", self.text(node.get("type")) or "text")
        text = node.get("text")
        return replace(part if text is None else self.saying(part, text), origin=origin)

    def _call(self, node: Node, key: str) -> Part:
        name = self.text(node.get("function", "name"))
        return self.call(node, key, name, node.get("function", "arguments"), self.text(node.get("id")))


def _is_image(piece: Node) -> bool:
    return piece.get("image_url") is not None
