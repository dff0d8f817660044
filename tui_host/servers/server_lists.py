"""What one server lists, read while it is ready, and read again when it says that something has changed."""

from __future__ import annotations

import math
from dataclasses import replace

import anyio
import mcp_types
from mcp.client.session import ClientSession
from mcp.client.subscriptions import SubscriptionLost, listen
from mcp.shared.exceptions import MCPError

from tui_host.errors import ServerError
from tui_host.servers.catalog import Resource, Tool
from tui_host.servers.list_pages import Fetch, read_pages
from tui_host.servers.repair import Repair
from tui_host.servers.server_faults import reason_of
from tui_host.servers.server_status import Standing
from tui_host.servers.spec_words import identity
from tui_host.servers.tool_definitions import changes, read_resources, read_tools, reader
from tui_host.settings.schema import ServerSpec

LIST_SECONDS = 30.0
DEBOUNCE_SECONDS = 1.0
LISTEN_AGAIN_SECONDS = 30.0


class Lists:
    """Reads the lists of one server.

    Args:
        spec: The configured server.
        standing: Where what was read is told.

    Attributes:
        is_read: All that it lists was read, as far as it can be.
    """

    def __init__(self, spec: ServerSpec, standing: Standing) -> None:
        self.is_read = False
        self._spec = spec
        self._standing = standing
        self._resources: tuple[Resource, ...] = ()
        self._news = anyio.Event()

    def offered(self, client: ClientSession | None) -> tuple[Tool, ...]:
        """What can be asked of it: its tools without those that have a problem, and what reads its resources if it has any.

        Args:
            client: What asks it, None where it cannot be asked now.
        """
        tools = tuple(tool for tool in self._standing.status.tools if tool.problem is None)
        if client is None or not self._declares(client, "resources"):
            return tools
        return (*tools, reader(self._spec.name, identity(self._spec), self._resources))

    def outdated(self) -> None:
        """It said that its tools have changed."""
        self._news.set()

    async def read_tools(self, client: ClientSession, repair: Repair) -> None:
        """Read the tools, and where they were read before say what is different from before.

        Raises:
            ServerError: The server does not answer in time.
            MCPError: It refuses.
        """
        if not self._declares(client, "tools"):
            return
        kept: list[frozenset[str]] = []

        async def fetch(params: mcp_types.PaginatedRequestParams | None) -> None:
            page = await client.list_tools(params=params)
            kept.append(frozenset(tool.name for tool in page.tools))

        seconds = self._seconds()
        try:
            listing = await read_pages("tools", fetch, seconds=seconds)
        except TimeoutError:
            raise ServerError(f"no answer to tools/list within {seconds:g} s", self._spec.name) from None
        tools = read_tools(
            listing.items,
            server=self._spec.name,
            identity=identity(self._spec),
            problem_of=repair.problem_of,
            kept=frozenset[str]().union(*kept) if len(kept) == listing.pages else None,  # it may have refused a page
        )
        told = changes(self._standing.status.tools, tools) if self._standing.status.state == "ready" else ()
        broken = tuple(f"{tool.name or 'a tool without a name'}: {tool.problem}" for tool in tools if tool.problem)
        self._standing.know(replace(self._standing.status, tools=tools))
        self._standing.notice(*told, *broken, *((listing.notice,) if listing.notice else ()))

    async def read_others(self, client: ClientSession) -> None:
        """Which resources and templates there are, and how many prompts; a server is ready without."""
        counts = [0, 0, 0]
        fetches: tuple[tuple[str, str, Fetch], ...] = (
            ("resources", "resources", lambda params: client.list_resources(params=params)),
            ("resources", "resourceTemplates", lambda params: client.list_resource_templates(params=params)),
            ("prompts", "prompts", lambda params: client.list_prompts(params=params)),
        )
        for number, (capability, key, fetch) in enumerate(fetches):
            if not self._declares(client, capability):
                continue
            try:
                listing = await read_pages(key, fetch, seconds=self._seconds())
            except (MCPError, TimeoutError, ValueError, RuntimeError) as error:
                self._standing.notice(f"{key} cannot be listed: {reason_of(error)[0] or 'no answer'}")
                continue
            counts[number] = len(listing.items)
            if capability == "resources":
                self._resources += read_resources(listing.items, is_template=key == "resourceTemplates")
            self._standing.know(replace(self._standing.status, resources=(counts[0], counts[1], counts[2])))
        self.is_read = True
        self._standing.know(self._standing.status)

    async def follow(self, client: ClientSession, repair: Repair) -> None:
        """Read the tools again after `list_changed`, once for as many as come within a second."""
        while True:
            await self._news.wait()
            await anyio.sleep(DEBOUNCE_SECONDS)
            self._news = anyio.Event()
            try:
                await self.read_tools(client, repair)
            except (MCPError, ServerError, ValueError, RuntimeError) as error:
                self._standing.notice(f"the tools could not be listed again: {reason_of(error)[0]}")

    async def listen(self, client: ClientSession) -> None:
        """In the stateless era changes come on a stream that is asked for; a stream that was lost may have missed some."""
        delay = 1.0
        while True:
            try:
                async with listen(client, tools_list_changed=True) as changes_of_tools:
                    delay = 1.0
                    async for _ in changes_of_tools:
                        self._news.set()
            except MCPError as error:
                if error.code == mcp_types.METHOD_NOT_FOUND:
                    return
            except (SubscriptionLost, TimeoutError):
                pass
            await anyio.sleep(delay)
            delay = min(delay * 2, LISTEN_AGAIN_SECONDS)
            self._news.set()

    def _declares(self, client: ClientSession, name: str) -> bool:
        if self._spec.mode == "2026-07-28":
            return True  # adopted without asking: what it declares is not known
        return getattr(client.server_capabilities, name, None) is not None

    def _seconds(self) -> float:
        if not self._spec.timeout:
            return math.inf
        return self._spec.timeout if self._spec.timeout > 60 else min(LIST_SECONDS, self._spec.timeout)


def announces(client: ClientSession) -> bool:
    """Whether a server says when its tools have changed."""
    declared = client.server_capabilities
    return declared is not None and declared.tools is not None and bool(declared.tools.list_changed)
