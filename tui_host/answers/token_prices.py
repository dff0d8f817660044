"""Money: what requests cost by the prices that the person configured."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING
from urllib.parse import unquote, urlsplit

if TYPE_CHECKING:
    from tui_host.capture.ladder.row import Row
    from tui_host.llm.messages import Usage
    from tui_host.settings.schema import Price, Provider

_MILLION = 1_000_000


def price_of(providers: Mapping[str, Provider], row: Row, model: str) -> Price | None:
    """Return the price of a request's model; a tapped request belongs to the provider that has its address.

    Args:
        providers: The configured providers, by name.
        row: The request's row.
        model: The model that the body names; empty if the path names the model, as Gemini's does.
    """
    path = unquote(urlsplit(row.url).path)
    model = model or path.rpartition("/models/")[2].partition(":")[0]
    provider = providers.get(row.peer)
    if provider is not None:
        return provider.prices.get(model)
    near = (each for each in providers.values() if model in each.prices and row.url.startswith(each.base_url.text))
    return next((each.prices[model] for each in near), None)


def cost_of(usage: Usage, price: Price | None) -> tuple[float | None, float | None]:
    """Return what the input of an exchange cost, and all of it; None without a price or a count."""
    if price is None or usage.input_total is None:
        return None, None
    cached, written = usage.input_cached or 0, usage.cache_written or 0
    given = price.of_input(max(usage.input_total - cached - written, 0), cached, written)
    return given / _MILLION, (given + (usage.output_total or 0) * price.output) / _MILLION


def money(amount: float) -> str:
    """Return an amount in words: `12.50`, `0.0031`."""
    if amount >= 1:
        return f"{amount:,.2f}"
    return f"{amount:.3g}" if amount >= 0.0001 or not amount else f"{amount:.6f}"
