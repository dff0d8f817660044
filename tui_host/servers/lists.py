"""A server's lists of tools, resources and prompts: read page by page within limits, and again after a change."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import anyio
import mcp_types
from mcp.shared.exceptions import MCPError
from mcp_types import METHOD_NOT_FOUND
from mcp_types.methods import validate_server_result
from pydantic import ValidationError

from tui_host.capture.json.narrowing import is_array
from tui_host.errors import JSON, ServerError
from tui_host.servers.catalog import Tool, identity
from tui_host.servers.catalog_changes import changes_between, offers_of
from tui_host.servers.client import Client
from tui_host.servers.server_faults import reason_of
from tui_host.servers.server_status import StatusPublisher
from tui_host.servers.tool_definitions import read_prompts, read_resources, read_tools, reader
from tui_host.settings.schema import ServerSpec

PAGES, ITEMS = 100, 10_000
LIST_SECONDS = 30.0
_ENVELOPE: dict[str, object] = {"resultType": "complete", "ttlMs": 0, "cacheScope": "private"}
"""Members that the newer era demands of every listing, of which we need none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Listing:
    """The items of a list as received; `notice` says why there may be more items, empty if the list is complete."""

    items: Sequence[object] = ()
    notice: str = ""


async def read_pages(client: Client, method: str, key: str, *, seconds: float) -> Listing:
    """Read a list to its end, or to a limit. Source: MCP 2025-11-25, Pagination.

    Args:
        key: The member of a page that holds the items.
        seconds: Time limit for all pages; pages received until then count.

    Raises:
        MCPError: The server refuses the first page, except for an unknown method.
        TimeoutError: No page came in time.
    """
    items: list[object] = []
    cursors: set[str] = set()
    params: dict[str, JSON] = {}
    pages = 0
    with anyio.move_on_after(seconds) as scope:
        while True:
            try:
                page = await client.ask(method, params)
            except MCPError as error:
                if pages:
                    return Listing(items=items, notice=f"{key}: page {pages + 1} failed: {error}")
                if error.code == METHOD_NOT_FOUND:
                    return Listing()
                raise
            pages += 1
            page_items, cursor = page.get(key), page.get("nextCursor")
            if not is_array(page_items):
                return Listing(items=items, notice=f"{key}: page {pages} is malformed")
            items += page_items
            if not isinstance(cursor, str):  # the empty string is a cursor like any other
                return Listing(items=items)
            if cursor in cursors:
                return Listing(items=items, notice=f"{key}: page {pages} leads back to one before")
            if pages >= PAGES or len(items) >= ITEMS:
                return Listing(items=items, notice=f"{key}: {len(items):,} on {pages} pages were read; there are more")
            cursors.add(cursor)
            params = {"cursor": cursor}
    if scope.cancelled_caught and not pages:
        raise TimeoutError
    return Listing(items=items, notice=f"{key}: {pages} pages came within {seconds:g} s; there are more")


class Lists:
    """Reads the lists of a server; `is_read` once every list was read."""

    def __init__(self, spec: ServerSpec, publisher: StatusPublisher) -> None:
        self.is_read = False
        self._spec = spec
        self._publisher = publisher

    def offered(self, client: Client | None) -> tuple[Tool, ...]:
        """Return the callable tools: those without a problem, plus the resource reader if the server has resources."""
        status = self._publisher.status
        tools = tuple(tool for tool in status.tools if tool.problem is None)
        if client is None or not self._declares(client, "resources"):
            return tools
        return (*tools, reader(self._spec.name, identity(self._spec), (*status.resources, *status.templates)))

    async def read_tools(self, client: Client) -> None:
        """Read the tools, and publish the differences to an earlier listing.

        Raises:
            ServerError: The server does not answer in time.
            MCPError: The server refuses.
        """
        if not self._declares(client, "tools"):
            self._publisher.notice("it declares no tools, so it was not asked for any")
            return
        seconds = self._seconds()
        try:
            listing = await read_pages(client, "tools/list", "tools", seconds=seconds)
        except TimeoutError:
            raise ServerError(f"no answer to tools/list within {seconds:g} s", self._spec.name) from None
        good: list[mcp_types.Tool] = []
        problems = [_problem_of(tool, client.protocol_version, good) for tool in listing.items]
        tools = read_tools(
            listing.items,
            server=self._spec.name,
            identity=identity(self._spec),
            problems=problems,
            kept=client.keep_tools(good),
        )
        before = self._publisher.status
        after = replace(before, tools=tools)
        differences = changes_between(offers_of(before), offers_of(after)) if before.state == "ready" else ()
        broken = tuple(f"{tool.name or 'a tool without a name'}: {tool.problem}" for tool in tools if tool.problem)
        self._publisher.update(after)
        self._publisher.notice(*map(str, differences), *broken, *filter(None, [listing.notice]))

    async def read_others(self, client: Client) -> None:
        """Read resources, templates and prompts for the first time; a server can be ready without them."""
        await self.read_resources(client)
        await self.read_prompts(client)
        self.is_read = True
        self._publisher.update(self._publisher.status)

    async def read_resources(self, client: Client) -> None:
        """Read resources and templates."""
        listed = await self._read(client, "resources", "resources/list", "resources")
        if listed is not None:
            self._publisher.update(replace(self._publisher.status, resources=read_resources(listed)))
        listed = await self._read(client, "resources", "resources/templates/list", "resourceTemplates")
        if listed is not None:
            templates = read_resources(listed, is_template=True)
            self._publisher.update(replace(self._publisher.status, templates=templates))

    async def read_prompts(self, client: Client) -> None:
        """Read the prompts."""
        listed = await self._read(client, "prompts", "prompts/list", "prompts")
        if listed is not None:
            prompts = read_prompts(listed, server=self._spec.name)
            self._publisher.update(replace(self._publisher.status, prompts=prompts))

    async def _read(self, client: Client, capability: str, method: str, key: str) -> Sequence[object] | None:
        """Read a list without which a server can be ready; None if there is none, or it cannot be read, which is told."""
        if not self._declares(client, capability):
            return None
        try:
            listing = await read_pages(client, method, key, seconds=self._seconds())
        except (MCPError, ServerError, TimeoutError) as error:
            self._publisher.notice(f"{key} cannot be listed: {reason_of(error)[0] or 'no answer'}")
            return None
        self._publisher.notice(*filter(None, [listing.notice]))
        return listing.items

    def _declares(self, client: Client, name: str) -> bool:
        if self._spec.mode == "2026-07-28":
            return True  # assumed without asking the server: its capabilities are unknown
        return getattr(client.server_capabilities, name, None) is not None

    def _seconds(self) -> float:
        if not self._spec.timeout:
            return math.inf
        return self._spec.timeout if self._spec.timeout > 60 else min(LIST_SECONDS, self._spec.timeout)


def _problem_of(tool: object, version: str | None, good: list[mcp_types.Tool]) -> str | None:
    """Say what of a definition is missing or wrong, None if nothing; appends a good tool to `good`."""
    try:
        validate_server_result(
            "tools/list", version or mcp_types.LATEST_PROTOCOL_VERSION, {**_ENVELOPE, "tools": [tool]}
        )
        good.append(mcp_types.Tool.model_validate(tool, by_name=False))
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        place = ".".join(str(step) for step in first["loc"] if step not in {"tools", 0})
        return f"malformed: {place}: {first['msg']}" if place else f"malformed: {first['msg']}"
    except (KeyError, RecursionError):
        return "malformed"
    return None
