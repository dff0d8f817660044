"""How far in what an upstream's metadata names may be, and where hosts of others want a tap's address."""

from __future__ import annotations

import asyncio
import socket

import pytest

from tests.kit.peer import Link, peer
from tests.tap.relaying import answer
from tui_host.errors import SettingsError
from tui_host.tap.http.llm_tap import base_url, instructions
from tui_host.tap.http.upstream import MACHINE, NETWORK, PUBLIC, depth_of, upstream_of

NOBODY = 3


@pytest.mark.parametrize(
    ("address", "depth"),
    [
        ("93.184.216.34", PUBLIC),
        ("2606:2800:220:1::1", PUBLIC),
        ("10.1.2.3", NETWORK),
        ("100.64.0.1", NETWORK),
        ("fd00::1", NETWORK),
        ("127.0.0.1", MACHINE),
        ("::1", MACHINE),
        ("::ffff:127.0.0.1", MACHINE),
        ("64:ff9b::7f00:1", MACHINE),
        ("2002:a00:1::", NETWORK),
        ("169.254.169.254", NOBODY),
        ("fe80::1%1", NOBODY),
        ("0.0.0.0", MACHINE),  # noqa: S104 - bound by nobody here
        ("224.0.0.1", NOBODY),
        ("::127.0.0.1", NOBODY),
    ],
)
def test_of_an_address_it_is_known_from_where_it_can_be_reached(address: str, depth: int) -> None:
    assert depth_of(address) == depth


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
        ("https://169.254.1.1/mcp", "https://10.0.0.1", False),
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
    one = upstream_of(upstream, {"https_proxy": proxy})
    if may:
        assert one.other(named).origin == named.lower()
    else:
        with pytest.raises(SettingsError, match="may not lead to"):
            one.other(named)


async def test_what_leads_further_in_than_the_server_is_is_not_connected_to(monkeypatch: pytest.MonkeyPatch) -> None:
    async def script(stream: Link) -> None:
        await stream.send(answer(b""))

    async def looked_up(*_: object, **__: object) -> list[object]:
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", ("127.0.0.1", 0))]

    async with peer(connection=script) as inner:
        await upstream_of("http://127.0.0.1", {}).other(f"http://localhost:{inner.port}").connect(asyncio.Protocol)
        await inner.until(lambda there: len(there.links) == 1)
        monkeypatch.setattr(asyncio.get_running_loop(), "getaddrinfo", looked_up)
        named = upstream_of("http://mcp.example", {}).other(f"http://mcp.example:{inner.port}")
        with pytest.raises(ConnectionError, match="further inside"):
            await named.connect(asyncio.Protocol)
        assert len(inner.links) == 1


OWN = "http://127.0.0.1:8321"
OPENAI, ANTHROPIC, GEMINI, OLLAMA = "OPENAI_BASE_URL", "ANTHROPIC_BASE_URL", "GOOGLE_GEMINI_BASE_URL", "OLLAMA_HOST"


@pytest.mark.parametrize(
    ("upstream", "path", "names"),
    [
        ("https://api.deepseek.com/v1", "/v1", [OPENAI]),
        ("https://api.deepseek.com/v1/chat/completions", "/v1", [OPENAI]),
        ("http://127.0.0.1:11434/v1/", "/v1/", [OPENAI]),
        ("https://generativelanguage.googleapis.com/v1beta/openai/", "/v1beta/openai/", [OPENAI]),
        ("https://llm.example/v1/responses/", "/v1", [OPENAI]),
        ("https://llm.example/v1/messages", "", [ANTHROPIC]),
        ("https://api.anthropic.com/v1", "", [ANTHROPIC]),
        ("https://api.anthropic.com/", "/", [ANTHROPIC]),
        ("https://api.moonshot.cn/anthropic/v1/", "/anthropic", [ANTHROPIC]),
        ("https://generativelanguage.googleapis.com/v1beta", "", [GEMINI]),
        ("https://llm.example/v1beta/models/m:generateContent", "", [GEMINI]),
        ("https://llm.example/api/chat", "", [OLLAMA]),
        ("http://127.0.0.1:11434", "", [OLLAMA]),
        ("http://127.0.0.1:9000", "", [OPENAI, ANTHROPIC, GEMINI, OLLAMA]),
    ],
)
def test_hosts_are_told_the_address_of_whom_the_upstream_speaks_like(
    upstream: str, path: str, names: list[str]
) -> None:
    """Clients of Anthropic's and of Gemini's API put the version behind it themselves: with it twice there is nothing."""
    server = upstream_of(upstream, {}, None)
    url = base_url(server, OWN)
    assert url == OWN + path
    hints = "\n".join(instructions(server, OWN))
    assert [name for name in (OPENAI, ANTHROPIC, GEMINI, OLLAMA) if f" {name}=" in hints] == names
    version = "/v1" if len(names) > 1 else ""
    assert f" {names[0]}={url.rstrip('/')}{version}\n" in hints + "\n"
    assert ("--allow-host host.docker.internal" in hints) == (names[0] in {OPENAI, OLLAMA})
