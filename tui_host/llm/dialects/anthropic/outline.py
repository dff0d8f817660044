"""Reads a Messages request, ours or another host's, as a tree of parts."""

from __future__ import annotations

from dataclasses import replace

from typing_extensions import override

from tui_host.capture.json.spans import Node
from tui_host.llm.outline import Part
from tui_host.llm.outline_parts import ROLES, PartReader

_WALKED = ("tools", "messages", "system", "content")
_THINKING = ("thinking", "redacted_thinking")


class AnthropicParts(PartReader):
    """Makes the parts of a request's body."""

    walked = _WALKED

    @override
    def member(self, key: str, name: str, node: Node) -> Part:
        if name == "tools" and node.kind == "array":
            tools = self.tools(node.elements, key, within="", schema=("input_schema",))
            return self.list_of(node, key, "tools", tools)
        if name == "messages" and node.kind == "array":
            children = tuple(self._message(inner, f"{key}/{n}") for n, inner in enumerate(node.elements))
            return self.list_of(node, key, "messages", children)
        if name == "system":
            blocks = [self._block(block, f"{key}/{n}", "host") for n, block in enumerate(node.elements)]
            return self.message(node, key, "system", blocks, node if node.kind == "string" else None)
        return self.option(node, key, name)

    def _message(self, node: Node, key: str) -> Part:
        role, content = self.text(node.get("role")), node.get("content")
        if content is None or content.kind != "array":
            return self.message(node, key, role, [], content)
        origin = ROLES.get(role, "")
        children = [self._block(block, f"{key}/{n}", origin) for n, block in enumerate(content.elements)]
        part = self.message(node, key, role, children)
        results = [child for child in children if child.kind == "result"]
        return replace(part, origin=results[0].origin or "tool") if results and len(results) == len(children) else part

    def _block(self, node: Node, key: str, origin: str) -> Part:
        kind = self.text(node.get("type"))
        if kind == "tool_use":
            return self.call(node, key, self.text(node.get("name")), node.get("input"), self.text(node.get("id")))
        if kind == "tool_result":
            return self._result(node, key)
        if kind == "image":
            return replace(self.part(node, key, "image"), origin=origin, preview="")
        if kind in _THINKING:
            words = self.shown(node.get("thinking"))
            return replace(self.part(node, key, "thinking"), origin="model", preview=words)
        part = self.part(node, key, "text", kind or "text")
        text = node.get("text")
        return replace(part if text is None else self.saying(part, text), origin=origin)

    def _result(self, node: Node, key: str) -> Part:
        wire_id, content = self.text(node.get("tool_use_id")), node.get("content")
        part = self.result(node, key, self.called(wire_id), content, wire_id)
        if content is None or content.kind != "array":
            return part
        inner = [self._block(block, f"{key}/{n}", part.origin) for n, block in enumerate(content.elements)]
        words = next((child.preview for child in inner if child.preview), "")
        return replace(part, preview=words, children=tuple(inner) if len(inner) > 1 else ())
