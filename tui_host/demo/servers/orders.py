"""The bundled server `orders`: a few orders that never change."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

from mcp.server.mcpserver import MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from mcp_types import CallToolResult, TextContent
from pydantic import BaseModel, Field

from tui_host.demo.servers.annotations import READS, VERSION


class Order(BaseModel):
    """An order, as structured content: a row of the table."""

    number: int
    customer: str
    items: str
    total: float
    status: str
    where: str
    expected: str
    currency: str = "EUR"

    @property
    def line(self) -> str:
        total = f"{self.total:.2f} {self.currency}"
        return f"Order {self.number} ({self.customer}): {self.items}; {total}; {self.status}, {self.where}; {self.expected}"


_HEAD, *_ROWS = Path(__file__).with_name("orders.csv").read_text(encoding="utf-8").splitlines()
_ALL = [Order.model_validate(dict(zip(_HEAD.split("|"), row.split("|"), strict=True))) for row in _ROWS]
_ORDERS = {order.number: order for order in _ALL}

SERVER = MCPServer(
    "orders",
    title="Orders",
    version=VERSION,
    log_level="ERROR",
    instructions="Orders of a shop that does not exist (canned demo data). Look one up by its number, or list them all.",
)


@SERVER.tool(title="One order", annotations=READS)
def get_order(
    number: Annotated[int, Field(description="Number of the order, such as 1042.")],
) -> Annotated[CallToolResult, Order]:
    """Where one order is: its items, total, status and expected date, by its number."""
    if number not in _ORDERS:
        raise ToolError(f"no order {number}: there are {min(_ORDERS)} to {max(_ORDERS)}")
    order = _ORDERS[number]
    text = TextContent(type="text", text=f"{order.line}. Canned demo data.")
    return CallToolResult(content=[text], structured_content=order.model_dump())


@SERVER.tool(title="All orders", annotations=READS)
def list_orders() -> str:
    """All orders with their items, totals and status."""
    lines = [f"{len(_ORDERS)} orders (canned demo data):", *(f"- {order.line}" for order in _ORDERS.values())]
    return "\n".join(lines)


@SERVER.resource("orders://all", title="All orders", mime_type="application/json")
def every_order() -> str:
    """Every order as JSON (canned demo data)."""
    return json.dumps([order.model_dump() for order in _ORDERS.values()], ensure_ascii=False, indent=2)
