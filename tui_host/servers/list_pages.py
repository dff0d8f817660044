"""A server's lists, page by page, within bounds. Source: MCP 2025-11-25, Pagination; threats.md, PRO-07."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import anyio
from mcp.shared.exceptions import MCPError
from mcp_types import METHOD_NOT_FOUND, PaginatedRequestParams
from pydantic import ValidationError

from tui_host.capture.json.narrowing import is_array
from tui_host.servers.outgoing_request import Flight, current_flight

Fetch: TypeAlias = Callable[[PaginatedRequestParams | None], Awaitable[object]]
"""Asks for one page."""

PAGES = 100
ITEMS = 10_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Listing:
    """What a server listed of one kind.

    Attributes:
        items: As they came.
        pages: How many pages were read.
        notice: Why there may be more, empty if there is not.
    """

    items: Sequence[object] = ()
    pages: int = 0
    notice: str = ""


async def read_pages(key: str, fetch: Fetch, *, seconds: float) -> Listing:
    """Follow a list to its end, or to a bound.

    Args:
        key: The member of a page that holds the items.
        fetch: Asks for one page; what it returns is not looked at, the page is read as it came.
        seconds: For all pages together; what came until then counts.

    Raises:
        MCPError: The server refuses the first page, otherwise than by not knowing the method.
        TimeoutError: There was no first page in time.
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
            found = page.result.get(key) if page.result is not None else None
            pages += 1
            if not is_array(found):
                return Listing(items=items, pages=pages, notice=f"{key}: page {pages} is malformed")
            items += found
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


async def _page(fetch: Fetch, cursor: str | None) -> Flight:
    flight = Flight()
    token = current_flight.set(flight)
    try:
        await fetch(None if cursor is None else PaginatedRequestParams(cursor=cursor))
    except ValidationError:
        pass  # the SDK refuses the page; what came is still in the flight
    finally:
        current_flight.reset(token)
    return flight
