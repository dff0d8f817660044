"""The bundled server `orders`: a handful of constant orders."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass

from tui_host.demo.servers.bundled import (
    Answer,
    BundledResource,
    BundledServer,
    BundledTool,
    ToolFailed,
    whole_argument,
)
from tui_host.errors import JSON


@dataclass(frozen=True, slots=True, kw_only=True)
class _Order:
    number: int
    customer: str
    items: tuple[tuple[str, int], ...]
    total_cents: int
    status: str
    where: str
    expected: str

    def line(self) -> str:
        """Write the order in a line."""
        items = ", ".join(f"{count} × {item}" for item, count in self.items)
        return (
            f"Order {self.number} ({self.customer}): {items}; {self.total_cents / 100:.2f} EUR; "
            f"{self.status}, {self.where}; {self.expected}"
        )

    def data(self) -> dict[str, JSON]:
        """The order as structured content."""
        return {
            "number": self.number,
            "customer": self.customer,
            "items": [{"name": item, "count": count} for item, count in self.items],
            "total": self.total_cents / 100,
            "currency": "EUR",
            "status": self.status,
            "where": self.where,
            "expected": self.expected,
        }


def _order(number: int, customer: str, items: tuple[tuple[str, int], ...], total_cents: int, fate: str) -> _Order:
    status, where, expected = fate.split("; ")
    return _Order(
        number=number,
        customer=customer,
        items=items,
        total_cents=total_cents,
        status=status,
        where=where,
        expected=expected,
    )


_ORDERS = {
    order.number: order
    for order in (
        _order(1038, "Amara Okafor", (("notebook", 3),), 1485, "delivered; with the customer; signed on 3 March"),
        _order(1039, "李明", (("茶杯", 2), ("绿茶", 1)), 3890, "delivered; with the customer; signed on 5 March"),
        _order(1040, "Jonas Weber", (("desk lamp", 1),), 6900, "returned; in the warehouse; refund on 12 March"),
        _order(1041, "Sofia Rossi", (("fountain pen", 1), ("ink, blue", 2)), 5230, "shipped; at customs; on 14 March"),
        _order(1042, "Mei Tanaka", (("mechanical keyboard", 1),), 11900, "shipped; in Rotterdam; on 12 March"),
        _order(1043, "王芳", (("字帖", 4),), 2360, "packed; in the warehouse; leaves on 10 March"),
        _order(1044, "Noah Smith", (("monitor arm", 2),), 15800, "paid; in the warehouse; waits for stock"),
        _order(1045, "Lucía Pérez", (("headphones", 1),), 8450, "cancelled; never left; refunded on 9 March"),
    )
}


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
