"""Short forms of sizes, times, counts and amounts."""

from __future__ import annotations

from datetime import datetime


def short_size(size: int) -> str:
    """Return bytes in about three figures: `812 B`, `3.1k`, `12M`."""
    if size < 1000:
        return f"{size} B"
    scaled, unit = size / 1000, "k"
    for larger in "MG":
        if scaled >= 999.5:
            scaled, unit = scaled / 1000, larger
    return f"{scaled:.1f}{unit}" if scaled < 9.95 else f"{scaled:,.0f}{unit}"


def local_clock(time_ns: int) -> str:
    """Return a moment as the time of the day here: `15:01:21.250`."""
    moment = datetime.fromtimestamp(time_ns // 1_000_000_000).astimezone()
    return f"{moment:%H:%M:%S}.{time_ns // 1_000_000 % 1000:03d}"


def local_minute(time_ns: int) -> str:
    """Return a moment as date and time here: `2026-11-30 15:01`."""
    return f"{datetime.fromtimestamp(time_ns / 1_000_000_000).astimezone():%Y-%m-%d %H:%M}"


def short_time(milliseconds: float) -> str:
    """A duration: `12 ms`, `2.4 s`, `3 min 20 s`."""
    if milliseconds < 999.5:
        return f"{milliseconds:.0f} ms"
    seconds = milliseconds / 1000
    if seconds < 59.95:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest} s"


def counted(number: int, what: str) -> str:
    """Return a number with its noun: `1 turn`, `2 turns`."""
    return f"{number:,} {what}{'s' * (number != 1)}"


def money(amount: float) -> str:
    """Return an amount in words: `12.50`, `0.0031`."""
    if amount >= 1:
        return f"{amount:,.2f}"
    return f"{amount:.3g}" if amount >= 0.0001 or not amount else f"{amount:.6f}"
