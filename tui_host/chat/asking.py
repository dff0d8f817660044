"""The next request of a session: which tools it offers, under which names, and the messages as the tool protocol has them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tui_host.chat.history import mended
from tui_host.llm.messages import Ask, Message, Text, ToolSpec
from tui_host.llm.names import NameRule, NameTable

if TYPE_CHECKING:
    from tui_host.chat.session import Session
    from tui_host.llm.protocols.protocol import ToolProtocol
    from tui_host.servers.catalog import Tool


@dataclass(frozen=True, slots=True, kw_only=True)
class Asking:
    """What would be asked now.

    Attributes:
        ask: The request, for any dialect.
        table: Leads from the names in it back to servers and tools.
        tools: What is offered.
        history: The messages it tells, as every provider takes them.
    """

    ask: Ask
    table: NameTable
    tools: tuple[ToolSpec, ...]
    history: Sequence[Message]


def asking(
    session: Session, tools: Sequence[Tool], rule: NameRule, spoken: ToolProtocol, *, unsent: str = ""
) -> Asking:
    """The next request of a session.

    Args:
        session: Its messages and model.
        tools: Those of all servers that are ready now.
        rule: How the dialect wants tools to be named.
        spoken: The tool protocol.
        unsent: A message that stands in the prompt: the request as it would be, were it sent.
    """
    table = NameTable.make(((tool.server, tool.name) for tool in tools), rule)
    specs = tuple(
        ToolSpec(
            name=table.name(tool.server, tool.name),
            description=tool.description,
            schema=tool.schema,
            server=tool.server,
            tool=tool.name,
        )
        for tool in tools
    )
    more = [Message(role="user", parts=(Text(text=unsent),), turn=session.turn + 1)] if unsent else []
    history = mended([*session.messages, *more])
    prepared = spoken.prepare(history, specs)
    ask = Ask(
        model=session.model.model,
        messages=prepared.messages,
        tools=prepared.tools,
        stop_sequences=prepared.stop_sequences,
    )
    return Asking(ask=ask, table=table, tools=specs, history=history)
