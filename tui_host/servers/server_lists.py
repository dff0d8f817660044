"""A server's lists of tools, resources and prompts: read page by page within limits, and again after a change."""

from __future__ import annotations

import math
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

import anyio
import mcp_types
from mcp.client.session import ClientSession
from mcp.client.subscriptions import SubscriptionLost, listen
from mcp.shared.exceptions import MCPError
from mcp_types import METHOD_NOT_FOUND, PaginatedRequestParams
from pydantic import ValidationError

from tui_host.capture.json.narrowing import is_array
from tui_host.errors import ServerError
from tui_host.servers.catalog import Resource, Tool, identity
from tui_host.servers.outgoing_request import OutgoingRequest, current_request
from tui_host.servers.repair import Repair
from tui_host.servers.server_faults import reason_of
from tui_host.servers.server_status import StatusPublisher
from tui_host.servers.tool_definitions import changes, read_resources, read_tools, reader
from tui_host.settings.schema import ServerSpec

Fetch: TypeAlias = Callable[[PaginatedRequestParams | None], Awaitable[object]]
"""Requests one page."""

PAGES = 100
ITEMS = 10_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Listing:
    """The items of a list.

    Attributes:
        items: As received.
        pages: Number of pages read.
        notice: Why there may be more items, empty if the list is complete.
    """

    items: Sequence[object] = ()
    pages: int = 0
    notice: str = ""


async def read_pages(key: str, fetch: Fetch, *, seconds: float) -> Listing:
    """Read a list to its end, or to a limit. Source: MCP 2025-11-25, Pagination.

    Args:
        key: The member of a page that holds the items.
        fetch: Requests one page; its return value is ignored, the page is read as received.
        seconds: Time limit for all pages; pages received until then count.

    Raises:
            MCPError: The server refuses the first page, except for an unknown method.
            TimeoutError: No page came in time.
    """
    items: list[object] = []
    cursors: set[str] = set()
    cursor: str | None = None
    pages = 0
    with anyio.move_on_after(seconds) as scope:
        while True:
            try:
                page = await _page(fetch, cursor)
            except MCPError as error:
                if pages:
                    return Listing(items=items, pages=pages, notice=f"{key}: page {pages + 1} failed: {error}")
                if error.code == METHOD_NOT_FOUND:
                    return Listing()
                raise
            page_items = page.result.get(key) if page.result is not None else None
            pages += 1
            if not is_array(page_items):
                return Listing(items=items, pages=pages, notice=f"{key}: page {pages} is malformed")
            items += page_items
            following = page.result.get("nextCursor") if page.result is not None else None
            if not isinstance(following, str):  # the empty string is a cursor like any other
                return Listing(items=items, pages=pages)
            if following in cursors:
                return Listing(items=items, pages=pages, notice=f"{key}: page {pages} leads back to one before")
            if pages >= PAGES or len(items) >= ITEMS:
                notice = f"{key}: {len(items):,} on {pages} pages were read; there are more"
                return Listing(items=items, pages=pages, notice=notice)
            cursors.add(following)
            cursor = following
    if scope.cancelled_caught and not pages:
        raise TimeoutError
    return Listing(items=items, pages=pages, notice=f"{key}: {pages} pages came within {seconds:g} s; there are more")


async def _page(fetch: Fetch, cursor: str | None) -> OutgoingRequest:
    outgoing = OutgoingRequest()
    token = current_request.set(outgoing)
    try:
        await fetch(None if cursor is None else PaginatedRequestParams(cursor=cursor))
    except ValidationError:
        pass  # the SDK refuses the page; the raw result is still in the outgoing
    finally:
        current_request.reset(token)
    return outgoing


LIST_SECONDS = 30.0
DEBOUNCE_SECONDS = 1.0
LISTEN_AGAIN_SECONDS = 30.0


class Lists:
    """Reads the lists of a server.

    Args:
        spec: The configured server.
        publisher: Publishes the results.

    Attributes:
        is_read: Every list was read.
    """

    def __init__(self, spec: ServerSpec, publisher: StatusPublisher) -> None:
        self.is_read = False
        self._spec = spec
        self._publisher = publisher
        self._resources: tuple[Resource, ...] = ()
        self._news = anyio.Event()

    def offered(self, client: ClientSession | None) -> tuple[Tool, ...]:
        """Return the callable tools: those without a problem, plus the resource reader if the server has resources.

        Args:
            client: The connected client, None while there is none.
        """
        tools = tuple(tool for tool in self._publisher.status.tools if tool.problem is None)
        if client is None or not self._declares(client, "resources"):
            return tools
        return (*tools, reader(self._spec.name, identity(self._spec), self._resources))

    def mark_outdated(self) -> None:
        """Note that the server announced changed tools."""
        self._news.set()

    async def read_tools(self, client: ClientSession, repair: Repair) -> None:
        """Read the tools, and publish the differences to an earlier listing.

        Raises:
            ServerError: The server does not answer in time.
            MCPError: The server refuses.
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
            kept=frozenset[str]().union(*kept)
            if len(kept) == listing.pages
            else None,  # the SDK may have refused a page
        )
        differences = changes(self._publisher.status.tools, tools) if self._publisher.status.state == "ready" else ()
        broken = tuple(f"{tool.name or 'a tool without a name'}: {tool.problem}" for tool in tools if tool.problem)
        self._publisher.update(replace(self._publisher.status, tools=tools))
        self._publisher.notice(*differences, *broken, *((listing.notice,) if listing.notice else ()))

    async def read_others(self, client: ClientSession) -> None:
        """Read resources and templates, and count prompts; a server is ready without these."""
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
                self._publisher.notice(f"{key} cannot be listed: {reason_of(error)[0] or 'no answer'}")
                continue
            counts[number] = len(listing.items)
            if capability == "resources":
                self._resources += read_resources(listing.items, is_template=key == "resourceTemplates")
            self._publisher.update(replace(self._publisher.status, resources=(counts[0], counts[1], counts[2])))
        self.is_read = True
        self._publisher.update(self._publisher.status)

    async def follow(self, client: ClientSession, repair: Repair) -> None:
        """Read the tools again after `list_changed`, once for all changes within a second."""
        while True:
            await self._news.wait()
            await anyio.sleep(DEBOUNCE_SECONDS)
            self._news = anyio.Event()
            try:
                await self.read_tools(client, repair)
            except (MCPError, ServerError, ValueError, RuntimeError) as error:
                self._publisher.notice(f"the tools could not be listed again: {reason_of(error)[0]}")

    async def listen(self, client: ClientSession) -> None:
        """Listen for changes in the stateless era, on a stream to subscribe to. A lost stream may have missed some."""
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
    """Whether a server announces changes of its tools."""
    declared = client.server_capabilities
    return declared is not None and declared.tools is not None and bool(declared.tools.list_changed)
