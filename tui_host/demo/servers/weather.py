"""The bundled server `weather`: observations of some cities that never change, labelled as canned."""

from __future__ import annotations

import struct
import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, TypeAlias

from mcp.server.mcpserver import MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from pydantic import Field

from tui_host.demo.servers.annotations import READS, VERSION

_CANNED = "canned demo data"
_CityName: TypeAlias = Annotated[str, Field(description="Name of a city in English or Chinese, such as Paris or 东京.")]


@dataclass(frozen=True, slots=True)
class _City:
    """A row of the table: the last words of `sky` and `alert` are Chinese."""

    name: str
    chinese: str
    aliases: str
    celsius: str
    sky: str
    humidity: str
    wind: str
    alert: str


_ROWS = Path(__file__).with_name("cities.csv").read_text(encoding="utf-8").splitlines()[1:]
_CITIES = [_City(*row.split("|")) for row in _ROWS]
_BY_NAME = {name.casefold(): city for city in _CITIES for name in (city.name, city.chinese, *city.aliases.split(","))}
del _BY_NAME[""]

SERVER = MCPServer(
    "weather",
    title="Weather",
    version=VERSION,
    log_level="ERROR",
    instructions=f"Weather of {len(_CITIES)} cities. The observations are {_CANNED}: tell the person so.",
)


def _find(asked: str) -> tuple[_City, bool]:
    """Return the city with a name, and whether the name is in Chinese."""
    city = _BY_NAME.get(asked.strip().casefold())
    if city is None:
        known_cities = ", ".join(f"{city.name} ({city.chinese})" for city in _CITIES)
        raise ToolError(f"no observations for {asked[:80]!r}. Known cities: {known_cities}")
    return city, not asked.isascii() and asked != city.name


@SERVER.tool(
    title="Forecast", annotations=READS, description=f"Temperature, sky, humidity and wind for one city ({_CANNED})."
)
def get_forecast(city: _CityName) -> str:  # noqa: D103 - the model reads the description
    found, in_chinese = _find(city)
    sky, _, chinese_sky = found.sky.rpartition(" ")
    if in_chinese:
        return (
            f"{found.chinese}：{found.celsius} °C，{chinese_sky}，湿度 {found.humidity}%，风速 {found.wind} km/h。"
            f"固定的演示数据（{_CANNED}），不是真实天气。"
        )
    return (
        f"{found.name}: {found.celsius} °C, {sky}, humidity {found.humidity} %, wind {found.wind} km/h. "
        f"This is {_CANNED}, not the real weather."
    )


@SERVER.tool(
    title="Weather alerts", annotations=READS, description=f"Weather alerts in force for one city ({_CANNED})."
)
def get_alerts(city: _CityName) -> str:  # noqa: D103 - the model reads the description
    found, in_chinese = _find(city)
    alert, _, chinese_alert = found.alert.rpartition(" ")
    if in_chinese:
        return f"{found.chinese}：{chinese_alert or '没有预警'}。固定的演示数据（{_CANNED}）。"
    return f"{found.name}: {alert or 'no alerts'}. This is {_CANNED}."


@SERVER.resource("weather://stripes.png", title="Temperatures as stripes", mime_type="image/png")
def stripes() -> bytes:
    """A picture: one stripe for each city, from the coldest, blue, to the warmest, red."""
    degrees = sorted(int(city.celsius) for city in _CITIES)
    span, width, height = degrees[-1] - degrees[0], 12, 96
    shares = [255 * (celsius - degrees[0]) // span for celsius in degrees]
    row = b"".join(bytes((share, 64, 255 - share)) * width for share in shares)
    head = struct.pack(">IIBBBBB", width * len(degrees), height, 8, 2, 0, 0, 0)
    chunks = ((b"IHDR", head), (b"IDAT", zlib.compress((b"\0" + row) * height)), (b"IEND", b""))
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data)) for kind, data in chunks
    )


@SERVER.prompt(title="What to pack")
def packing(city: Annotated[str, Field(description="Where the journey goes.")]) -> str:
    """Ask for the weather and the alerts of a city before a journey."""
    return f"weather in {city}, and alerts for {city}: what should I pack?"
