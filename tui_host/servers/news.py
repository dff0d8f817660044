"""What a server announces: lists that changed, and resources that changed. By notifications, in the stateless era by `listen`."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from typing import Literal, TypeAlias

import anyio
import mcp_types
from mcp.client.subscriptions import Subscription as Stream
from mcp.client.subscriptions import SubscriptionLost, listen
from mcp.shared.exceptions import MCPError

from tui_host.capture.json.narrowing import text_or_empty
from tui_host.errors import JSON, ServerError
from tui_host.servers.catalog import Subscription
from tui_host.servers.client import Client
from tui_host.servers.server_faults import reason_of
from tui_host.servers.server_status import StatusPublisher

ListName: TypeAlias = Literal["tools", "resources", "prompts"]
"""A list that is read again alone; `resources` includes the templates."""
LIST_NAMES: tuple[ListName, ...] = ("tools", "resources", "prompts")
DEBOUNCE_SECONDS = 1.0
LISTEN_AGAIN_SECONDS = 30.0
MOST_SUBSCRIPTIONS = 100
_CHANGED: Mapping[str, ListName] = {f"notifications/{name}/list_changed": name for name in LIST_NAMES}


class News:
    """Follows a server's announcements. `subscriptions`, the number of updates by URI, outlasts the connection."""

    def __init__(self, publisher: StatusPublisher, subscriptions: dict[str, int]) -> None:
        self._publisher = publisher
        self._subscriptions = subscriptions
        self._outdated: set[ListName] = set()
        self._reading: set[ListName] = set()
        self._news = {name: anyio.Event() for name in LIST_NAMES}
        self._listening: anyio.CancelScope | None = None
        self._settled = anyio.Event()
        self._honored: frozenset[str] = frozenset()
        if subscriptions:
            self._publish()

    def is_outdated(self, name: ListName) -> bool:
        """Whether the server announced a changed list, and has not listed it since."""
        return name in self._outdated

    def is_reading_again(self, name: ListName) -> bool:
        """Whether the list is about to be read again."""
        return name in self._reading

    def heard(self, method: str, params: Mapping[str, JSON]) -> None:
        """Take a notification into account."""
        if method in _CHANGED:
            self._mark(_CHANGED[method])
        elif method == "notifications/resources/updated":
            self._count(text_or_empty(params.get("uri")))

    def _mark(self, name: ListName) -> None:
        self._outdated.add(name)
        self._reading.add(name)
        self._news[name].set()

    def _count(self, uri: str) -> None:
        """Count an update; a server may name a part of a resource, which counts for the resource."""
        names = [name for name in self._subscriptions if is_of(uri, name)]
        for name in names:
            self._subscriptions[name] += 1
        if names:
            self._publish()

    def _publish(self) -> None:
        listed = tuple(Subscription(uri=uri, updates=updates) for uri, updates in self._subscriptions.items())
        self._publisher.update(replace(self._publisher.status, subscriptions=listed))

    async def follow(self, name: ListName, read: Callable[[Client], Awaitable[None]], client: Client) -> None:
        """Read a list again after each change, once for all changes within a second."""
        while True:
            await self._news[name].wait()
            await anyio.sleep(DEBOUNCE_SECONDS)
            news = self._news[name] = anyio.Event()
            try:
                await read(client)
            except (MCPError, ServerError) as error:
                self._publisher.notice(f"the {name} could not be listed again: {reason_of(error)[0]}")
            else:
                if not news.is_set():  # else another change came since the request
                    self._outdated.discard(name)
            if not news.is_set():
                self._reading.discard(name)
            self._publisher.update(self._publisher.status)

    async def listen_to_lists(self, client: Client) -> None:
        """Listen for changed lists, in the stateless era. A lost stream outdates the lists: changes may have been missed."""
        names = _announced(client)

        def lost() -> None:
            for name in names:
                self._mark(name)

        if names:
            await _keep_listening(client, names, (), opened=lambda _: None, lost=lost)

    async def listen_to_resources(self, client: Client) -> None:
        """Listen for changes of the subscribed resources, in the stateless era. A lost stream counts as a change of each."""

        def opened(stream: Stream) -> None:
            self._honored = frozenset(stream.honored.resource_subscriptions or ())
            self._settled.set()

        def lost() -> None:
            for uri in self._subscriptions:
                self._count(uri)

        while True:
            with anyio.CancelScope() as self._listening:
                if self._subscriptions:
                    await _keep_listening(client, (), tuple(self._subscriptions), opened=opened, lost=lost)
                self._honored = frozenset()  # nothing to listen to, or the server cannot
                self._settled.set()
                await anyio.sleep_forever()  # until the subscriptions change

    async def subscribe(self, client: Client, uri: str) -> None:
        """Ask the server to announce changes of a resource; raises ServerError if it does not do that."""
        declared = client.server_capabilities
        if declared is not None and (declared.resources is None or not declared.resources.subscribe):
            raise ServerError("the server does not announce changes of single resources", sent=False)
        is_new = uri not in self._subscriptions
        if is_new and len(self._subscriptions) >= MOST_SUBSCRIPTIONS:
            raise ServerError(f"{MOST_SUBSCRIPTIONS} resources are subscribed already; end one first", sent=False)
        if not client.is_stateless:
            await client.ask("resources/subscribe", {"uri": uri})
            self._subscriptions.setdefault(uri, 0)
        else:
            self._subscriptions.setdefault(uri, 0)
            await self._listen_anew()
            if uri not in self._honored:
                if is_new:
                    self._subscriptions.pop(uri, None)
                raise ServerError("the server does not announce changes of this resource")
        self._publish()

    async def unsubscribe(self, client: Client, uri: str) -> None:
        """Ask the server to announce no more changes of a resource."""
        if self._subscriptions.pop(uri, None) is None:
            return
        self._publish()
        if client.is_stateless:
            await self._listen_anew()
        else:
            await client.ask("resources/unsubscribe", {"uri": uri})

    async def subscribe_again(self, client: Client) -> None:
        """Subscribe over a new connection to what was subscribed before, in the stateful era."""
        for uri in tuple(self._subscriptions):
            try:
                await client.ask("resources/subscribe", {"uri": uri})
            except (MCPError, ServerError) as error:
                del self._subscriptions[uri]
                self._publisher.notice(f"the subscription of {uri} ended: {reason_of(error)[0]}")
        self._publish()

    async def _listen_anew(self) -> None:
        self._settled = anyio.Event()
        if self._listening is not None:
            self._listening.cancel()
        await self._settled.wait()


def is_of(uri: str, resource: str) -> bool:
    """Whether a URI is that of a resource or of a part of it: `file:///a/b` is of `file:///a`, `file:///ab` is not."""
    rest = uri.removeprefix(resource)
    return uri.startswith(resource) and (not rest or resource.endswith("/") or rest[0] in "/?#")


def _announced(client: Client) -> tuple[ListName, ...]:
    """Return the lists whose changes a server announces."""
    declared = client.server_capabilities
    if declared is None:
        return ()
    lists = {"tools": declared.tools, "resources": declared.resources, "prompts": declared.prompts}
    return tuple(name for name in LIST_NAMES if (capability := lists[name]) is not None and capability.list_changed)


async def _keep_listening(
    client: Client,
    names: Sequence[ListName],
    uris: Sequence[str],
    *,
    opened: Callable[[Stream], None],
    lost: Callable[[], None],
) -> None:
    """Listen until cancelled, and tell of each opened stream, and each lost one; returns if the server has no such method.

    Every event also comes as a notification, so the events themselves are not used here.
    """
    delay = 1.0
    while True:
        try:
            async with listen(
                client,
                tools_list_changed="tools" in names,
                resources_list_changed="resources" in names,
                prompts_list_changed="prompts" in names,
                resource_subscriptions=uris,
            ) as stream:
                delay = 1.0
                opened(stream)
                async for _ in stream:
                    pass
        except MCPError as error:
            if error.code == mcp_types.METHOD_NOT_FOUND:
                return
        except (SubscriptionLost, TimeoutError):
            pass
        await anyio.sleep(delay)
        delay = min(delay * 2, LISTEN_AGAIN_SECONDS)
        lost()
