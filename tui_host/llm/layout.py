"""Makes the tree of a request's parts from tables that say where they stand in a body.

One walker reads the bodies of all dialects, ours or another host's: it finds the list of tools and the list of messages,
and in these each call, result, image and thought. Everything else is text or an option. The tables hold the names of all
dialects side by side, for no name means one thing in one dialect and something else in another.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType

from tui_host.capture.json.spans import Node, spans
from tui_host.llm.outline import USER, Outline, Part, PartKind, estimate_tokens, preview

# The origin of a message, by the vendors' names for its role.
ROLES: Mapping[str, str] = {
    "system": "host",
    "developer": "host",
    "user": USER,
    "assistant": "model",
    "model": "model",
}
_MESSAGES = ("messages", "input", "contents")
_SYSTEM = ("system", "instructions", "systemInstruction", "system_instruction")
_CONTENT = ("content", "parts")
_TOOL_LISTS = ("tools", "functionDeclarations", "function_declarations")  # in an entry that holds several tools
_SCHEMAS = ("parameters", "input_schema", "parametersJsonSchema", "parameters_json_schema")
_CALLS, _IMAGES = "tool_calls", "images"
_THOUGHTS = ("reasoning_content", "reasoning", "thinking")  # beside the text, in Chat Completions and Ollama
_PLAIN = ("text", "input_text", "output_text", "refusal")
_MOST_SHOWN = 8  # parts in the preview of a message
_EMPTY = len('""')
_DEPTH = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class _Spot:
    """How an object is recognised as one kind of part: by its `type`, by its `role`, or by a member that it has."""

    types: tuple[str, ...] = ()
    roles: tuple[str, ...] = ()
    members: tuple[str, ...] = ()
    ids: tuple[str, ...] = ()  # these stand in it, or inside the member
    names: tuple[str, ...] = ("name",)
    texts: tuple[str, ...] = ()


_CALL = _Spot(
    types=("tool_use", "function_call"),
    members=("functionCall", "function_call", "function"),
    ids=("call_id", "id"),
    texts=("arguments", "input", "args"),
)
_RESULT = _Spot(
    types=("tool_result", "function_call_output"),
    roles=("tool",),
    members=("functionResponse", "function_response"),
    ids=("tool_call_id", "tool_use_id", "call_id", "id"),
    names=("tool_name", "name"),
    texts=("content", "output", "response"),
)
_IMAGE = _Spot(
    types=("image", "input_image", "input_file"),
    members=("image_url", "inlineData", "inline_data", "fileData", "file_data"),
)
_THOUGHT = _Spot(types=("thinking", "redacted_thinking", "reasoning"), members=("thought",))
_SPOTS = (_CALL, _RESULT, _IMAGE, _THOUGHT)
# The members to look into.
_WALKED = frozenset(
    (
        *(*_MESSAGES, *_SYSTEM, *_CONTENT, *_TOOL_LISTS, _CALLS, _IMAGES, "summary"),
        *(name for spot in _SPOTS for name in (*spot.members, *spot.texts)),
    )
)


def outline_of(body: bytes, names: Mapping[str, tuple[str, str]] = MappingProxyType({})) -> Outline | None:
    """Read a request's body, ours or another host's, as a tree with byte spans. None if the body is no JSON object.

    `names` has server and tool for each tool name, to show where parts come from.
    """
    root = spans(body, walk=_WALKED, depth=_DEPTH)
    if root is None or root.kind != "object":
        return None
    walker = _Walker(body, names)
    keys = _unique(name for name, _ in root.members)
    parts = (walker.member(key, name, node) for key, (name, node) in zip(keys, root.members, strict=True))
    return Outline(body=body, parts=tuple(parts))


def full_name(name: str, namespace: str) -> str:
    """Return the full name of a tool, since hosts may offer a server's tools in a namespace."""
    return f"{namespace}.{name}" if namespace and name else name


def _unique(names: Iterable[str]) -> Sequence[str]:
    seen: Counter[str] = Counter()
    unique: list[str] = []
    for name in names:
        seen[name] += 1
        unique.append(name if seen[name] == 1 else f"{name}#{seen[name]}")
    return unique


@dataclass(eq=False)
class _Walker:
    _body: bytes
    _names: Mapping[str, tuple[str, str]]
    _called: dict[str, str] = field(default_factory=dict[str, str])  # tool names by call id
    _servers: list[str] = field(default_factory=list[str])  # of the results just before

    def member(self, key: str, name: str, node: Node) -> Part:
        if name == "tools" and node.kind == "array":
            return self._part(node, key, "tools", children=self._tools(node, key))
        if name in _MESSAGES and node.kind == "array":
            messages = [self._message(inner, f"{key}/{n}") for n, inner in enumerate(node.elements)]
            return self._part(node, key, "messages", children=messages)
        if name not in {*_MESSAGES, *_SYSTEM}:
            return self._part(node, key, "option", said=node, name=name)
        role = "system" if name in _SYSTEM else "user"
        if node.kind == "object":
            return self._message(node, key, role)
        return self._told(node, key, role, self._pieces(node, key, ROLES[role]))

    def _part(  # noqa: PLR0913 - nearly all at once, for each change is a copy
        self,
        node: Node,
        key: str,
        kind: PartKind,
        *,
        said: Node | None = None,
        words: str | None = None,
        label: str = "",
        name: str = "",
        origin: str = "",
        children: Sequence[Part] = (),
    ) -> Part:
        if words is None:
            words = "" if said is None else preview(self._body, said)
        return Part(
            key=key,
            kind=kind,
            label=label or kind,
            name=name,
            start=node.start,
            end=node.end,
            tokens=estimate_tokens(self._body[node.start : node.end]),
            origin=origin,
            preview=words,
            says=(0, 0) if said is None else (said.start, said.end),
            children=tuple(children),
        )

    def _text(self, node: Node | None) -> str:
        return node.text(self._body) if node is not None else ""

    def _tools(self, node: Node, key: str) -> Sequence[Part]:
        """List the tools. A list inside an entry stands for its tools; what else has no name is a tool of the vendor."""
        found: list[tuple[Node, Node, str]] = []  # a tool, its description, and its name
        for entry in node.elements:
            described = entry.get("function") or entry
            name = self._text(described.get("name")) or self._text(entry.get("type"))
            lists = [listed for member, listed in entry.members if member in _TOOL_LISTS]
            inside = [inner for listed in lists for inner in listed.elements]
            found += [(inner, inner, full_name(self._text(inner.get("name")), name)) for inner in inside]
            if name and not lists:
                found.append((entry, described, name))
            elif not name:
                found += [(entry, entry, member) for member, _ in entry.members if member not in _TOOL_LISTS]
        keys = _unique([f"{key}/{name}" for _, _, name in found])
        tools: list[Part] = []
        for (tool, described, name), place in zip(found, keys, strict=True):
            origin, inner = self._names.get(name, ("", ""))[0], list[Part]()
            text, schema = described.get("description"), _first(described, _SCHEMAS)
            if text is not None:
                label = "description"
                inner.append(self._part(text, f"{place}/description", "text", said=text, label=label, origin=origin))
            words = inner[0].preview if inner else ""
            if schema is not None:
                inner.append(self._part(schema, f"{place}/schema", "schema", said=schema, origin=origin))
            tools.append(
                self._part(tool, place, "tool", said=tool, words=words, name=name, origin=origin, children=inner)
            )
        return tools

    def _message(self, node: Node, key: str, role: str = "") -> Part:
        """Make a part from an element of the conversation: a message, or a call, result or thought that stands alone."""
        alone = self._call(node, key) or self._result(node, key) or self._thought(node, key)
        if alone is not None:
            return alone
        kind, role = self._text(node.get("type")), role or self._text(node.get("role"))
        role = role or ("user" if node.get("parts") is not None else "")
        if kind not in {"", "message"} and not role:
            return self._part(node, key, "message", said=node, label=kind, origin="model")
        children = [
            self._part(thought, f"{key}/{name}", "thinking", said=thought, origin="model")
            for name, thought in node.members
            if name in _THOUGHTS and thought.end - thought.start > _EMPTY
        ]
        origin = ROLES.get(role, "")
        children += self._pieces(_first(node, _CONTENT), key, origin)
        children += self._images(node.get(_IMAGES), f"{key}/images", origin)
        calls = [self._call(call, f"{key}/calls/{n}") for n, call in enumerate(_elements(node.get(_CALLS)))]
        return self._told(node, key, role, [*children, *filter(None, calls)])

    def _told(self, node: Node, key: str, role: str, children: list[Part]) -> Part:
        origin = ROLES.get(role, "")
        # Results alone are their server's, and images alone are those of the results in the message, or just before it.
        before = " or ".join(dict.fromkeys(self._servers))
        self._servers.clear()
        servers = [child.origin or "tool" for child in children if child.kind == "result"]
        if children and all(child.kind in {"result", "image"} for child in children):
            if servers:
                origin, children = servers[0], [replace(child, origin=child.origin or servers[0]) for child in children]
            elif before and origin == USER:
                origin, children = before, [replace(image, origin=before) for image in children]
        shown = [child for child in children if child.kind != "thinking" and child.preview] or children
        words = " · ".join(f"{child.name} {child.preview}".strip() for child in shown[:_MOST_SHOWN] if child.preview)
        part = self._part(node, key, "message", words=words, label=role, origin=origin, children=children)
        if len(children) == 1 and children[0].label in _PLAIN and not children[0].children:
            return replace(part, says=children[0].says, children=())  # a lone text is the message's own
        return part

    def _images(self, node: Node | None, key: str, origin: str) -> list[Part]:
        images = enumerate(_elements(node))
        return [self._part(image, f"{key}/{n}", "image", said=image, words="", origin=origin) for n, image in images]

    def _pieces(self, node: Node | None, key: str, origin: str) -> list[Part]:
        if node is not None and node.kind == "string" and node.end - node.start > _EMPTY:
            return [self._part(node, f"{key}/text", "text", said=node, origin=origin)]
        parts: list[Part] = []
        for number, piece in enumerate(_elements(node)):
            place = f"{key}/{number}"
            part = self._call(piece, place) or self._result(piece, place) or self._thought(piece, place)
            if part is None and self._inside(piece, _IMAGE) is not None:
                part = self._part(piece, place, "image", said=piece, words="", origin=origin)
            elif part is None:
                text = _first(piece, ("text", "refusal"))
                member = "text" if text is not None else next(iter(piece.members), ("",))[0]
                label = self._text(piece.get("type")) or member
                part = self._part(piece, place, "text", said=text or piece, label=label, origin=origin)
            signature = _first(piece, ("thoughtSignature", "thought_signature"))  # of Gemini
            if signature is not None:
                place, label = f"{place}/signature", "signature"
                signed = self._part(signature, place, "thinking", said=signature, label=label, origin=part.origin)
                part = replace(part, children=(*part.children, signed))
            parts.append(part)
        return parts

    def _inside(self, node: Node, spot: _Spot) -> Node | None:
        if spot.types and self._text(node.get("type")) in spot.types:
            return node
        if spot.roles and self._text(node.get("role")) in spot.roles:
            return node
        return _first(node, spot.members)

    def _call(self, node: Node, key: str) -> Part | None:
        inside = self._inside(node, _CALL)
        if inside is None:
            return None
        name = full_name(self._text(_first(inside, _CALL.names)), self._text(inside.get("namespace")))
        wire_id = self._text(_first(inside, _CALL.ids) or _first(node, _CALL.ids))
        if wire_id:
            self._called[wire_id] = name
        said = _first(inside, _CALL.texts)
        return replace(self._part(node, key, "call", said=said, name=name, origin="model"), wire_id=wire_id)

    def _result(self, node: Node, key: str) -> Part | None:
        inside = self._inside(node, _RESULT)
        if inside is None:
            return None
        wire_id = self._text(_first(inside, _RESULT.ids))
        name = self._text(_first(inside, _RESULT.names)) or self._called.get(wire_id, "")
        origin = self._names.get(name, ("", ""))[0]
        self._servers.append(origin or "tool")
        content = _first(inside, _RESULT.texts)
        if content is not None and len(content.members) == 1:
            content = content.members[0][1]  # Gemini wraps the text in an object
        pieces = [] if content is None or content.kind == "string" else self._pieces(content, key, origin)
        words = next((piece.preview for piece in pieces if piece.preview), "") if pieces else None
        children = pieces if len(pieces) > 1 else []
        children += self._images(node.get(_IMAGES), f"{key}/images", origin or "tool")
        children += self._pieces(inside.get("parts"), f"{key}/parts", origin)  # Gemini's images
        part = self._part(node, key, "result", said=content, words=words, label="tool result", children=children)
        return replace(part, name=name, origin=origin, wire_id=wire_id)

    def _thought(self, node: Node, key: str) -> Part | None:
        inside = self._inside(node, _THOUGHT)
        if inside is None or (inside is not node and self._body[inside.start : inside.end] != b"true"):
            return None
        pieces = (*_elements(node.get("summary")), *_elements(node.get("content")))  # in Responses
        text = _first(node, ("thinking", "text")) or next((piece.get("text") for piece in pieces), None)
        words = preview(self._body, text) if text is not None else ""
        return self._part(node, key, "thinking", said=text or node, words=words, origin="model")


def _first(node: Node, names: Sequence[str]) -> Node | None:
    return next((member for name in names if (member := node.get(name)) is not None), None)


def _elements(node: Node | None) -> Sequence[Node]:
    return node.elements if node is not None else ()
