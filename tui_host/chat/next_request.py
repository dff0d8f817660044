"""The next request of a session: which tools it offers, under which names, and the messages as the tool protocol has them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from tui_host.chat.history_repair import mended
from tui_host.chat.offered_tools import Offer
from tui_host.chat.tool_hub import HUB, Hub
from tui_host.llm.messages import Ask, Message, Part, Text, ToolSpec
from tui_host.llm.protocols.protocol_table import protocol
from tui_host.llm.tool_names import NameRule, NameTable
from tui_host.settings.templates import template_of

if TYPE_CHECKING:
    from tui_host.chat.active_profile import Applied
    from tui_host.chat.session import Session
    from tui_host.llm.protocols.tool_protocol import Prepared, ToolProtocol
    from tui_host.servers.catalog import Tool
    from tui_host.settings.schema import Settings


@dataclass(frozen=True, slots=True, kw_only=True)
class Asking:
    """What would be asked now.

    Attributes:
        ask: The request, for any dialect.
        table: Leads from the names in it back to servers and tools.
        tools: What is offered.
        known: What a model may know by name: what is offered, and what the hub leads to.
        speaks: The tool protocol.
        hub: What stands for all tools, None where they are offered themselves.
        history: The messages it tells, as every provider takes them.
        prepared: The same as the tool protocol has them.
    """

    ask: Ask
    prepared: Prepared
    table: NameTable
    tools: tuple[ToolSpec, ...]
    known: tuple[ToolSpec, ...]
    speaks: ToolProtocol
    history: Sequence[Message]
    hub: Hub | None = None


def spoken(session: Session, settings: Settings) -> ToolProtocol:
    """The session's tool protocol, with its prompt as it stands in the files now. Blocks on the disk.

    Raises:
        SettingsError: There is none of that name, or a person's own prompt cannot be read.
    """
    name = session.protocol.removeprefix(f"{HUB}+") if session.protocol != HUB else "native"
    return protocol(name, template_of(name, settings.config_dir))


def asking(
    session: Session,
    tools: Sequence[Tool],
    rule: NameRule,
    speaks: ToolProtocol,
    *,
    profile: Applied,
    unsent: Sequence[Part] = (),
) -> Asking:
    """The next request of a session.

    Args:
        session: Its messages and model.
        tools: Those of all servers that are ready now, with what reads resources.
        rule: How the dialect wants tools to be named.
        speaks: The tool protocol.
        profile: The session's, as the turn follows it.
        unsent: The parts of a message that stands in the prompt: the request as it would be, were it sent.
    """
    is_hub = session.protocol.partition("+")[0] == HUB
    with_resources = speaks.reads_resources and not is_hub
    shown = tuple(tool for tool in profile.offered(tools) if tool.resources is None or with_resources)
    offer = session.offer = Offer.make(shown, rule, is_hub=is_hub, before=session.offer)
    more = [Message(role="user", parts=tuple(unsent), turn=session.turn + 1)] if unsent else []
    told = [Message(role="system", parts=(Text(text=profile.system),))] if profile.system else []
    history = [*told, *mended([*session.messages, *more])]
    prepared = speaks.prepare(history, offer.specs)
    if prepared.own is not None and profile.profile is not None:
        prepared = replace(prepared, own=replace(prepared.own, words=f"profile {profile.profile.name}"))
    ask = Ask(
        model=session.model.model,
        messages=prepared.messages,
        tools=prepared.tools,
        stop_sequences=prepared.stop_sequences,
        options=session.options.over(profile.options),
    )
    return Asking(
        ask=ask,
        prepared=prepared,
        table=offer.table,
        tools=offer.specs,
        known=offer.known,
        speaks=speaks,
        history=history,
        hub=offer.hub,
    )
