"""Makes the tree of a request's parts from a table that says where they stand in a dialect's body.

One walker reads the bodies of all dialects, ours or another host's: it finds the list of tools and the list of messages,
and in these each call, result, image and thought by the dialect's `Spot` for it. Everything else is text or an option.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

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
_EMPTY = len('""')
_IMAGE = re.compile(rb"\(image \d+ of this step, [^()]*: see the next message\)")
"""How `request_writing.result_texts` announces an image."""
_DEPTH = 10

Path: TypeAlias = tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Spot:
    """How an object is recognised as one kind of part, and where its name, id and text stand inside.

    Attributes:
        types: The values of its `type`, or
        roles: of its `role`, or
        members: a member that it has; the paths then begin inside this member.
    """

    types: tuple[str, ...] = ()
    roles: tuple[str, ...] = ()
    members: tuple[str, ...] = ()
    name: Path = ("name",)
    id: Path = ("id",)
    text: Path = ("text",)


@dataclass(frozen=True, slots=True, kw_only=True)
class Layout:
    """Where the parts of a request stand in a body.

    Attributes:
        messages: The member with the conversation.
        system: The members with the system prompt, if it is no message.
        content: The member of a message with its text, or its list of pieces.
        tool: The member of a tool with name, description and schema; empty if the tool has them itself.
        tool_lists: The members of an entry of the tools that hold several tools.
        schemas: The names of a tool's schema.
        calls: The member of a message with calls.
        images: The member of a message with images.
        thoughts: The members of a message with thinking.
        role: The role of a message that says none.
    """

    messages: str
    call: Spot
    result: Spot
    image: Spot
    thought: Spot
    system: tuple[str, ...] = ()
    content: str = "content"
    tool: str = ""
    tool_lists: tuple[str, ...] = ()
    schemas: tuple[str, ...] = ("parameters",)
    calls: str = ""
    images: str = ""
    thoughts: tuple[str, ...] = ()
    role: str = ""

    @property
    def walked(self) -> frozenset[str]:
        """The members to look into."""
        spots = (self.call, self.result, self.image, self.thought)
        inside = [name for spot in spots for name in (*spot.members, *spot.text, *spot.name[:-1])]
        own = ("tools", self.messages, *self.system, self.content, self.tool, *self.tool_lists, self.calls, self.images)
        return frozenset((*own, *inside, "parts", "summary"))


def outline_of(layout: Layout, body: bytes, names: Mapping[str, tuple[str, str]]) -> Outline | None:
    """Read a body as a tree. None if the body is no JSON object. `names` has server and tool for each tool name."""
    root = spans(body, walk=layout.walked, depth=_DEPTH)
    if root is None or root.kind != "object":
        return None
    walker = _Walker(layout, body, names)
    keys = _unique(name for name, _ in root.members)
    parts = (walker.member(key, name, node) for key, (name, node) in zip(keys, root.members, strict=True))
    return Outline(body=body, parts=tuple(parts))


def _unique(names: Iterable[str]) -> Sequence[str]:
    """Return the names; one that is repeated gets a number."""
    seen: Counter[str] = Counter()
    unique: list[str] = []
    for name in names:
        seen[name] += 1
        unique.append(name if seen[name] == 1 else f"{name}#{seen[name]}")
    return unique


class _Walker:
    def __init__(self, layout: Layout, body: bytes, names: Mapping[str, tuple[str, str]]) -> None:
        self._layout = layout
        self._body = body
        self._names = names
        self._called: dict[str, str] = {}  # tool names by call id
        self._announced: list[tuple[str, int]] = []  # servers of the results just before, with their numbers of images

    def member(self, key: str, name: str, node: Node) -> Part:
        """Make a part from a member of the body."""
        layout = self._layout
        if name == "tools" and node.kind == "array":
            return self._part(node, key, "tools", said=None, children=self._tools(node, key))
        if name == layout.messages and node.kind == "array":
            messages = tuple(self._message(inner, f"{key}/{n}") for n, inner in enumerate(node.elements))
            return self._part(node, key, "messages", said=None, children=messages)
        if name == layout.messages:
            return self._told(node, key, "user", [], node)
        if name in layout.system:
            if node.kind == "object":
                return self._message(node, key, "system")
            pieces = [self._piece(piece, f"{key}/{n}", "host") for n, piece in enumerate(node.elements)]
            return self._told(node, key, "system", pieces, node if node.kind == "string" else None)
        return self._part(node, key, "option", said=node, name=name)

    def _part(  # noqa: PLR0913 - made at once: most bodies have hundreds, and each change is a copy
        self,
        node: Node,
        key: str,
        kind: PartKind,
        *,
        said: Node | None,
        label: str = "",
        name: str = "",
        origin: str = "",
        wire_id: str = "",
        words: str = "",
        children: tuple[Part, ...] = (),
    ) -> Part:
        """Make a part with the preview and place of its text, which is the node `said`; without it the preview is `words`."""
        return Part(
            key=key,
            kind=kind,
            label=label or kind,
            name=name,
            start=node.start,
            end=node.end,
            tokens=estimate_tokens(self._body[node.start : node.end]),
            origin=origin,
            preview=words if said is None else preview(self._body, said),
            says=(0, 0) if said is None else (said.start, said.end),
            wire_id=wire_id,
            children=children,
        )

    def _text(self, node: Node | None) -> str:
        return node.text(self._body) if node is not None else ""

    def _server(self, name: str) -> str:
        return self._names.get(name, ("", ""))[0]

    def _tools(self, node: Node, key: str) -> tuple[Part, ...]:
        """List the tools. A list inside an entry stands for its tools; what else has no name is a tool of the vendor."""
        layout = self._layout
        found: list[tuple[Node, Node, str]] = []  # a tool, its description, and its name
        for entry in node.elements:
            described = entry.get(layout.tool) if layout.tool else None
            described = described or entry
            name = self._text(described.get("name"))
            lists = [listed for member, listed in entry.members if member in layout.tool_lists]
            inside = [inner for listed in lists for inner in listed.elements]
            found += [(inner, inner, full_name(self._text(inner.get("name")), name)) for inner in inside]
            if name or not layout.tool_lists:
                found += [] if lists else [(entry, described, name)]
            else:
                found += [(entry, entry, member) for member, _ in entry.members if member not in layout.tool_lists]
        keys = _unique([f"{key}/{name}" for _, _, name in found])
        return tuple(self._tool(*tool, tool_key) for tool, tool_key in zip(found, keys, strict=True))

    def _tool(self, node: Node, described: Node, name: str, key: str) -> Part:
        origin = self._server(name)
        children: list[Part] = []
        text = described.get("description")
        if text is not None:
            label = "description"
            children.append(self._part(text, f"{key}/description", "text", said=text, label=label, origin=origin))
        schema = _first(described, self._layout.schemas)
        if schema is not None:
            children.append(self._part(schema, f"{key}/schema", "schema", said=schema, origin=origin))
        words = children[0].preview if text is not None else ""
        whole = self._part(node, key, "tool", said=node, name=name, origin=origin, children=tuple(children))
        return replace(whole, preview=words)

    def _message(self, node: Node, key: str, role: str = "") -> Part:
        """Make a part from an element of the conversation: a message, or a call, result or thought that stands alone."""
        layout = self._layout
        part = self._call(node, key) or self._result(node, key) or self._thought(node, key)
        if part is not None:
            return part
        kind, role = self._text(node.get("type")), role or self._text(node.get("role")) or layout.role
        if kind not in {"", "message"} and not role:
            return self._part(node, key, "message", said=node, label=kind, origin="model")
        content, calls, images = node.get(layout.content), node.get(layout.calls), node.get(layout.images)
        origin = "host" if role == "system" else ROLES.get(role, "")
        children: list[Part] = []
        for name in layout.thoughts:
            thought = node.get(name)
            if thought is not None and thought.size > _EMPTY:
                children.append(self._part(thought, f"{key}/{name}", "thinking", said=thought, origin="model"))
        if content is not None and content.kind == "array":
            children += [self._piece(piece, f"{key}/{n}", origin) for n, piece in enumerate(content.elements)]
        elif (
            content is not None and content.size > _EMPTY and content.kind == "string" and (calls or images or children)
        ):
            children.append(self._part(content, f"{key}/text", "text", said=content, origin=origin))
        children += self._images(images, f"{key}/images", origin)
        for n, call in enumerate(calls.elements if calls is not None else ()):
            asked = self._call(call, f"{key}/calls/{n}")
            children += [asked] if asked is not None else []
        children, origin = self._owned(children, origin)
        self._announced.clear()
        is_plain = len(children) == 1 and children[0].kind == "text" and not children[0].children
        if content is not None and content.kind == "array" and is_plain:
            text = _words(content.elements[0])
            children, content = ([], text) if text is not None else (children, content)
        plain = content if content is not None and content.kind == "string" else None
        return replace(self._told(node, key, role, children, plain), origin=origin)

    def _images(self, node: Node | None, key: str, origin: str) -> list[Part]:
        images = enumerate(node.elements if node is not None else ())
        return [self._image(image, f"{key}/{n}", origin) for n, image in images]

    def _image(self, node: Node, key: str, origin: str) -> Part:
        return replace(self._part(node, key, "image", said=node, origin=origin), preview="")

    def _owned(self, children: list[Part], origin: str) -> tuple[list[Part], str]:
        """Say whose results a message holds, and whose images: those of the results in it, or just before it."""
        servers = [child.origin or "tool" for child in children if child.kind == "result"]
        images = [child for child in children if child.kind == "image"]
        if not children or len(servers) + len(images) < len(children):
            return children, origin
        if servers:
            return [replace(child, origin=child.origin or servers[0]) for child in children], servers[0]
        if not self._announced or origin != USER:
            return children, origin
        owners = [server for server, count in self._announced for _ in range(count)]
        either = " or ".join(dict.fromkeys(server for server, _ in self._announced))
        if len(owners) != len(images):
            owners = [either] * len(images)
        owned = [replace(image, origin=owner) for image, owner in zip(images, owners, strict=True)]
        return owned, ", ".join(dict.fromkeys(owners))

    def _told(self, node: Node, key: str, role: str, children: list[Part], content: Node | None) -> Part:
        """Make a part from a message and its children; `content` is the message's text, if it has no list of pieces."""
        shown = [child for child in children if child.kind != "thinking" and child.preview] or children
        words = " · ".join(f"{child.name} {child.preview}".strip() for child in shown[:_MOST_SHOWN] if child.preview)
        said = None if children else content
        origin = ROLES.get(role, "")
        return self._part(
            node, key, "message", said=said, label=role, origin=origin, words=words, children=tuple(children)
        )

    def _piece(self, node: Node, key: str, origin: str) -> Part:
        part = self._call(node, key) or self._result(node, key) or self._thought(node, key)
        if part is None and self._inside(node, self._layout.image) is not None:
            return self._image(node, key, origin)
        if part is None:
            text = _words(node)
            label = self._text(node.get("type")) or ("text" if text is not None else next(iter(node.members), ("",))[0])
            said = text if text is not None else node
            part = self._part(node, key, "text", said=said, label=label, origin=origin)
        return self._signed(part, node, key)

    def _signed(self, part: Part, node: Node, key: str) -> Part:
        signature = _first(node, ("thoughtSignature", "thought_signature"))
        if signature is None:
            return part
        key, origin = f"{key}/signature", part.origin
        child = self._part(signature, key, "thinking", said=signature, label="signature", origin=origin)
        return replace(part, children=(*part.children, child))

    def _inside(self, node: Node, spot: Spot) -> Node | None:
        """Return where the paths of a spot begin in a node, None if the node is no such part."""
        if spot.types and self._text(node.get("type")) in spot.types:
            return node
        if spot.roles and self._text(node.get("role")) in spot.roles:
            return node
        return _first(node, spot.members)

    def _call(self, node: Node, key: str) -> Part | None:
        spot = self._layout.call
        inside = self._inside(node, spot)
        if inside is None:
            return None
        name = full_name(self._text(inside.get(*spot.name)), self._text(inside.get("namespace")))
        wire_id = self._text(inside.get(*spot.id)) or self._text(node.get(*spot.id))
        if wire_id:
            self._called[wire_id] = name
        said = inside.get(*spot.text)
        return self._part(node, key, "call", said=said, name=name, origin="model", wire_id=wire_id)

    def _result(self, node: Node, key: str) -> Part | None:
        spot = self._layout.result
        inside = self._inside(node, spot)
        if inside is None:
            return None
        wire_id = self._text(inside.get(*spot.id))
        name = self._text(inside.get(*spot.name)) or self._called.get(wire_id, "")
        content, more = inside.get(*spot.text), inside.get("parts")
        if content is not None and len(content.members) == 1:
            content = content.members[0][1]  # Gemini wraps the text in an object
        origin = self._server(name)
        announced = () if content is None else _IMAGE.findall(self._body, content.start, content.end)
        self._announced.append((origin or "tool", len(announced)))
        pieces = content.elements if content is not None else ()
        children = [self._piece(piece, f"{key}/{n}", origin) for n, piece in enumerate(pieces)]
        words = next((child.preview for child in children if child.preview), "")
        children = children if len(children) > 1 else []
        children += self._images(node.get(self._layout.images), f"{key}/images", origin or "tool")
        children += [
            self._piece(piece, f"{key}/parts/{n}", origin) for n, piece in enumerate(more.elements if more else ())
        ]
        label = "tool result"
        part = self._part(
            node, key, "result", said=content, label=label, name=name, origin=origin, wire_id=wire_id, words=words
        )
        return replace(part, preview=words if pieces else part.preview, children=tuple(children))

    def _thought(self, node: Node, key: str) -> Part | None:
        spot = self._layout.thought
        inside = self._inside(node, spot)
        if inside is None or (spot.members and self._body[inside.start : inside.end] != b"true"):
            return None
        text = node.get(*spot.text)
        for name in ("summary", "content"):  # lists of pieces, in Responses
            listed = node.get(name)
            if text is None and listed is not None and listed.elements:
                text = listed.elements[0].get("text")
        words = preview(self._body, text) if text is not None else ""
        return replace(self._part(node, key, "thinking", said=text or node, origin="model"), preview=words)


def full_name(name: str, namespace: str) -> str:
    """Return the full name of a tool, since hosts may offer a server's tools in a namespace."""
    return f"{namespace}.{name}" if namespace and name else name


def _first(node: Node, names: Sequence[str]) -> Node | None:
    """Return the first of some members that is there."""
    return next((member for name in names if (member := node.get(name)) is not None), None)


def _words(piece: Node) -> Node | None:
    return piece.get("text") or piece.get("refusal")
