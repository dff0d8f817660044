"""The exact part of a request that the tools of one server make, for each dialect and tool protocol."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tui_host.capture.json.narrowing import items, mapping
from tui_host.chat.offered_tools import Offer
from tui_host.llm.dialects.dialect import Target
from tui_host.llm.dialects.table import DIALECTS
from tui_host.llm.messages import Ask, Message, Text
from tui_host.llm.outline import estimate_tokens
from tui_host.llm.protocols.table import PROTOCOLS
from tui_host.llm.protocols.text_protocol import TextProtocol
from tui_host.llm.tool_names import TEXT_NAMES

if TYPE_CHECKING:
    from tui_host.errors import JSON
    from tui_host.llm.dialects.dialect import Dialect
    from tui_host.servers.catalog import Tool


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerPart:
    """What a server adds to each request.

    Attributes:
        dialect: Empty for protocols of plain text, whose prompt is the same in every dialect.
        pieces: The part, exactly as in the request: each tool's name and element of the tools' array, or the lines of the system
            prompt under an empty name.
        changes: What the dialect changed in schemas, each with the tool's name.
    """

    protocol: str
    dialect: str
    pieces: tuple[tuple[str, str], ...]
    changes: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        """The whole part."""
        return ",".join(text for _, text in self.pieces)

    @property
    def tokens(self) -> int:
        """Estimated tokens of the part."""
        return tokens_of(self.text)


def server_parts(tools: Sequence[Tool], server: str) -> Iterator[ServerPart]:
    """Yield the part of a server for `native` in each dialect, then for each protocol of plain text.

    Takes the tools of all ready servers, as offered: names depend on all of them.
    """
    for dialect in DIALECTS.values():
        yield _native(tools, server, dialect)
    for name, make in PROTOCOLS.items():
        made = make("")
        if isinstance(made, TextProtocol):
            yield _in_words(tools, server, name, made)


def _native(tools: Sequence[Tool], server: str, dialect: Dialect) -> ServerPart:
    shown = tuple(tool for tool in tools if tool.resources is None)
    offer = Offer.make(shown, dialect.name_rule, dialect.schema_rules, is_hub=False)
    own = {spec.name for spec in offer.specs if spec.server == server}
    question = Message(role="user", parts=(Text(text="…"),))
    body = dialect.write(Ask(model="model", messages=(question,), tools=offer.specs), Target(provider="")).body.decode()
    listed = items(mapping(json.loads(body)).get("tools"))
    declared = [function for tool in listed for function in items(mapping(tool).get("functionDeclarations")) or [tool]]
    pieces = tuple((str(_name(element)), _spelled(element, body)) for element in declared if _name(element) in own)
    changes = [f"{name}: {change}" for name in own & offer.adapted.keys() for change in offer.adapted[name].changes]
    return ServerPart(protocol="native", dialect=dialect.name, pieces=pieces, changes=tuple(sorted(changes)))


def _name(element: JSON) -> JSON:
    return mapping(element).get("name") or mapping(mapping(element).get("function")).get("name")


def _spelled(element: JSON, body: str) -> str:
    """Return an element as it is spelled in the body."""
    compact = json.dumps(element, ensure_ascii=False, separators=(",", ":"))
    return compact if compact in body else json.dumps(element, ensure_ascii=False)


def _in_words(tools: Sequence[Tool], server: str, name: str, protocol: TextProtocol) -> ServerPart:
    """Return the lines about the server's tools in the list of all tools."""
    shown = tuple(tool for tool in tools if tool.resources is None or protocol.reads_resources)
    rules = next(iter(DIALECTS.values())).schema_rules  # which change nothing in words
    specs = Offer.make(shown, TEXT_NAMES, rules, is_hub=False).specs
    own = [spec for spec in specs if spec.server == server]
    text = protocol.tool_list(own) if own else ""
    if text not in protocol.tool_list(specs):  # a list between tags
        text = "\n".join(text.split("\n")[1:-1]).strip("\n")
    return ServerPart(protocol=name, dialect="", pieces=(("", text),) if text else ())


def tokens_of(text: str) -> int:
    """Estimate the tokens of a text."""
    return estimate_tokens(text.encode("utf-8", "replace"))
