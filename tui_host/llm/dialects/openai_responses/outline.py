"""Reads a Responses request, ours or another host's, as a tree of parts."""

from __future__ import annotations

from dataclasses import replace

from typing_extensions import override

from tui_host.capture.json.spans import Node
from tui_host.llm.dialects.openai_responses.read import name_of_tool
from tui_host.llm.outline import Part
from tui_host.llm.outline_parts import ROLES, PartReader

_WALKED = ("tools", "input", "content", "output", "summary", "function")
_IMAGES = ("input_image", "input_file")


class ResponsesParts(PartReader):
    """Makes the parts of a request's body."""

    walked = _WALKED

    @override
    def member(self, key: str, name: str, node: Node) -> Part:
        if name == "tools" and node.kind == "array":
            return self.list_of(node, key, "tools", self._offered(node.elements, key))
        if name == "input" and node.kind == "array":
            children = tuple(self._item(inner, f"{key}/{n}") for n, inner in enumerate(node.elements))
            return self.list_of(node, key, "messages", children)
        if name == "input":
            return self.message(node, key, "user", [], node)
        if name == "instructions":
            return self.message(node, key, "system", [], node)
        return self.option(node, key, name)

    def _offered(self, elements: tuple[Node, ...], key: str) -> tuple[Part, ...]:
        """List the tools; a namespace is replaced by its tools."""
        plain = tuple(entry for entry in elements if entry.get("tools") is None)
        offered = list(self.tools(plain, key, within="", schema=("parameters",)))
        for entry in elements:
            tools = entry.get("tools")
            if tools is not None:
                space = self.text(entry.get("name"))
                inner = self.tools(tools.elements, f"{key}/{space}", within="", schema=("parameters",))
                offered += (replace(tool, name=name_of_tool(tool.name, space)) for tool in inner)
        return tuple(sorted(offered, key=lambda part: part.start))

    def _item(self, node: Node, key: str) -> Part:
        kind = self.text(node.get("type"))
        if kind == "function_call":
            name, wire_id = self.text(node.get("name")), self.text(node.get("call_id"))
            name = name_of_tool(name, self.text(node.get("namespace")))
            return self.call(node, key, name, node.get("arguments"), wire_id)
        if kind == "function_call_output":
            return self._result(node, key)
        if kind == "reasoning":
            return replace(self.part(node, key, "thinking"), origin="model", preview=self._thought(node))
        role = self.text(node.get("role"))
        if kind not in {"", "message"} and not role:
            return replace(self.part(node, key, "message", kind), origin="model")
        content = node.get("content")
        if content is None or content.kind != "array":
            return self.message(node, key, role, [], content)
        pieces = [
            self._piece(item_part, f"{key}/{n}", ROLES.get(role, "")) for n, item_part in enumerate(content.elements)
        ]
        is_plain = len(pieces) == 1 and pieces[0].kind == "text"
        plain = _said(content.elements[0]) if is_plain else None
        return self.message(node, key, role, [] if is_plain else pieces, plain)

    def _result(self, node: Node, key: str) -> Part:
        wire_id, output = self.text(node.get("call_id")), node.get("output")
        part = self.result(node, key, self.called(wire_id), output, wire_id)
        if output is None or output.kind != "array":
            return part
        inner = [self._piece(output_part, f"{key}/{n}", part.origin) for n, output_part in enumerate(output.elements)]
        words = next((child.preview for child in inner if child.preview), "")
        return replace(part, preview=words, children=tuple(inner) if len(inner) > 1 else ())

    def _piece(self, node: Node, key: str, origin: str) -> Part:
        kind = self.text(node.get("type"))
        if kind in _IMAGES:
            return replace(self.part(node, key, "image"), origin=origin, preview="")
        part = self.part(node, key, "text", kind or "text")
        text = _said(node)
        return replace(part if text is None else self.saying(part, text), origin=origin)

    def _thought(self, node: Node) -> str:
        """Return the readable text of a reasoning item."""
        text = [
            part
            for name in ("summary", "content")
            if (member := node.get(name)) is not None
            for part in member.elements
        ]
        return next((self.shown(part.get("text")) for part in text if part.get("text") is not None), "")


def _said(piece: Node) -> Node | None:
    return piece.get("text") or piece.get("refusal")
