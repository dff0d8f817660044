"""Builds a session's next request: the offered tools with their names, and the messages in the tool protocol's form."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from tui_host.chat.history_repair import complete_history
from tui_host.chat.offered_tools import Offer
from tui_host.chat.tool_hub import HUB, Hub
from tui_host.llm.messages import Ask, Message, Part, Text, ToolSpec
from tui_host.llm.protocols.protocol_table import protocol
from tui_host.llm.tool_names import NameRule, NameTable
from tui_host.settings.protocol_prompts import template_of

if TYPE_CHECKING:
    from tui_host.chat.active_profile import AppliedProfile
    from tui_host.chat.session import Session
    from tui_host.llm.protocols.tool_protocol import Prepared, ToolProtocol
    from tui_host.servers.catalog import Tool
    from tui_host.settings.schema import Settings


@dataclass(frozen=True, slots=True, kw_only=True)
class NextRequest:
    """The next request.

    Attributes:
        ask: The request, for any dialect.
        table: Maps tool names in the request to servers and tools.
        tools: The offered tools.
        known: Tools the model may know by name: offered ones, and those behind the hub.
        speaks: The tool protocol.
        hub: Stands in for all tools; None if the tools are offered directly.
        history: The messages, in a form accepted by every provider.
        prepared: The messages in the tool protocol's form.
    """

    ask: Ask
    prepared: Prepared
    table: NameTable
    tools: tuple[ToolSpec, ...]
    known: tuple[ToolSpec, ...]
    speaks: ToolProtocol
    history: Sequence[Message]
    hub: Hub | None = None


def session_protocol(session: Session, settings: Settings) -> ToolProtocol:
    """Return the session's tool protocol, with its prompt freshly read from the files. Blocks on the disk.

    Raises:
        SettingsError: The name is unknown, or a user's own prompt cannot be read.
    """
    name = session.protocol.removeprefix(f"{HUB}+") if session.protocol != HUB else "native"
    return protocol(name, template_of(name, settings.config_dir))


def build_request(
    session: Session,
    tools: Sequence[Tool],
    rule: NameRule,
    speaks: ToolProtocol,
    *,
    profile: AppliedProfile,
    unsent: Sequence[Part] = (),
) -> NextRequest:
    """Build the next request of a session.

    Args:
        session: Provides messages and model.
        tools: The tools of all ready servers, including resource readers.
        rule: The dialect's rule for tool names.
        speaks: The tool protocol.
        profile: The session's profile, as applied to the turn.
        unsent: Parts of a message still in the prompt, to preview the request with it.
    """
    is_hub = session.protocol.partition("+")[0] == HUB
    with_resources = speaks.reads_resources and not is_hub
    shown = tuple(tool for tool in profile.offered(tools) if tool.resources is None or with_resources)
    offer = session.offer = Offer.make(shown, rule, is_hub=is_hub, before=session.offer)
    more = [Message(role="user", parts=tuple(unsent), turn=session.turn + 1)] if unsent else []
    system = [Message(role="system", parts=(Text(text=profile.system),))] if profile.system else []
    history = [*system, *complete_history([*session.messages, *more])]
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
    return NextRequest(
        ask=ask,
        prepared=prepared,
        table=offer.table,
        tools=offer.specs,
        known=offer.known,
        speaks=speaks,
        history=history,
        hub=offer.hub,
    )
