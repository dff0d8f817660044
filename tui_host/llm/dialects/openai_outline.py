"""A Chat Completions request as a tree of parts, read out of its bytes: ours, or another host's."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import replace

from tui_host.llm.jsonspans import Node, spans
from tui_host.llm.outline import Outline, Part, PartKind, estimate_tokens, preview

_WALKED = ("tools", "messages", "function", "content", "tool_calls")
_ROLES = {"system": "host", "developer": "host", "user": "you", "assistant": "model"}


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
    return Outline(body=body, parts=tuple(reading.member(key, name, node) for key, name, node in _keyed(root)))


def _keyed(root: Node) -> Iterator[tuple[str, str, Node]]:
    seen: Counter[str] = Counter()
    for name, node in root.members:
        seen[name] += 1
        yield name if seen[name] == 1 else f"{name}#{seen[name]}", name, node


class _Reading:
    def __init__(self, body: bytes, names: Mapping[str, tuple[str, str]]) -> None:
        self._body = body
        self._names = names
        self._called: dict[str, str] = {}  # the tool's name by the call's id
        self._origin = ""  # of the results that stand directly before

    def member(self, key: str, name: str, node: Node) -> Part:
        """A member of the body."""
        if name == "tools" and node.kind == "array":
            return replace(self._part(node, key, "tools"), preview="", children=self._tools(node, key))
        if name == "messages" and node.kind == "array":
            children = tuple(self._message(inner, f"{key}/{n}") for n, inner in enumerate(node.elements))
            return replace(self._part(node, key, "messages"), preview="", children=children)
        return replace(self._part(node, key, "option"), name=name)

    def _part(self, node: Node, key: str, kind: PartKind, label: str = "") -> Part:
        return Part(
            key=key,
            kind=kind,
            label=label or kind,
            start=node.start,
            end=node.end,
            tokens=estimate_tokens(self._body[node.start : node.end]),
            preview=preview(self._body, node),
        )

    def _text(self, node: Node | None) -> str:
        return node.text(self._body) if node is not None else ""

    def _origin_of(self, name: str) -> str:
        known = self._names.get(name)
        return known[0] if known is not None else ""

    def _tools(self, node: Node, key: str) -> tuple[Part, ...]:
        seen: Counter[str] = Counter()
        found: list[Part] = []
        for element in node.elements:
            name = self._text(element.get("function", "name")) or self._text(element.get("name"))
            seen[name] += 1
            inner = f"{key}/{name}" if seen[name] == 1 else f"{key}/{name}#{seen[name]}"
            origin = self._origin_of(name)
            children: list[Part] = []
            description = element.get("function", "description")
            if description is not None:
                text = self._part(description, f"{inner}/description", "text", "description")
                children.append(replace(text, origin=origin))
            schema = element.get("function", "parameters")
            if schema is not None:
                children.append(replace(self._part(schema, f"{inner}/schema", "schema"), origin=origin))
            part = self._part(element, inner, "tool")
            words = children[0].preview if description is not None else ""
            found.append(replace(part, name=name, origin=origin, preview=words, children=tuple(children)))
        return tuple(found)

    def _message(self, node: Node, key: str) -> Part:
        role = self._text(node.get("role"))
        if role == "tool":
            return self._result(node, key)
        part = self._part(node, key, "message", role or "message")
        content, calls = node.get("content"), node.get("tool_calls")
        children: list[Part] = []
        for name in ("reasoning_content", "reasoning"):
            thinking = node.get(name)
            if thinking is not None:
                children.append(replace(self._part(thinking, f"{key}/{name}", "thinking"), origin="model"))
        origin = _ROLES.get(role, "")
        if content is not None and content.kind == "array":
            origin = self._origin if role == "user" and self._origin and _has_image(content) else origin
            children += [self._piece(piece, f"{key}/{n}", origin) for n, piece in enumerate(content.elements)]
        elif content is not None and content.kind == "string" and content.size > 2 and (calls or children):
            children.append(replace(self._part(content, f"{key}/text", "text"), origin=origin))
        if calls is not None:
            children += [self._call(call, f"{key}/calls/{n}") for n, call in enumerate(calls.elements)]
        self._origin = ""
        words = preview(self._body, content) if content is not None and content.kind == "string" else ""
        words = words or next((f"{child.name} {child.preview}".strip() for child in children if child.preview), "")
        return replace(part, origin=origin, preview=words, children=tuple(children))

    def _result(self, node: Node, key: str) -> Part:
        name = self._called.get(self._text(node.get("tool_call_id")), "")
        self._origin = self._origin_of(name) or "tool"
        content = node.get("content")
        words = preview(self._body, content) if content is not None else ""
        part = self._part(node, key, "result", "tool result")
        return replace(part, name=name, origin=self._origin_of(name), preview=words)

    def _piece(self, node: Node, key: str, origin: str) -> Part:
        image = node.get("image_url")
        if image is not None:
            return replace(self._part(node, key, "image"), origin=origin, preview="")
        part = self._part(node, key, "text", self._text(node.get("type")) or "text")
        text = node.get("text")
        return replace(part, origin=origin, preview=preview(self._body, text) if text is not None else part.preview)

    def _call(self, node: Node, key: str) -> Part:
        name = self._text(node.get("function", "name"))
        wire_id = self._text(node.get("id"))
        if wire_id:
            self._called[wire_id] = name
        arguments = node.get("function", "arguments")
        words = preview(self._body, arguments) if arguments is not None else ""
        return replace(self._part(node, key, "call"), name=name, origin="model", preview=words)


def _has_image(content: Node) -> bool:
    return any(piece.get("image_url") is not None for piece in content.elements)
