"""A request of `/api/chat` as a tree of parts, read out of its bytes: ours, or another host's."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from tui_host.llm.jsonspans import Node, spans
from tui_host.llm.outline import Outline, Part
from tui_host.llm.outlining import ROLES, PartReader, members_of

_WALKED = ("tools", "messages", "function", "tool_calls", "images", "options")


def outline_of(body: bytes, names: Mapping[str, tuple[str, str]]) -> Outline | None:
    """The tree; None if the body is no JSON object.

    Args:
        body: The exact bytes.
        names: Server and tool for each name that the model sees.
    """
    root = spans(body, walk=_WALKED)
    if root is None or root.kind != "object":
        return None
    reading = _Reading(body, names)
    return Outline(body=body, parts=tuple(reading.member(key, name, node) for key, name, node in members_of(root)))


class _Reading(PartReader):
    def __init__(self, body: bytes, names: Mapping[str, tuple[str, str]]) -> None:
        super().__init__(body, names)
        self._origin = ""  # of the results that stand directly before

    def member(self, key: str, name: str, node: Node) -> Part:
        """A member of the body."""
        if name == "tools" and node.kind == "array":
            tools = self.tools(node.elements, key, within="function", schema=("parameters",))
            return self.list_of(node, key, "tools", tools)
        if name == "messages" and node.kind == "array":
            children = tuple(self._message(inner, f"{key}/{n}") for n, inner in enumerate(node.elements))
            return self.list_of(node, key, "messages", children)
        return self.option(node, key, name)

    def _message(self, node: Node, key: str) -> Part:
        role, content = self.text(node.get("role")), node.get("content")
        images, calls, thinking = node.get("images"), node.get("tool_calls"), node.get("thinking")
        if role == "tool":
            wire_id = self.text(node.get("tool_call_id"))
            name = self.text(node.get("tool_name")) or self.called(wire_id)
            self._origin = self.origin_of(name) or "tool"
            children = self._images(images, key, self._origin)
            return replace(self.result(node, key, name, content, wire_id), children=tuple(children))
        has_words = content is not None and content.size > len('""')
        origin = self._origin if role == "user" and self._origin and images and not has_words else ROLES.get(role, "")
        children: list[Part] = []
        if thinking is not None:
            children.append(replace(self.part(thinking, f"{key}/thinking", "thinking"), origin="model"))
        if content is not None and has_words and (calls or images or children):
            children.append(replace(self.part(content, f"{key}/text", "text"), origin=origin))
        children += self._images(images, key, origin)
        children += [self._call(call, f"{key}/calls/{n}") for n, call in enumerate(calls.elements if calls else ())]
        self._origin = ""
        return replace(self.message(node, key, role, children, content), origin=origin)

    def _images(self, node: Node | None, key: str, origin: str) -> list[Part]:
        found = enumerate(node.elements if node is not None else ())
        parts = [(self.part(image, f"{key}/images/{n}", "image")) for n, image in found]
        return [replace(part, origin=origin, preview="") for part in parts]

    def _call(self, node: Node, key: str) -> Part:
        name = self.text(node.get("function", "name"))
        return self.call(node, key, name, node.get("function", "arguments"), self.text(node.get("id")))
