"""How far in what a server names may be: as far as the server itself is, and no further."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from functools import cache

import pytest

from tests.kit.peer import Link, peer
from tests.tap.relaying import answer
from tui_host.errors import SettingsError
from tui_host.tap.http.address_scope import Depth, Reach, depth_of
from tui_host.tap.http.upstream import Upstream, upstream_of


@pytest.mark.parametrize(
    ("address", "depth"),
    [
        ("93.184.216.34", Depth.PUBLIC),
        ("2606:2800:220:1::1", Depth.PUBLIC),
        ("10.1.2.3", Depth.NETWORK),
        ("100.64.0.1", Depth.NETWORK),
        ("fd00::1", Depth.NETWORK),
        ("127.0.0.1", Depth.MACHINE),
        ("::1", Depth.MACHINE),
        ("::ffff:127.0.0.1", Depth.MACHINE),
        ("64:ff9b::7f00:1", Depth.MACHINE),
        ("2002:a00:1::", Depth.NETWORK),
        ("169.254.169.254", None),
        ("fe80::1%1", None),
        ("0.0.0.0", Depth.MACHINE),  # noqa: S104 - bound by nobody here
        ("224.0.0.1", None),
        ("::127.0.0.1", None),
    ],
)
def test_of_an_address_it_is_known_from_where_it_can_be_reached(address: str, depth: Depth | None) -> None:
    assert depth_of(address) == depth


@cache
def known(upstream: str, proxy: str) -> Upstream:
    return upstream_of(upstream, {"https_proxy": proxy})


def test_an_upstream_counts_as_what_it_was_seen_at_from_furthest_out() -> None:
    reach = Reach("mcp.example")
    seen: list[tuple[bool, bool]] = []
    for address in ("10.0.0.1", "127.0.0.1", "93.184.216.34", "10.0.0.1"):
        seen.append((reach.allows("10.9.9.9"), reach.allows("127.0.0.1")))
        reach.seen_at(address)
    assert seen == [(False, False), (True, False), (True, False), (False, False)]
    assert not reach.allows("10.9.9.9")


@pytest.mark.parametrize(
    ("upstream", "named", "may"),
    [
        ("https://mcp.example/mcp", "https://login.example", True),
        ("https://mcp.example/mcp", "http://login.example", False),
        ("http://mcp.example/mcp", "http://login.example", False),
        ("http://mcp.example/mcp", "http://MCP.example:9", True),
        ("https://mcp.example/mcp", "http://127.0.0.1:9", False),
        ("https://mcp.example/mcp", "https://localhost", False),
        ("https://mcp.example/mcp", "https://127.1", False),
        ("https://mcp.example/mcp", "https://10.0.0.1", False),
        ("https://mcp.example/mcp", "https://169.254.169.254", False),
        ("https://10.0.0.7/mcp", "https://10.0.0.1", True),
        ("https://10.0.0.7/mcp", "https://127.0.0.1", False),
        ("http://127.0.0.1:3000/mcp", "http://localhost:9", True),
        ("http://localhost:3000/mcp", "https://10.0.0.1", True),
        ("http://localhost:3000/mcp", "http://10.0.0.1", False),
        ("http://localhost:3000/mcp", "https://169.254.169.254", False),
    ],
)
@pytest.mark.parametrize("proxy", ["", "http://proxy.example:3128"])
def test_a_server_names_encrypted_places_and_beside_itself_plain_ones(
    upstream: str, named: str, proxy: str, *, may: bool
) -> None:
    one = known(upstream, proxy)
    if may:
        assert one.other(named).origin == named.lower()
    else:
        with pytest.raises(SettingsError, match="may not lead to"):
            one.other(named)


async def test_what_leads_further_in_than_the_server_is_is_not_connected_to() -> None:
    async def script(stream: Link) -> None:
        await stream.send(answer(b""))

    async with peer(connection=script) as inner:
        found = replace(upstream_of(inner.origin, {}), within=Reach("mcp.example"))
        with pytest.raises(ConnectionError, match="further inside"):
            await found.connect(asyncio.Protocol)
        assert not inner.received
