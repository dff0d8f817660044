"""Reads a generateContent request, ours or another host's, as a tree of parts."""

from __future__ import annotations

from dataclasses import replace

from typing_extensions import override

from tui_host.capture.json.spans import Node
from tui_host.llm.outline import Part
from tui_host.llm.outline_parts import ROLES, PartReader

_SYSTEM = ("systemInstruction", "system_instruction")
_DECLARATIONS = ("functionDeclarations", "function_declarations")
_CALL = ("functionCall", "function_call")
_RESULT = ("functionResponse", "function_response")
_IMAGE = ("inlineData", "inline_data", "fileData", "file_data")
_SIGNATURE = ("thoughtSignature", "thought_signature")
_SCHEMA = ("parametersJsonSchema", "parameters_json_schema", "parameters")
_WALKED = ("tools", "contents", "parts", "response", *_SYSTEM, *_DECLARATIONS, *_CALL, *_RESULT)


class GeminiParts(PartReader):
    """Makes the parts of a request's body."""

    walked = _WALKED
    depth = 10

    @override
    def member(self, key: str, name: str, node: Node) -> Part:
        if name == "tools" and node.kind == "array":
            return self.list_of(node, key, "tools", self._tools(node, key))
        if name == "contents" and node.kind == "array":
            children = tuple(self._content(inner, f"{key}/{n}") for n, inner in enumerate(node.elements))
            return self.list_of(node, key, "messages", children)
        if name in _SYSTEM:
            return self._content(node, key, role="system")
        return self.option(node, key, name)

    def _tools(self, node: Node, key: str) -> tuple[Part, ...]:
        """List the function declarations of all entries; tools of other kinds are run by the vendor."""
        declared: list[Node] = []
        more: list[Part] = []
        for number, entry in enumerate(node.elements):
            for name, value in entry.members:
                if name in _DECLARATIONS:
                    declared += value.elements
                else:
                    more.append(replace(self.part(entry, f"{key}#{number}/{name}", "tool"), name=name))
        return (*self.tools(tuple(declared), key, within="", schema=_SCHEMA), *more)

    def _content(self, node: Node, key: str, role: str = "") -> Part:
        role = role or self.text(node.get("role")) or "user"
        origin = "host" if role == "system" else ROLES.get(role, "")
        parts = node.get("parts")
        elements = parts.elements if parts is not None else ()
        text = [child for n, name in enumerate(elements) if (child := self._result(name, f"{key}/{n}")) is not None]
        if text:
            origin = text[0].origin or "tool"
        children = [self._content_part(name, f"{key}/{n}", origin) for n, name in enumerate(elements)]
        is_plain = len(children) == 1 and children[0].kind == "text" and not children[0].children
        plain = next((name.get("text") for name in elements), None) if is_plain else None
        message = self.message(node, key, role, [] if is_plain else children, plain)
        return replace(message, origin=origin)

    def _content_part(self, node: Node, key: str, origin: str) -> Part:
        result = self._result(node, key)
        if result is not None:
            return result
        call = _any(node, _CALL)
        if call is not None:
            part = self.call(node, key, self.text(call.get("name")), call.get("args"), self.text(call.get("id")))
            return self._signed(part, node, key)
        if _any(node, _IMAGE) is not None:
            return replace(self.part(node, key, "image"), origin=origin, preview="")
        text, thought = node.get("text"), node.get("thought")
        is_thought = thought is not None and self.body[thought.start : thought.end] == b"true"
        label = "text" if text is not None else next((name for name, _ in node.members), "text")
        part = self.part(node, key, "thinking" if is_thought else "text", "" if is_thought else label)
        part = replace(part if text is None else self.saying(part, text), origin=origin)
        return self._signed(part, node, key)

    def _signed(self, part: Part, node: Node, key: str) -> Part:
        signature = _any(node, _SIGNATURE)
        if signature is None:
            return part
        child = replace(self.part(signature, f"{key}/signature", "thinking", "signature"), origin=part.origin)
        return replace(part, children=(*part.children, child))

    def _result(self, node: Node, key: str) -> Part | None:
        text = _any(node, _RESULT)
        if text is None:
            return None
        response = text.get("response")
        content = response.members[0][1] if response is not None and len(response.members) == 1 else response
        part = self.result(node, key, self.text(text.get("name")), content, self.text(text.get("id")))
        more = text.get("parts")
        images = more.elements if more is not None else ()
        children = tuple(self._content_part(name, f"{key}/parts/{n}", part.origin) for n, name in enumerate(images))
        return replace(part, children=children)


def _any(node: Node, names: tuple[str, ...]) -> Node | None:
    """Return a member by either spelling of its name (the API accepts both)."""
    return next((member for name in names if (member := node.get(name)) is not None), None)
