"""The bundled server `weather`: constant observations of some cities, labelled as canned."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Mapping
from dataclasses import dataclass

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
    humidity: int
    wind: int
    alert: str


_SKIES = {
    "clear": "晴",
    "partly cloudy": "多云",
    "overcast": "阴",
    "light rain": "小雨",
    "heavy rain": "大雨",
    "thunderstorms": "雷阵雨",
    "snow": "雪",
    "fog": "雾",
    "windy": "大风",
}
_ALERTS = {
    "": "",
    "strong wind until the evening": "大风预警，持续到傍晚",
    "flooding possible near the river": "河边可能出现洪水",
    "extreme heat in the afternoon": "下午高温预警",
    "icy roads in the morning": "早晨道路结冰",
    "a typhoon passes in the night": "夜间有台风经过",
    "dense fog on the roads": "道路大雾预警",
}

# name | Chinese | aliases | °C | sky | humidity % | wind km/h | alert
_TABLE = """
Beijing|北京|peking,北京市|8|clear|31|22|strong wind until the evening
Berlin|柏林||11|overcast|68|17|
Cairo|开罗||29|clear|24|13|extreme heat in the afternoon
Chengdu|成都|成都市|17|fog|81|6|dense fog on the roads
Hong Kong|香港|hongkong,hk|26|thunderstorms|88|24|a typhoon passes in the night
London|伦敦||13|light rain|79|20|
Mumbai|孟买|bombay|31|partly cloudy|70|15|
Nairobi|内罗毕||22|partly cloudy|55|12|
New York|纽约|nyc,new york city|16|windy|49|35|strong wind until the evening
Paris|巴黎||17|light rain|72|14|
Reykjavik|雷克雅未克|reykjavík|1|snow|84|30|icy roads in the morning
San Francisco|旧金山|sf,三藩市|15|fog|77|19|
São Paulo|圣保罗|sao paulo|24|heavy rain|83|11|flooding possible near the river
Shanghai|上海|上海市|19|overcast|66|16|
Shenzhen|深圳|深圳市|25|partly cloudy|74|10|
Singapore|新加坡||30|thunderstorms|86|9|
Sydney|悉尼||23|clear|52|21|
Taipei|台北|台北市|22|light rain|80|12|
Tokyo|东京|東京,東京都|21|partly cloudy|58|11|
"""


def _city(line: str) -> _City:
    name, chinese, aliases, celsius, sky, humidity, wind, alert = line.split("|")
    return _City(
        name=name,
        chinese=chinese,
        aliases=tuple(alias for alias in aliases.split(",") if alias),
        celsius=int(celsius),
        sky=sky,
        humidity=int(humidity),
        wind=int(wind),
        alert=alert,
    )


_CITIES = tuple(_city(line) for line in _TABLE.strip().splitlines())
_BY_NAME = {name.casefold(): city for city in _CITIES for name in (city.name, city.chinese, *city.aliases)}


def _find(arguments: Mapping[str, object]) -> tuple[_City, bool]:
    """Return the city, and whether its name was Chinese."""
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
"""Pixels of one city's stripe."""


def _stripes() -> bytes:
    """A PNG with a stripe for each city, coldest first, from blue to red. Source: RFC 2083 (PNG 1.0)."""
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
            f"{city.chinese}：{city.celsius} °C，{_SKIES[city.sky]}，湿度 {city.humidity}%，风速 {city.wind} km/h。"
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
        text = f"{city.chinese}：{_ALERTS[city.alert] or '没有预警'}。固定的演示数据（{_CANNED}）。"
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
