"""Read which tools a request offers to its model, and which tools the offered names may stand for."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import TypeAlias

from tui_host.infer.asking.request_messages import Heard, Piece
from tui_host.infer.asking.text_protocols import listed_names
from tui_host.infer.same_result import written
from tui_host.infer.tool_aliases import (
    HUB,
    is_same_tool,
    names_another,
    names_server,
    prefixed,
    tool_without_prefix,
    tools_named,
)

_ALIKE = 200
"""Characters by which a tool's description is recognised, because hosts cut descriptions."""
_WORDS = 8
"""The least length of a description that proves anything."""
_Listed: TypeAlias = Mapping[str, str]
"""A server's tool descriptions by name; the same object while nothing changes."""


class Offers:
    """The tools that a request offers, through the vendor's API or in text.

    Args:
        names: The names of the tools offered by the vendor's API.
        protocol: The tool protocol.
        system: The pieces of the system prompt.
        messages: The conversation.
        body: The request's body.
    """

    def __init__(
        self, names: Sequence[str], protocol: str, system: Sequence[Piece], messages: Sequence[Heard], body: bytes
    ) -> None:
        self._names = names
        self._protocol = protocol
        self._prompt = "\n\n".join(piece.text for piece in system)
        self._texts = (*system, *(messages[0].of("text") if messages else ()))
        self._body = body
        # each entry with the list used, because a server may list other tools later
        self._offered: dict[tuple[str, str], tuple[_Listed | None, bool]] = {}
        self._aliases: dict[tuple[str, str, str], tuple[_Listed, bool]] = {}

    def may_ask_for(self, server: str, tool: str, listed: _Listed | None) -> bool:
        """Return whether the request offers a tool: through the API, a hub, or a mention in text."""
        key = (server, tool)
        cached = self._offered.get(key)
        if cached is None or cached[0] is not listed:
            cached = self._offered[key] = listed, self._is_offered(server, tool, listed)
        return cached[1]

    def _is_offered(self, server: str, tool: str, listed: _Listed | None) -> bool:
        if any(name.endswith(HUB) or self.means(name, server, tool, listed) for name in self._names):
            return True
        return bool(tool) and any(re.search(rf"(?<!\w){re.escape(tool)}(?!\w)", piece.text) for piece in self._texts)

    def means(self, name: str, server: str, tool: str, listed: _Listed | None) -> bool:
        """Return whether a name may stand for a server's tool, and not for a namesake on another server.

        Args:
            name: The name that the model uses.
            server: The server's name where the tool is known.
            tool: The tool's own name.
            listed: The server's tool descriptions by name; None where the server's name is only an address.
        """
        if not tools_named(name, [(server, tool)]):
            return False
        return listed is None or not names_another(name, server, tool) or self._has_alias(name, server, tool, listed)

    def _has_alias(self, name: str, server: str, tool: str, listed: _Listed) -> bool:
        """Return whether the name contains the host's own alias for a server, judged by the tools offered.

        All offered tools with this prefix are the server's, as described by the server; and no offered tool has the server's
        own name or another prefix before it.
        """
        key = (name, server, tool)
        cached = self._aliases.get(key)
        if cached is None or cached[0] is not listed:
            cached = self._aliases[key] = listed, self._is_alias(name, server, tool, listed)
        return cached[1]

    def _is_alias(self, name: str, server: str, tool: str, listed: _Listed) -> bool:
        words = listed.get(tool, "").strip()[:_ALIKE]
        prefix, names = prefixed(name, tool), self._names or listed_names(self._protocol, self._prompt)
        of_it = [tool_without_prefix(prefix, offered) for offered in names]
        return (
            len(words) >= _WORDS
            and name in names
            and all(any(is_same_tool(tail, own) for own in listed) for tail in of_it if tail)
            and not any(names_server(offered, server, own) for offered in names for own in listed)
            and not any(prefixed(offered, tool) not in {"", prefix} for offered in names)
            and any(form.encode("utf-8", "surrogatepass") in self._body for form in written(words))
        )
