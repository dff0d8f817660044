"""The bundled server `orders`: a few orders that never change."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

from tui_host.demo.servers.bundled import (
    Answer,
    BundledResource,
    BundledServer,
    BundledTool,
    ToolFailed,
    whole_argument,
)
from tui_host.errors import JSON

_TABLE = Path(__file__).with_name("orders.csv")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Order:
    number: int
    customer: str
    items: tuple[tuple[str, int], ...]
    total: float
    status: str
    where: str
    expected: str

    def line(self) -> str:
        """Format the order as a line of text."""
        items = ", ".join(f"{count} × {item}" for item, count in self.items)
        return (
            f"Order {self.number} ({self.customer}): {items}; {self.total:.2f} EUR; "
            f"{self.status}, {self.where}; {self.expected}"
        )

    def data(self) -> dict[str, JSON]:
        """Return the order as structured content."""
        items: JSON = [{"name": item, "count": count} for item, count in self.items]
        return {**asdict(self), "items": items, "currency": "EUR"}


def _order(line: str) -> _Order:
    number, customer, items, total, status, where, expected = line.split("|")
    pairs = (item.partition(" ") for item in items.split("; "))
    return _Order(
        number=int(number),
        customer=customer,
        items=tuple((name, int(count)) for count, _, name in pairs),
        total=float(total),
        status=status,
        where=where,
        expected=expected,
    )


_ORDERS = {order.number: order for order in map(_order, _TABLE.read_text(encoding="utf-8").splitlines()[1:])}


def _get_order(arguments: Mapping[str, object]) -> Answer:
    number = whole_argument(arguments, "number")
    order = _ORDERS.get(number)
    if order is None:
        raise ToolFailed(f"no order {number}: there are {min(_ORDERS)} to {max(_ORDERS)}")
    return Answer(text=f"{order.line()}. Canned demo data.", structured=order.data())


def _list_orders(arguments: Mapping[str, object]) -> Answer:
    del arguments
    lines = [f"{len(_ORDERS)} orders (canned demo data):", *(f"- {order.line()}" for order in _ORDERS.values())]
    return Answer(text="\n".join(lines), structured={"orders": [order.data() for order in _ORDERS.values()]})


def _all_orders() -> str:
    return json.dumps([order.data() for order in _ORDERS.values()], ensure_ascii=False, indent=2)


_ORDER_FIELDS: dict[str, JSON] = {
    "number": {"type": "integer"},
    "customer": {"type": "string"},
    "items": {
        "type": "array",
        "items": {"type": "object", "properties": {"name": {"type": "string"}, "count": {"type": "integer"}}},
    },
    "total": {"type": "number"},
    "currency": {"type": "string"},
    "status": {"type": "string", "enum": ["paid", "packed", "shipped", "delivered", "returned", "cancelled"]},
    "where": {"type": "string"},
    "expected": {"type": "string"},
}

ORDERS = BundledServer(
    name="orders",
    title="Orders",
    instructions="Orders of a shop that does not exist (canned demo data). Look one up by its number, or list them all.",
    tools=(
        BundledTool(
            name="get_order",
            title="One order",
            description="Where one order is: its items, total, status and expected date, by its number.",
            properties={"number": {"type": "integer", "description": "Number of the order, such as 1042."}},
            output=_ORDER_FIELDS,
            answer=_get_order,
        ),
        BundledTool(
            name="list_orders",
            title="All orders",
            description="All orders with their items, totals and status.",
            properties={},
            output={"orders": {"type": "array", "items": {"type": "object", "properties": _ORDER_FIELDS}}},
            answer=_list_orders,
        ),
    ),
    resources=(
        BundledResource(
            uri="orders://all",
            name="all",
            title="All orders",
            description="Every order as JSON (canned demo data).",
            mime_type="application/json",
            read=_all_orders,
        ),
    ),
)
