"""The bundled servers, as processes, through the SDK's own client."""

from __future__ import annotations

import base64
import json
import re
import signal
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import anyio
import mcp_types as types
import pytest
from mcp.client import Client
from mcp.client.stdio import StdioServerParameters, stdio_client
from mcp.shared.exceptions import MCPError

from tests.demo.running import line_of, started
from tui_host.demo.servers.bundled import ToolFailed
from tui_host.demo.servers.math import MATH
from tui_host.demo.servers.orders import ORDERS
from tui_host.demo.servers.serve_bundled import main
from tui_host.demo.servers.weather import WEATHER

_MODULE = "tui_host.demo.servers"
_MODES = ("auto", "legacy")


@asynccontextmanager
async def _over_stdio(name: str, mode: str) -> AsyncGenerator[Client]:
    parameters = StdioServerParameters(command=sys.executable, args=["-m", _MODULE, name])
    with anyio.fail_after(90):
        async with Client(stdio_client(parameters), mode=mode) as client:
            yield client


def _text(result: types.CallToolResult) -> str:
    (block,) = result.content
    assert isinstance(block, types.TextContent)
    return block.text


@pytest.mark.parametrize("mode", _MODES)
async def test_math_calculates_over_stdio_in_both_eras(mode: str) -> None:
    async with _over_stdio("math", mode) as client:
        assert client.protocol_version == ("2026-07-28" if mode == "auto" else "2025-11-25")
        tools = (await client.list_tools()).tools
        assert [tool.name for tool in tools] == ["add", "subtract", "multiply", "divide"]
        for tool in tools:
            assert tool.title
            assert tool.description
            assert tool.annotations is not None
            assert tool.annotations.read_only_hint
            assert tool.annotations.idempotent_hint
            assert tool.input_schema["required"] == ["a", "b"]
            assert all(schema["description"] for schema in tool.input_schema["properties"].values())
        result = await client.call_tool("multiply", {"a": 6, "b": 5})
        assert (_text(result), result.structured_content, result.is_error) == ("30", {"result": 30}, False)
        failed = await client.call_tool("divide", {"a": 1, "b": 0})
        assert failed.is_error
        assert "zero" in _text(failed)
        unknown = await client.call_tool("modulo", {"a": 1, "b": 0})
        assert unknown.is_error
        assert "add, subtract" in _text(unknown)


async def test_weather_over_stdio_with_its_prompt_and_resources() -> None:
    async with _over_stdio("weather", "auto") as client:
        assert [tool.name for tool in (await client.list_tools()).tools] == ["get_forecast", "get_alerts"]
        result = await client.call_tool("get_forecast", {"city": "Paris"})
        assert "canned demo data" in _text(result)
        assert result.structured_content["city"] == "Paris"
        failed = await client.call_tool("get_forecast", {"city": "Atlantis"})
        assert failed.is_error
        assert "Tokyo (东京)" in _text(failed)
        (prompt,) = (await client.list_prompts()).prompts
        written = await client.get_prompt(prompt.name, {"city": "Paris"})
        assert isinstance(written.messages[0].content, types.TextContent)
        assert "weather in Paris" in written.messages[0].content.text
        cities, stripes = (await client.list_resources()).resources
        (text,) = (await client.read_resource(cities.uri)).contents
        assert isinstance(text, types.TextResourceContents)
        assert "Paris (巴黎): 17 °C" in text.text
        (picture,) = (await client.read_resource(stripes.uri)).contents
        assert isinstance(picture, types.BlobResourceContents)
        assert base64.b64decode(picture.blob).startswith(b"\x89PNG\r\n")
        for name, arguments in (("packing", {}), ("other", {"city": "x"})):
            with pytest.raises(MCPError):
                await client.get_prompt(name, arguments)


async def test_orders_over_stdio_with_their_resource() -> None:
    async with _over_stdio("orders", "legacy") as client:
        assert [tool.name for tool in (await client.list_tools()).tools] == ["get_order", "list_orders"]
        result = await client.call_tool("get_order", {"number": 1042})
        assert "Order 1042" in _text(result)
        assert result.structured_content["status"] == "shipped"
        assert _text(await client.call_tool("list_orders", {})).count("\n") == 8
        (resource,) = (await client.list_resources()).resources
        assert (await client.list_resource_templates()).resource_templates == []
        (content,) = (await client.read_resource(resource.uri)).contents
        assert isinstance(content, types.TextResourceContents)
        assert len(json.loads(content.text)) == 8
        with pytest.raises(MCPError):
            await client.read_resource("orders://none")


async def test_weather_over_streamable_http_in_both_eras_and_its_lifeline() -> None:
    with started("-m", _MODULE, "weather", "--http", "--lifeline") as process:
        url = line_of(process)["url"]
        assert isinstance(url, str)
        assert re.fullmatch(r"http://127\.0\.0\.1:\d+/mcp", url)
        with anyio.fail_after(90):
            for mode in _MODES:
                async with Client(url, mode=mode) as client:
                    assert "21 °C" in _text(await client.call_tool("get_forecast", {"city": "东京"}))
        assert process.stdin is not None
        process.stdin.close()
        assert process.wait(90) == 0


async def test_over_http_a_signal_ends_it_with_0_at_once_also_with_a_client() -> None:
    with started("-m", _MODULE, "weather", "--http") as process:
        url = line_of(process)["url"]
        assert isinstance(url, str)
        client = Client(url, mode="legacy")
        async with client:
            await client.list_tools()
            process.terminate()
            assert process.wait(90) == 0  # with the client, which stays connected, it would run for ever
        assert process.stderr is not None
        assert process.stderr.read() == b"weather server: ready\n"


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


@pytest.mark.parametrize("arguments", [[], ["time"], ["math", "--port", "x"]])
def test_a_wrong_use_of_the_servers_ends_with_2(arguments: list[str]) -> None:
    with pytest.raises(SystemExit, match="2"):
        main(arguments)


@pytest.mark.parametrize(
    ("name", "a", "b", "text"),
    [
        ("add", 0.1, 0.2, "0.3"),
        ("add", 10**50, 1, str(10**50 + 1)),
        ("subtract", 1, 0.9, "0.1"),
        ("multiply", 1.5, 2, "3"),
        ("multiply", 1e200, 1e50, "1e+250"),
        ("multiply", -0.0, 5, "0"),
        ("divide", 37, 2, "18.5"),
        ("divide", 1, 3, "0.3333333333333333"),
    ],
)
def test_results_read_as_a_person_writes_them(name: str, a: float, b: float, text: str) -> None:
    (tool,) = (tool for tool in MATH.tools if tool.name == name)
    assert tool.call({"a": a, "b": b}).text == text


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"a": 1}, "missing parameter 'b': it takes a, b"),
        ({"a": 1, "b": 2, "c": 3}, "unknown parameter 'c'"),
        ({"a": "1", "b": 2}, "'a' must be a number"),
        ({"a": True, "b": 2}, "'a' must be a number"),
        ({"a": float("nan"), "b": 2}, "too large"),
        ({"a": 1e300, "b": 1e300}, "the result is too large"),
    ],
)
def test_wrong_arguments_are_told_clearly(arguments: dict[str, object], words: str) -> None:
    with pytest.raises(ToolFailed, match=re.escape(words)):
        MATH.tools[2].call(arguments)


def test_every_city_is_known_by_all_its_names_and_labelled_as_canned() -> None:
    forecast, alerts = WEATHER.tools
    names = (
        *("Paris", "paris", "巴黎", "NYC", "new york", "纽约", "São Paulo", "sao paulo", "Hong Kong", "香港"),
        *("東京", "Reykjavík"),
    )
    for name in names:
        assert "canned demo data" in forecast.call({"city": f" {name} "}).text
        assert "canned demo data" in alerts.call({"city": name}).text
    assert forecast.call({"city": "São Paulo"}).text.startswith("São Paulo:")
    assert forecast.call({"city": "旧金山"}).text.startswith("旧金山：15 °C，雾")
    with pytest.raises(ToolFailed, match="must be a text"):
        forecast.call({"city": "  "})


def test_an_order_is_found_by_a_whole_number_alone() -> None:
    get, _ = ORDERS.tools
    assert get.call({"number": 1042.0}).structured["number"] == 1042
    for number, words in ((7, "no order 7"), (1.5, "whole number"), ("1042", "must be a number")):
        with pytest.raises(ToolFailed, match=words):
            get.call({"number": number})
