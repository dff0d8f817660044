"""A server's lists of tools, resources and prompts: read page by page within limits, and again after a change."""

from __future__ import annotations

import math
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

import anyio
from mcp.client.session import ClientSession
from mcp.shared.exceptions import MCPError
from mcp_types import METHOD_NOT_FOUND, PaginatedRequestParams
from pydantic import ValidationError

from tui_host.capture.json.narrowing import is_array
from tui_host.errors import ServerError
from tui_host.servers.catalog import Tool, identity
from tui_host.servers.outgoing_request import OutgoingRequest, current_request
from tui_host.servers.repair import Repair
from tui_host.servers.server_faults import reason_of
from tui_host.servers.server_status import StatusPublisher
from tui_host.servers.tool_definitions import changes, read_prompts, read_resources, read_tools, reader
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
        pass  # the SDK refuses the page; the raw result is still in `outgoing`
    finally:
        current_request.reset(token)
    return outgoing


LIST_SECONDS = 30.0


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

    def offered(self, client: ClientSession | None) -> tuple[Tool, ...]:
        """Return the callable tools: those without a problem, plus the resource reader if the server has resources.

        Args:
            client: The connected client, None while there is none.
        """
        tools = tuple(tool for tool in self._publisher.status.tools if tool.problem is None)
        if client is None or not self._declares(client, "resources"):
            return tools
        resources = (*self._publisher.status.resources, *self._publisher.status.templates)
        return (*tools, reader(self._spec.name, identity(self._spec), resources))

    async def read_tools(self, client: ClientSession, repair: Repair) -> None:
        """Read the tools, and publish the differences to an earlier listing.

        Raises:
            ServerError: The server does not answer in time.
            MCPError: The server refuses.
        """
        if not self._declares(client, "tools"):
            self._publisher.notice("it declares no tools, so it was not asked for any")
            return
        kept: list[frozenset[str]] = []

        async def fetch(params: PaginatedRequestParams | None) -> None:
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
        """Read resources, templates and prompts for the first time; a server can be ready without them."""
        await self.read_resources(client)
        await self.read_prompts(client)
        self.is_read = True
        self._publisher.update(self._publisher.status)

    async def read_resources(self, client: ClientSession) -> None:
        """Read resources and templates."""
        if not self._declares(client, "resources"):
            return
        listed = await self._others("resources", lambda params: client.list_resources(params=params))
        if listed is not None:
            self._publisher.update(replace(self._publisher.status, resources=read_resources(listed)))
        listed = await self._others("resourceTemplates", lambda params: client.list_resource_templates(params=params))
        if listed is not None:
            templates = read_resources(listed, is_template=True)
            self._publisher.update(replace(self._publisher.status, templates=templates))

    async def read_prompts(self, client: ClientSession) -> None:
        """Read the prompts."""
        if not self._declares(client, "prompts"):
            return
        listed = await self._others("prompts", lambda params: client.list_prompts(params=params))
        if listed is not None:
            prompts = read_prompts(listed, server=self._spec.name)
            self._publisher.update(replace(self._publisher.status, prompts=prompts))

    async def _others(self, key: str, fetch: Fetch) -> Sequence[object] | None:
        """Read a list without which a server can be ready; None, with a notice, if it cannot be read."""
        try:
            listing = await read_pages(key, fetch, seconds=self._seconds())
        except (MCPError, TimeoutError, ValueError, RuntimeError) as error:
            self._publisher.notice(f"{key} cannot be listed: {reason_of(error)[0] or 'no answer'}")
            return None
        if listing.notice:
            self._publisher.notice(listing.notice)
        return listing.items

    def _declares(self, client: ClientSession, name: str) -> bool:
        if self._spec.mode == "2026-07-28":
            return True  # assumed without asking the server: its capabilities are unknown
        return getattr(client.server_capabilities, name, None) is not None

    def _seconds(self) -> float:
        if not self._spec.timeout:
            return math.inf
        return self._spec.timeout if self._spec.timeout > 60 else min(LIST_SECONDS, self._spec.timeout)
