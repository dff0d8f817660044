"""The bundled servers, as processes, through the SDK's own client."""

import base64
import json
import signal
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import anyio
import mcp_types as types
import pytest
from mcp.client import Client
from mcp.client.stdio import StdioServerParameters, stdio_client

from tests.demo.running import started

_MODULE = "tui_host.demo.servers"


@asynccontextmanager
async def _over_stdio(name: str, mode: str) -> AsyncGenerator[Client]:
    parameters = StdioServerParameters(command=sys.executable, args=["-m", _MODULE, name])
    with anyio.fail_after(90):
        async with Client(stdio_client(parameters), mode=mode) as client:
            yield client


async def _said(client: Client, tool: str, **arguments: object) -> str:
    (block,) = (await client.call_tool(tool, arguments)).content
    assert isinstance(block, types.TextContent)
    return block.text


@pytest.mark.parametrize("mode", ["auto", "legacy"])
async def test_math_calculates_over_stdio_in_both_eras(mode: str) -> None:
    async with _over_stdio("math", mode) as client:
        assert client.protocol_version == ("2026-07-28" if mode == "auto" else "2025-11-25")
        tools = (await client.list_tools()).tools
        assert [tool.name for tool in tools] == ["add", "subtract", "multiply", "divide"]
        for tool in tools:
            assert tool.title
            assert tool.annotations is not None
            assert tool.annotations.read_only_hint
            assert tool.input_schema["required"] == ["a", "b"]
            assert [schema["type"] for schema in tool.input_schema["properties"].values()] == ["number", "number"]
        result = await client.call_tool("multiply", {"a": 6, "b": 5})
        assert result.structured_content == {"result": 30}
        for name, a, b, text in (
            ("add", 0.1, 0.2, "0.3"),
            ("add", 10**50, 1, str(10**50 + 1)),
            ("subtract", 1, 0.9, "0.1"),
            ("multiply", 1.5, 2, "3"),
            ("divide", 37, 2, "18.5"),
            ("divide", 1, 0, "Error executing tool divide: division by zero: b must not be 0"),
        ):
            assert await _said(client, name, a=a, b=b) == text
        assert (await client.call_tool("add", {"a": 1})).is_error


async def test_weather_over_stdio_with_its_prompt_and_picture() -> None:
    async with _over_stdio("weather", "auto") as client:
        for city in ("Paris", " paris ", "巴黎", "NYC", "São Paulo", "sao paulo", "香港", "東京", "Reykjavík"):
            assert "canned demo data" in await _said(client, "get_forecast", city=city)
            assert "canned demo data" in await _said(client, "get_alerts", city=city)
        assert (await _said(client, "get_forecast", city="旧金山")).startswith("旧金山：15 °C，雾")
        for city in ("Atlantis", " "):
            assert "Tokyo (东京)" in await _said(client, "get_forecast", city=city)
        (prompt,) = (await client.list_prompts()).prompts
        written = await client.get_prompt(prompt.name, {"city": "Paris"})
        assert isinstance(written.messages[0].content, types.TextContent)
        assert written.messages[0].content.text == "weather in Paris, and alerts for Paris: what should I pack?"
        (stripes,) = (await client.list_resources()).resources
        (picture,) = (await client.read_resource(stripes.uri)).contents
        assert isinstance(picture, types.BlobResourceContents)
        assert base64.b64decode(picture.blob).startswith(b"\x89PNG\r\n")


async def test_orders_over_stdio_with_their_resource() -> None:
    async with _over_stdio("orders", "legacy") as client:
        result = await client.call_tool("get_order", {"number": 1042})
        assert result.structured_content["status"] == "shipped"
        assert await _said(client, "get_order", number=1039) == (
            "Order 1039 (李明): 2 × 茶杯; 1 × 绿茶; 38.90 EUR; delivered, with the customer; signed on 5 March. "
            "Canned demo data."
        )
        assert (await _said(client, "list_orders")).count("\n") == 8
        assert "no order 7: there are 1038 to 1045" in await _said(client, "get_order", number=7)
        (resource,) = (await client.list_resources()).resources
        (content,) = (await client.read_resource(resource.uri)).contents
        assert isinstance(content, types.TextResourceContents)
        assert len(json.loads(content.text)) == 8


@pytest.mark.parametrize("kind", [None, signal.SIGTERM, signal.SIGINT])
def test_over_stdio_it_says_that_it_is_ready_and_ends_with_its_input_or_a_signal(kind: signal.Signals | None) -> None:
    with started("-m", _MODULE, "math") as process:
        assert process.stderr is not None
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stderr.readline() == b"math server: ready\n"
        if kind is None:
            process.stdin.close()
        else:
            process.send_signal(kind)
        assert process.wait(90) == (-kind if kind else 0)
        assert process.stderr.read() == process.stdout.read() == b""
