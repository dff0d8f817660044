"""The bundled server `weather`: observations of some cities that never change, labelled as canned."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from tui_host.demo.servers.bundled import (
    Answer,
    BundledPrompt,
    BundledResource,
    BundledServer,
    BundledTool,
    ToolFailed,
    text_argument,
)
from tui_host.errors import JSON

_CANNED = "canned demo data"


@dataclass(frozen=True, slots=True, kw_only=True)
class _City:
    name: str
    chinese: str
    aliases: tuple[str, ...]
    celsius: int
    sky: str
    chinese_sky: str
    humidity: int
    wind: int
    alert: str
    chinese_alert: str


_TABLE = Path(__file__).with_name("cities.csv")


def _city(line: str) -> _City:
    name, chinese, aliases, celsius, skies, humidity, wind, alerts = line.split("|")
    sky, _, chinese_sky = skies.rpartition(" ")
    alert, _, chinese_alert = alerts.rpartition(" ")
    return _City(
        name=name,
        chinese=chinese,
        aliases=tuple(alias for alias in aliases.split(",") if alias),
        celsius=int(celsius),
        sky=sky,
        chinese_sky=chinese_sky,
        humidity=int(humidity),
        wind=int(wind),
        alert=alert,
        chinese_alert=chinese_alert,
    )


_CITIES = tuple(_city(line) for line in _TABLE.read_text(encoding="utf-8").splitlines()[1:])
_BY_NAME = {name.casefold(): city for city in _CITIES for name in (city.name, city.chinese, *city.aliases)}


def _find(arguments: Mapping[str, object]) -> tuple[_City, bool]:
    """Return the city that the arguments name, and whether its name was in Chinese."""
    asked = text_argument(arguments, "city")
    city = _BY_NAME.get(asked.casefold())
    if city is None:
        known_cities = ", ".join(f"{city.name} ({city.chinese})" for city in _CITIES)
        raise ToolFailed(f"no observations for {asked[:80]!r}. Known cities: {known_cities}")
    return city, not asked.isascii() and asked != city.name


def _cities() -> str:
    lines = [f"- {city.name} ({city.chinese}): {city.celsius} °C, {city.sky}" for city in _CITIES]
    return "\n".join([f"# Observations ({_CANNED})", "", *lines])


_WIDE, _HIGH = 12, 96
"""Width and height of a city's stripe, in pixels."""


def _stripes() -> bytes:
    """Draw a PNG with a stripe per city, coldest first, from blue to red. Source: RFC 2083 (PNG 1.0)."""
    degrees = sorted(city.celsius for city in _CITIES)
    coldest, span = degrees[0], max(1, degrees[-1] - degrees[0])
    row = b"".join(
        bytes((255 * (celsius - coldest) // span, 64, 255 - 255 * (celsius - coldest) // span)) * _WIDE
        for celsius in degrees
    )
    head = struct.pack(">IIBBBBB", _WIDE * len(degrees), _HIGH, 8, 2, 0, 0, 0)
    chunks = ((b"IHDR", head), (b"IDAT", zlib.compress((b"\0" + row) * _HIGH)), (b"IEND", b""))
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data)) for kind, data in chunks
    )


def _get_forecast(arguments: Mapping[str, object]) -> Answer:
    city, in_chinese = _find(arguments)
    if in_chinese:
        text = (
            f"{city.chinese}：{city.celsius} °C，{city.chinese_sky}，湿度 {city.humidity}%，风速 {city.wind} km/h。"
            f"固定的演示数据（{_CANNED}），不是真实天气。"
        )
    else:
        text = (
            f"{city.name}: {city.celsius} °C, {city.sky}, humidity {city.humidity} %, wind {city.wind} km/h. "
            f"This is {_CANNED}, not the real weather."
        )
    return Answer(
        text=text,
        structured={
            "city": city.name,
            "celsius": city.celsius,
            "sky": city.sky,
            "humidity_percent": city.humidity,
            "wind_kmh": city.wind,
            "note": _CANNED,
        },
    )


def _get_alerts(arguments: Mapping[str, object]) -> Answer:
    city, in_chinese = _find(arguments)
    if in_chinese:
        text = f"{city.chinese}：{city.chinese_alert or '没有预警'}。固定的演示数据（{_CANNED}）。"
    else:
        text = f"{city.name}: {city.alert or 'no alerts'}. This is {_CANNED}."
    alerts: list[JSON] = [city.alert] if city.alert else []
    return Answer(text=text, structured={"city": city.name, "alerts": alerts, "note": _CANNED})


_CITY: dict[str, JSON] = {
    "city": {"type": "string", "description": "Name of a city in English or Chinese, such as Paris or 东京."}
}
_NOTE: JSON = {"type": "string", "description": "Says that the observations are canned."}

WEATHER = BundledServer(
    name="weather",
    title="Weather",
    instructions=f"Weather of {len(_CITIES)} cities. The observations are {_CANNED}: tell the person so.",
    tools=(
        BundledTool(
            name="get_forecast",
            title="Forecast",
            description=f"Temperature, sky, humidity and wind for one city ({_CANNED}).",
            properties=_CITY,
            output={
                "city": {"type": "string"},
                "celsius": {"type": "number"},
                "sky": {"type": "string"},
                "humidity_percent": {"type": "number"},
                "wind_kmh": {"type": "number"},
                "note": _NOTE,
            },
            answer=_get_forecast,
        ),
        BundledTool(
            name="get_alerts",
            title="Weather alerts",
            description=f"Weather alerts in force for one city ({_CANNED}).",
            properties=_CITY,
            output={
                "city": {"type": "string"},
                "alerts": {"type": "array", "items": {"type": "string"}},
                "note": _NOTE,
            },
            answer=_get_alerts,
        ),
    ),
    resources=(
        BundledResource(
            uri="weather://cities",
            name="cities",
            title="All cities",
            description="Every city with its temperature and sky (canned demo data).",
            mime_type="text/markdown",
            read=_cities,
        ),
        BundledResource(
            uri="weather://stripes.png",
            name="stripes",
            title="Temperatures as stripes",
            description="A picture: one stripe for each city, from the coldest, blue, to the warmest, red.",
            mime_type="image/png",
            read=_stripes,
        ),
    ),
    prompts=(
        BundledPrompt(
            name="packing",
            title="What to pack",
            description="Ask for the weather and the alerts of a city before a journey.",
            argument=("city", "Where the journey goes."),
            write=lambda city: f"weather in {city}, and alerts for {city}: what should I pack?",
        ),
    ),
)
