"""Builds a session's next request: the offered tools with their names, and the messages in the tool protocol's form."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from tui_host.chat.active_profile import Placed
from tui_host.chat.history_repair import complete_history
from tui_host.chat.offered_tools import Offer
from tui_host.chat.tool_hub import HUB, Hub
from tui_host.llm.messages import Ask, Message, Part, Text, ToolSpec
from tui_host.llm.protocols.table import protocol
from tui_host.llm.protocols.tool_protocol import Injected
from tui_host.llm.tool_names import TEXT_NAMES, NameTable
from tui_host.settings.protocol_prompts import template_of

if TYPE_CHECKING:
    from tui_host.chat.active_profile import AppliedProfile
    from tui_host.chat.session import Session
    from tui_host.llm.dialects.dialect import Dialect
    from tui_host.llm.protocols.tool_protocol import Injected, Prepared, ToolProtocol
    from tui_host.llm.schema_adaptation import AdaptedSchema
    from tui_host.servers.catalog import Tool
    from tui_host.settings.schema import Settings


@dataclass(frozen=True, slots=True, kw_only=True)
class NextRequest:
    """The next request of a session, and how its tool names are resolved.

    Attributes:
        ask: The request, independent of the dialect.
        table: Maps the tool names in the request to servers and tools.
        tools: The offered tools.
        known: Tools whose names the model may know: the offered tools, and the tools behind the hub.
        protocol: The tool protocol.
        hub: The three tools offered in place of all tools; None if the tools are offered directly.
        adapted: The schemas changed for the dialect, by tool name; empty if a prompt describes the tools.
        history: The session's messages in a form that every provider accepts.
        prepared: The messages in the tool protocol's form.
    """

    ask: Ask
    prepared: Prepared
    table: NameTable
    tools: tuple[ToolSpec, ...]
    known: tuple[ToolSpec, ...]
    protocol: ToolProtocol
    history: Sequence[Message]
    adapted: Mapping[str, AdaptedSchema]
    hub: Hub | None = None


def session_protocol(session: Session, settings: Settings) -> ToolProtocol:
    """Return the session's tool protocol, with its prompt read from the files now. Blocks on the disk.

    Raises:
        SettingsError: The tool protocol's name is unknown, or a user's own prompt cannot be read.
    """
    name = session.protocol.removeprefix(f"{HUB}+") if session.protocol != HUB else "native"
    return protocol(name, template_of(name, settings.config_dir))


def _sent(session: Session) -> Iterator[Message]:
    omitted = session.omitted_turns
    return (message for message in session.messages if not omitted or message.turn > omitted)


def _origins(whole: Injected, text: Placed, profile: AppliedProfile) -> Iterator[Injected]:
    """Yield the parts of the system prompt by origin: the profile, or a server's instructions."""
    of_profile = "" if profile.profile is None else f"profile {profile.profile.name}"
    done = 0
    for start, end, server in [*text.ranges, (len(text.text), len(text.text), "")]:
        for first, last, words in ((done, start, of_profile), (start, end, f"the server {server}")):
            if text.text[first:last].strip():
                yield replace(whole, start=whole.start + first, end=whole.start + last, words=words)
        done = end


def _given(messages: Sequence[Message]) -> Iterator[Injected]:
    """Yield the places of what servers' prompts and resources gave."""
    for number, message in enumerate(messages):
        start = 0
        for part in message.parts:
            if isinstance(part, Text):
                if part.origin:
                    yield Injected(message=number, start=start, end=start + len(part.text), words=part.origin)
                start += len(part.text)


def build_request(
    session: Session,
    tools: Sequence[Tool],
    dialect: Dialect,
    protocol: ToolProtocol,
    *,
    profile: AppliedProfile,
    unsent: Sequence[Part] = (),
) -> NextRequest:
    """Build the next request of a session.

    Args:
        session: The session, which provides messages and model.
        tools: The tools of all ready servers, including the tools that read resources.
        dialect: The dialect, whose rules for tool names and schemas apply.
        protocol: The tool protocol.
        profile: The session's profile, as filled in for the turn.
        unsent: Parts of a message that is still being typed, to preview the request.
    """
    is_hub = session.protocol.partition("+")[0] == HUB
    with_resources = protocol.reads_resources and not is_hub
    shown = tuple(tool for tool in profile.offered(tools) if tool.resources is None or with_resources)
    is_in_words = protocol.name != "native" and not is_hub
    offer = session.offer = Offer.make(
        shown,
        TEXT_NAMES if is_in_words else dialect.name_rule,
        dialect.schema_rules,
        is_hub=is_hub,
        before=session.offer,
    )
    more = [Message(role="user", parts=tuple(unsent), turn=session.turn + 1)] if unsent else []
    own = Placed(profile.system, profile.placed)
    if protocol.name == "native" and profile.instructions:
        own.add("\n\n" if own.text else "")
        own.add_instructions(profile.instructions)
    system = [Message(role="system", parts=(Text(text=own.text),))] if own.text else []
    history = [*system, *complete_history([*_sent(session), *more])]
    prepared = protocol.prepare(history, offer.specs)
    if prepared.own:
        prepared = replace(prepared, own=tuple(_origins(prepared.own[0], own, profile)))
    prepared = replace(prepared, given=tuple(_given(prepared.messages)))
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
        protocol=protocol,
        history=history,
        adapted=offer.adapted if prepared.tools else {},
        hub=offer.hub,
    )
