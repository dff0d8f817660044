"""The SDK's client over our dispatcher: it negotiates the version, stamps requests and follows streams of changes.

Results are given as received: the SDK would drop a whole list for one bad member, and a call's result after the tool has run.
"""

from __future__ import annotations

import importlib.metadata
from collections.abc import Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING

import mcp_types
from mcp.client._probe import negotiate_auto
from mcp.client.session import ClientSession
from mcp.shared.dispatcher import CallOptions
from mcp.shared.inbound import MCP_NAME_HEADER, encode_header_value
from mcp_types.version import MODERN_PROTOCOL_VERSIONS
from pydantic import ValidationError
from typing_extensions import override

from tui_host.capture.json.narrowing import as_json, mapping
from tui_host.errors import JSON
from tui_host.servers.outgoing_request import OutgoingRequest

if TYPE_CHECKING:
    from tui_host.servers.dispatcher import Peer
    from tui_host.servers.server_requests import ServerRequests
    from tui_host.settings.schema import Mode

TASKS = "io.modelcontextprotocol/tasks"  # the extension for calls that become tasks, of the stateless era alone
_version = cache(importlib.metadata.version)


class ServerClient(ClientSession):
    """A client that declares exactly what a server's entry permits. Enter it, then `introduce` it; then it knows the era, and what is `declared`."""

    def __init__(self, peer: Peer, requests: ServerRequests) -> None:
        ourselves = mcp_types.Implementation(name="tui-host", version=_version("tui-host"))
        super().__init__(dispatcher=peer, client_info=ourselves)
        self.peer = peer
        self.declared: Mapping[str, JSON] = {}
        self.is_stateless = False
        self._requests = requests

    async def introduce(self, mode: Mode) -> None:
        """Negotiate the version: by a probe that falls back to `initialize`, by `initialize` alone, or not at all."""
        match mode:
            case "auto":
                await negotiate_auto(self)
            case "legacy":
                await self.initialize()
            case _:  # a configured version is assumed, and nobody is asked
                self.adopt(
                    mcp_types.DiscoverResult(
                        supported_versions=[mode],
                        capabilities=mcp_types.ServerCapabilities(),
                        result_type="complete",
                        ttl_ms=0,
                        cache_scope="public",
                    )
                )
        self.is_stateless = self.protocol_version in MODERN_PROTOCOL_VERSIONS
        if self.server_capabilities is not None:
            capabilities = self.server_capabilities.model_dump(by_alias=True, mode="json", exclude_none=True)
            self.declared = mapping(as_json(capabilities))

    async def ask(
        self,
        method: str,
        params: Mapping[str, JSON] | None = None,
        *,
        outgoing: OutgoingRequest | None = None,
        name: str = "",
    ) -> Mapping[str, JSON]:
        """Send a request, and return its result as received. `name` is what it is about: by this header a gateway finds who has that."""
        stamped: dict[str, JSON] = dict(params or {})
        opts: CallOptions = {}
        self._stamp({"method": method, "params": stamped}, opts)
        if name:
            opts.setdefault("headers", {}).setdefault(MCP_NAME_HEADER, encode_header_value(name))
        return await self.peer.send_raw_request(method, stamped, opts, outgoing=outgoing)

    def problems_of(self, listed: Sequence[object]) -> list[str | None]:
        """Say what is wrong with each definition of a tool, and remember which arguments of the others go into headers."""
        read: list[mcp_types.Tool | str] = []
        for definition in listed:
            try:
                read.append(mcp_types.Tool.model_validate(definition, by_name=False))
            except ValidationError as error:
                first = error.errors(include_url=False, include_input=False)[0]
                read.append(": ".join(filter(None, ("malformed", ".".join(map(str, first["loc"])), first["msg"]))))
        good = [tool for tool in read if not isinstance(tool, str)]
        kept = self._absorb_tool_listing(mcp_types.ListToolsResult(tools=good), complete=False).tools
        names = {tool.name for tool in kept}
        refused = "its schema asks for headers that are not allowed (x-mcp-header)"
        problems = [refused if not isinstance(tool, str) and tool.name not in names else tool for tool in read]
        return [problem if isinstance(problem, str) else None for problem in problems]

    @override
    def _build_capabilities(self, version: str) -> mcp_types.ClientCapabilities:
        sampling = mcp_types.SamplingCapability(tools=mcp_types.SamplingToolsCapability())
        return mcp_types.ClientCapabilities(
            sampling=sampling if self._requests.has_sampling else None,
            elicitation=mcp_types.ElicitationCapability(
                form=mcp_types.FormElicitationCapability(), url=mcp_types.UrlElicitationCapability()
            ),
            roots=mcp_types.RootsCapability() if self._requests.has_roots else None,
            extensions={TASKS: {}} if version in MODERN_PROTOCOL_VERSIONS else None,
        )
