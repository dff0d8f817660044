"""Shared by the dialects' outlines: makes parts from JSON nodes, lists tools, and finds the origins of messages."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import ClassVar

from typing_extensions import override

from tui_host.capture.json.spans import Node, spans
from tui_host.llm.outline import USER, Outline, Part, PartKind, estimate_tokens, preview

ROLES: Mapping[str, str] = {
    "system": "host",
    "developer": "host",
    "user": USER,
    "assistant": "model",
    "model": "model",
}
"""The origin of a message, by the vendors' names for its role."""
_MOST_SHOWN = 8
"""Parts of a message that its preview shows."""
_IMAGE = re.compile(rb"\(image \d+ of this step, [^()]*: see the next message\)")
"""How `request_writing.result_texts` announces an image."""


def members_of(root: Node) -> Iterator[tuple[str, str, Node]]:
    """Yield key, name and value of an object's members; if a name is repeated, its key gets a number."""
    seen: Counter[str] = Counter()
    for name, node in root.members:
        seen[name] += 1
        yield name if seen[name] == 1 else f"{name}#{seen[name]}", name, node


class PartReader(ABC):
    """Makes the parts of a body.

    Args:
        body: The exact bytes.
        names: Server and tool for each name that the model sees.

    Attributes:
        walked: The members that are parsed further.
        depth: How deep they are parsed.
    """

    walked: ClassVar[tuple[str, ...]]
    depth: ClassVar[int] = 8

    def __init__(self, body: bytes, names: Mapping[str, tuple[str, str]]) -> None:
        self.body = body
        self._names = names
        self._called: dict[str, str] = {}  # tool names by call id

    @classmethod
    def outline(cls, body: bytes, names: Mapping[str, tuple[str, str]]) -> Outline | None:
        """Read a body as a tree. None if the body is no JSON object.

        Args:
            body: The exact bytes.
            names: Server and tool for each name that the model sees.
        """
        root = spans(body, walk=cls.walked, depth=cls.depth)
        if root is None or root.kind != "object":
            return None
        reading = cls(body, names)
        return Outline(body=body, parts=tuple(reading.member(key, name, node) for key, name, node in members_of(root)))

    @abstractmethod
    def member(self, key: str, name: str, node: Node) -> Part:
        """Make a part from a member of the body."""

    def part(self, node: Node, key: str, kind: PartKind, label: str = "") -> Part:
        """Make a part from a node, with a preview."""
        return self._assembled(node, key, kind, label, node)

    def _assembled(  # noqa: PLR0913, PLR0917 - made at once: most bodies have hundreds, and each change is a copy
        self,
        node: Node,
        key: str,
        kind: PartKind,
        label: str,
        said: Node | None,
        name: str = "",
        origin: str = "",
        wire_id: str = "",
        children: tuple[Part, ...] = (),
        words: str = "",
    ) -> Part:
        """Make a part with the preview and place of its text, which is the node `said`; without it the preview is `words`."""
        return Part(
            key=key,
            kind=kind,
            label=label or kind,
            name=name,
            start=node.start,
            end=node.end,
            tokens=estimate_tokens(self.body[node.start : node.end]),
            origin=origin,
            preview=words if said is None else preview(self.body, said),
            says=(0, 0) if said is None else (said.start, said.end),
            wire_id=wire_id,
            children=children,
        )

    def saying(self, part: Part, node: Node | None) -> Part:
        """Return a part with the preview and place of its text, which is the node; both are empty without a node."""
        return replace(part, preview=self.shown(node), says=(0, 0) if node is None else (node.start, node.end))

    def option(self, node: Node, key: str, name: str) -> Part:
        """Make a part from a member that is neither tools nor messages."""
        return replace(self.part(node, key, "option"), name=name)

    def list_of(self, node: Node, key: str, kind: PartKind, children: tuple[Part, ...]) -> Part:
        """Make a part from the list of tools or of messages."""
        return self._assembled(node, key, kind, "", None, children=children)

    def text(self, node: Node | None) -> str:
        """Return the text of a string node."""
        return node.text(self.body) if node is not None else ""

    def shown(self, node: Node | None) -> str:
        """Return the preview of a node."""
        return preview(self.body, node) if node is not None else ""

    def origin_of(self, name: str) -> str:
        """Return the server behind a tool's name."""
        server_and_tool = self._names.get(name)
        return server_and_tool[0] if server_and_tool is not None else ""

    def tools(self, elements: tuple[Node, ...], key: str, *, within: str, schema: tuple[str, ...]) -> tuple[Part, ...]:
        """Make parts from a list of tools.

        Args:
            elements: The tools.
            key: The list's key.
            within: The member with a tool's name, description and schema; empty if the element has them.
            schema: The possible names of the schema's member.
        """
        seen: Counter[str] = Counter()
        parts: list[Part] = []
        for element in elements:
            described = (element.get(within) if within else None) or element
            name = self.text(described.get("name"))
            seen[name] += 1
            inner = f"{key}/{name}" if seen[name] == 1 else f"{key}/{name}#{seen[name]}"
            parts.append(self._tool(element, described, inner, name, schema))
        return tuple(parts)

    def _tool(self, element: Node, described: Node, key: str, name: str, schema: tuple[str, ...]) -> Part:
        origin = self.origin_of(name)
        children: list[Part] = []
        description = described.get("description")
        if description is not None:
            text = self.part(description, f"{key}/description", "text", "description")
            children.append(replace(text, origin=origin))
        form = next((node for member in schema if (node := described.get(member)) is not None), None)
        if form is not None:
            children.append(replace(self.part(form, f"{key}/schema", "schema"), origin=origin))
        words = children[0].preview if description is not None else ""
        whole = self.part(element, key, "tool")
        return replace(whole, name=name, origin=origin, preview=words, children=tuple(children))

    def call(self, node: Node, key: str, name: str, arguments: Node | None, wire_id: str = "") -> Part:
        """Make a part from a call; its id later leads from the result to the call."""
        if wire_id:
            self._called[wire_id] = name
        return self._assembled(node, key, "call", "", arguments, name, "model", wire_id)

    def called(self, wire_id: str) -> str:
        """Return the name of the tool called with an id."""
        return self._called.get(wire_id, "")

    def result(self, node: Node, key: str, name: str, content: Node | None, wire_id: str = "") -> Part:
        """Make a part from a call's result."""
        return self._assembled(node, key, "result", "tool result", content, name, self.origin_of(name), wire_id)

    def message(self, node: Node, key: str, role: str, children: list[Part], content: Node | None = None) -> Part:
        """Make a part from a message and its children; `content` is the message's text, if it has no list of parts."""
        shown = [child for child in children if child.kind != "thinking" and child.preview] or children
        words = " · ".join(f"{child.name} {child.preview}".strip() for child in shown[:_MOST_SHOWN] if child.preview)
        said = None if children else content
        return self._assembled(
            node, key, "message", role, said, origin=ROLES.get(role, ""), children=tuple(children), words=words
        )


class ChatReader(PartReader):
    """Makes the parts of a body whose tools are functions and whose messages are a list, as in Chat Completions.

    Attributes:
        before: The servers of the results directly before, each with the number of images that the result announces.
    """

    def __init__(self, body: bytes, names: Mapping[str, tuple[str, str]]) -> None:
        super().__init__(body, names)
        self.before: list[tuple[str, int]] = []

    def result_origin(self, name: str, content: Node | None) -> str:
        """Return the server of a result, and remember it for images in a message behind the results."""
        announced = () if content is None else _IMAGE.findall(self.body, content.start, content.end)
        self.before.append((self.origin_of(name) or "tool", len(announced)))
        return self.before[-1][0]

    def image_origins(self, count: int) -> Sequence[str]:
        """Return the servers of the images in a user's message without words; empty if no result stands before it."""
        servers = [server for server, announced in self.before for _ in range(announced)]
        either = " or ".join(dict.fromkeys(server for server, _ in self.before))
        return servers if len(servers) == count else [either] * count if either else ()

    @abstractmethod
    def message_of(self, node: Node, key: str) -> Part:
        """Make a part from a message."""

    @override
    def member(self, key: str, name: str, node: Node) -> Part:
        """Make a part from a member of the body."""
        if name == "tools" and node.kind == "array":
            tools = self.tools(node.elements, key, within="function", schema=("parameters",))
            return self.list_of(node, key, "tools", tools)
        if name == "messages" and node.kind == "array":
            children = tuple(self.message_of(inner, f"{key}/{n}") for n, inner in enumerate(node.elements))
            return self.list_of(node, key, "messages", children)
        return self.option(node, key, name)
