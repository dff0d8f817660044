"""How a relay reaches its upstream and how far in what that names may be; where hosts of others want a tap's address."""

from __future__ import annotations

import asyncio
import errno
import socket
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import replace
from functools import cache

import pytest

from tests.kit.peer import Link, peer
from tests.tap.relaying import answer, descriptors
from tui_host.errors import SettingsError
from tui_host.tap.http.address_scope import Depth, Reach, depth_of
from tui_host.tap.http.happy_eyeballs import Address, connected, first_of
from tui_host.tap.http.llm_tap import base_url, instructions
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


def found(port: int) -> Address:
    return socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP, "", ("127.0.0.1", port)


@asynccontextmanager
async def silent() -> AsyncGenerator[int]:
    """A port that says nothing to who connects: it has more waiting than it has room for."""
    with socket.socket() as listener, socket.socket() as first, socket.socket() as second:
        listener.bind(("127.0.0.1", 0))
        listener.listen(0)
        for each in (first, second):
            each.setblocking(False)
            each.connect_ex(listener.getsockname())
        yield listener.getsockname()[1]


async def test_where_an_address_refuses_or_says_nothing_the_next_one_is_connected_to(free_tcp_port: int) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
        async with silent() as unheard:
            before = descriptors()
            for others in ((), (free_tcp_port,), (unheard,), (unheard, free_tcp_port, unheard)):
                with await first_of([*map(found, others), found(port), found(unheard)]) as made:
                    assert made.getpeername() == listener.getsockname()
                    assert descriptors() == before + 1
            assert descriptors() == before


async def test_where_all_addresses_refuse_it_is_told_why(free_tcp_port: int) -> None:
    with pytest.raises(ConnectionRefusedError) as refused:
        await first_of([found(free_tcp_port), found(free_tcp_port)])
    assert refused.value.errno == errno.ECONNREFUSED


async def test_a_name_is_connected_to_by_one_of_its_addresses_that_is_allowed() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
        with await connected("localhost", port, lambda address: ":" not in address) as made:
            assert made.getpeername() == listener.getsockname()
        with pytest.raises(ConnectionError, match="further inside"):
            await connected("localhost", port, lambda _address: False)


OWN = "http://127.0.0.1:8321"
OPENAI, ANTHROPIC, GEMINI, OLLAMA = "OPENAI_BASE_URL", "ANTHROPIC_BASE_URL", "GOOGLE_GEMINI_BASE_URL", "OLLAMA_HOST"


@pytest.mark.parametrize(
    ("upstream", "hints"),
    [
        ("https://api.deepseek.com/v1", {f"{OPENAI}={OWN}/v1"}),
        ("http://127.0.0.1:11434/v1", {f"{OPENAI}={OWN}/v1"}),
        ("https://llm.example/v1", {f"{OPENAI}={OWN}/v1"}),
        ("https://api.deepseek.com/v1/chat/completions", {f"{OPENAI}={OWN}/v1"}),
        ("https://llm.example/v1/responses/", {f"{OPENAI}={OWN}/v1"}),
        ("https://llm.example/v1/messages", {f"{ANTHROPIC}={OWN}"}),
        ("https://llm.example/v1beta/models/m:generateContent", {f"{GEMINI}={OWN}"}),
        ("https://llm.example/api/chat", {f"{OLLAMA}={OWN}"}),
        ("https://api.anthropic.com", {f"{ANTHROPIC}={OWN}"}),
        ("https://api.deepseek.com/anthropic", {f"{ANTHROPIC}={OWN}/anthropic"}),
        ("https://generativelanguage.googleapis.com", {f"{GEMINI}={OWN}"}),
        ("https://llm.example/v1beta", {f"{GEMINI}={OWN}"}),
        ("http://127.0.0.1:11434", {f"{OLLAMA}={OWN}"}),
        ("http://127.0.0.1:9000", {f"{OPENAI}={OWN}/v1", f"{ANTHROPIC}={OWN}", f"{GEMINI}={OWN}", f"{OLLAMA}={OWN}"}),
    ],
)
def test_the_variables_named_are_those_of_whom_the_upstream_speaks_like(upstream: str, hints: set[str]) -> None:
    lines = list(instructions(upstream_of(upstream, {}, None), OWN))
    names = (OPENAI, ANTHROPIC, GEMINI, OLLAMA)
    assert {line.rpartition(": ")[2] for line in lines if any(f" {name}=" in line for name in names)} == hints
    assert any("--allow-host host.docker.internal" in line for line in lines) == (
        OPENAI in str(hints) or OLLAMA in str(hints)
    )


@pytest.mark.parametrize(
    ("upstream", "path"),
    [
        ("https://api.deepseek.com/v1", "/v1"),
        ("https://llm.example/v1/", "/v1/"),
        ("https://api.anthropic.com/v1", ""),
        ("https://api.anthropic.com/", "/"),
        ("https://api.moonshot.cn/anthropic/v1/", "/anthropic"),
        ("https://generativelanguage.googleapis.com/v1beta", ""),
        ("https://llm.example/v1beta/models/m:generateContent", ""),
        ("https://generativelanguage.googleapis.com/v1beta/openai/", "/v1beta/openai/"),
    ],
)
def test_the_base_url_is_what_those_hosts_take_that_speak_so(upstream: str, path: str) -> None:
    """Clients of Anthropic's and of Gemini's API put the version behind it themselves: with it twice there is nothing."""
    assert base_url(upstream_of(upstream, {}, None), OWN) == OWN + path
