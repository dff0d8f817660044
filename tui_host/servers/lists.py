"""A server's lists of tools, resources and prompts: read page by page within limits, and again when the server says that they changed."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

import anyio
from mcp.client.subscriptions import SubscriptionLost, listen
from mcp.shared.exceptions import MCPError
from mcp_types import METHOD_NOT_FOUND

from tui_host.capture.json.narrowing import mapping
from tui_host.errors import ServerError
from tui_host.servers.catalog import identity
from tui_host.servers.catalog_changes import changes_between, offers_of
from tui_host.servers.client import ServerClient
from tui_host.servers.server_faults import reason_of
from tui_host.servers.tool_definitions import read_prompts, read_resources, read_tools
from tui_host.servers.wire import Wire

PAGES, ITEMS = 100, 10_000
LIST_SECONDS, LONG_TIMEOUT = 30.0, 60.0
DEBOUNCE_SECONDS = 1.0
LISTEN_AGAIN_SECONDS = 30.0
ListName: TypeAlias = Literal["tools", "resources", "prompts"]
"""A list that is read again alone; `resources` includes the templates."""
LIST_NAMES: tuple[ListName, ...] = ("tools", "resources", "prompts")
CHANGED: Mapping[str, ListName] = {f"notifications/{name}/list_changed": name for name in LIST_NAMES}
"""Notifications that a list has changed."""
_OTHERS: Mapping[ListName, tuple[tuple[str, str], ...]] = {
    "resources": (("resources/list", "resources"), ("resources/templates/list", "resourceTemplates")),
    "prompts": (("prompts/list", "prompts"),),
}
"""Lists without which a server can be ready: the methods that read them, and the members of the pages."""


@dataclass(eq=False)
class ServerLists:
    """The lists of a server over one connection. `subscriptions`, the number of updates by URI, outlasts it."""

    _wire: Wire
    _subscriptions: dict[str, int]
    is_read: bool = False  # each of them
    has_current_tools: bool = True  # no change was announced since they were listed
    awaits_tools: bool = False  # they are about to be listed again
    _changed: set[ListName] = field(default_factory=set[ListName])
    _news: anyio.Event = field(default_factory=anyio.Event)
    _listening: anyio.CancelScope | None = None
    _answered: anyio.Event = field(default_factory=anyio.Event)
    _honored: frozenset[str] = frozenset()

    async def read_tools(self, client: ServerClient) -> None:
        """Read the tools, and publish the differences to an earlier listing; raises if there is no listing."""
        if not self.declares(client, "tools"):
            self._wire.notice("it declares no tools, so it was not asked for any")
            return
        listed = await self._pages(client, "tools/list", "tools")
        problems = client.problems_of(listed)
        tools = read_tools(listed, server=self._wire.spec.name, identity=identity(self._wire.spec), problems=problems)
        before = self._wire.known
        self._wire.update(tools=tools)
        if before.state == "ready":
            self._wire.notice(*map(str, changes_between(offers_of(before), offers_of(self._wire.known))))
        self._wire.notice(
            *(f"{tool.name or 'a tool without a name'}: {tool.problem}" for tool in tools if tool.problem)
        )

    async def read_others(self, client: ServerClient) -> None:
        """Read resources, templates and prompts for the first time."""
        for name in _OTHERS:
            await self._read(client, name)
        self.is_read = True
        self._wire.update()

    async def _read(self, client: ServerClient, name: ListName) -> None:
        """Read a list besides the tools, if the server has it; that it cannot be read is told."""
        for method, key in _OTHERS[name] if self.declares(client, name) else ():
            try:
                listed = await self._pages(client, method, key)
            except (MCPError, ServerError) as error:
                self._wire.notice(f"{key} cannot be listed: {reason_of(error)[0]}")
                continue
            match key:
                case "resources":
                    self._wire.update(resources=read_resources(listed))
                case "resourceTemplates":
                    self._wire.update(templates=read_resources(listed, is_template=True))
                case _:
                    self._wire.update(prompts=read_prompts(listed, server=self._wire.spec.name))

    async def follow(self, client: ServerClient) -> None:
        """Read lists again after changes, once for all changes within a second."""
        while True:
            await self._news.wait()
            await anyio.sleep(DEBOUNCE_SECONDS)
            self._news = anyio.Event()
            changed, self._changed = self._changed, set()
            if "tools" in changed:
                is_read = False
                try:
                    await self.read_tools(client)
                    is_read = True
                except (MCPError, ServerError) as error:
                    self._wire.notice(f"the tools could not be listed again: {reason_of(error)[0]}")
                if "tools" not in self._changed:  # else they changed once more since the request
                    self.has_current_tools, self.awaits_tools = is_read, False
                self._wire.update()
            for name in _OTHERS:
                if name in changed:
                    await self._read(client, name)

    def declares(self, client: ServerClient, name: str) -> bool:
        return name in client.declared or self._wire.spec.mode == "2026-07-28"  # then nobody asked the server for them

    async def _pages(self, client: ServerClient, method: str, key: str) -> Sequence[object]:
        """Read a list, the member `key` of its pages, to its end or to a limit, which is told; raises if no page comes."""
        timeout = self._wire.spec.timeout or math.inf
        seconds = timeout if timeout > LONG_TIMEOUT else min(LIST_SECONDS, timeout)
        items: list[object] = []
        cursors: list[str] = []
        pages = 0
        with anyio.move_on_after(seconds):
            while pages < PAGES and len(items) < ITEMS:
                try:
                    page = await client.ask(method, {"cursor": cursors[-1]} if cursors else {})
                except MCPError as error:
                    if pages:
                        self._wire.notice(f"{key}: page {pages + 1} failed: {error}")
                    elif error.code != METHOD_NOT_FOUND:
                        raise
                    return items
                pages += 1
                page_items, cursor = page.get(key), page.get("nextCursor")
                if not isinstance(page_items, list):
                    self._wire.notice(f"{key}: page {pages} is malformed")
                    return items
                items += page_items
                if not isinstance(cursor, str):  # the empty string is a cursor like any other
                    return items
                if cursor in cursors:  # it leads back
                    break
                cursors.append(cursor)
        if not pages:
            raise ServerError(f"no answer to {method} within {seconds:g} s", self._wire.spec.name)
        self._wire.notice(f"{key}: {len(items):,} on {pages} pages were read; there may be more")
        return items

    def mark(self, names: Iterable[ListName]) -> None:
        """Let lists be read again."""
        self._changed.update(names)
        if "tools" in self._changed:
            self.has_current_tools, self.awaits_tools = False, True
        self._news.set()

    def count(self, uri: str) -> None:
        """Count an update; a server may name a part of a resource, which counts for the resource."""
        for name in self._subscriptions:
            self._subscriptions[name] += is_of(uri, name)
        self._publish()

    def _publish(self) -> None:
        listed = tuple(self._subscriptions.items())
        if listed != self._wire.known.subscriptions:
            self._wire.update(subscriptions=listed)

    async def listen(self, client: ServerClient) -> None:
        """Follow the stream of changes, in the stateless era; it is opened again where it ends, or is to bring others."""
        names: list[ListName] = [
            name for name in LIST_NAMES if mapping(client.declared.get(name)).get("listChanged") is True
        ]
        delay = 1.0
        while True:
            uris = tuple(self._subscriptions)
            with anyio.CancelScope() as self._listening:  # cancelled when the subscriptions change
                try:
                    if names or uris:
                        async with listen(
                            client,
                            tools_list_changed="tools" in names,
                            resources_list_changed="resources" in names,
                            prompts_list_changed="prompts" in names,
                            resource_subscriptions=uris,
                        ) as stream:
                            delay = 1.0
                            self._settle(stream.honored.resource_subscriptions or ())
                            async for _ in stream:
                                pass  # each event also comes as a notification
                    else:
                        self._settle(())
                        await anyio.sleep_forever()
                except (MCPError, SubscriptionLost, TimeoutError) as error:
                    self._settle(())
                    if isinstance(error, MCPError) and error.code == METHOD_NOT_FOUND:
                        await anyio.sleep_forever()
                await anyio.sleep(delay)
                delay = min(delay * 2, LISTEN_AGAIN_SECONDS)
                for uri in uris:
                    self.count(uri)
            self.mark(names)  # what changed meanwhile was not heard

    def _settle(self, honored: Iterable[str]) -> None:
        self._honored = frozenset(honored)
        self._answered.set()

    async def subscribe(self, client: ServerClient, uri: str, *, is_on: bool) -> None:
        if not is_on:
            if self._subscriptions.pop(uri, None) is None:
                return
            self._publish()
            if client.is_stateless:
                await self._listen_anew()
            else:
                await client.ask("resources/unsubscribe", {"uri": uri})
            return
        if not mapping(client.declared.get("resources")).get("subscribe"):
            raise ServerError("the server does not announce changes of single resources", sent=False)
        if client.is_stateless:
            is_new = uri not in self._subscriptions
            self._subscriptions.setdefault(uri, 0)
            await self._listen_anew()
            if uri not in self._honored:
                if is_new:
                    del self._subscriptions[uri]
                raise ServerError("the server does not announce changes of this resource")
        else:
            await client.ask("resources/subscribe", {"uri": uri})
            self._subscriptions.setdefault(uri, 0)
        self._publish()

    async def subscribe_again(self, client: ServerClient) -> None:
        """Subscribe over a new connection to what was subscribed before, in the stateful era."""
        for uri in tuple(self._subscriptions):
            try:
                await client.ask("resources/subscribe", {"uri": uri})
            except (MCPError, ServerError) as error:
                del self._subscriptions[uri]
                self._wire.notice(f"the subscription of {uri} ended: {reason_of(error)[0]}")
        self._publish()

    async def _listen_anew(self) -> None:
        self._answered = anyio.Event()
        if self._listening is not None:
            self._listening.cancel()
        await self._answered.wait()


def is_of(uri: str, resource: str) -> bool:
    """Whether a URI is that of a resource or of a part of it: `file:///a/b` is of `file:///a`, `file:///ab` is not."""
    rest = uri.removeprefix(resource)
    return uri.startswith(resource) and (not rest or resource.endswith("/") or rest[0] in "/?#")
