"""Builds a session's next request: the offered tools with their names, and the messages in the tool protocol's form."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from tui_host.chat import result_words as wording
from tui_host.chat.active_profile import instruction_pieces, offers
from tui_host.chat.offered_tools import HUB, Offer
from tui_host.chat.result_words import image_words
from tui_host.errors import JSON
from tui_host.llm.messages import Ask, Image, Message, Part, Text, ToolCall, ToolResult, ToolSpec
from tui_host.llm.protocols.table import protocol
from tui_host.llm.protocols.tool_protocol import Injected, answered
from tui_host.llm.tool_names import TEXT_NAMES
from tui_host.settings.protocol_prompts import template_of

if TYPE_CHECKING:
    from tui_host.chat.active_profile import AppliedProfile, SystemPiece
    from tui_host.chat.session import Session
    from tui_host.llm.dialects.dialect import Dialect
    from tui_host.llm.protocols.tool_protocol import Prepared, ToolProtocol
    from tui_host.llm.schema_adaptation import AdaptedSchema
    from tui_host.servers.catalog import Tool
    from tui_host.settings.schema import Settings

_TAKES_CALLS_WITHOUT_TOOLS = frozenset({"ollama"})
"""Dialects of servers that take calls in a history without tools, and refuse tools where the model knows none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NextRequest:
    """The next request of a session, independent of the dialect and (`prepared`) in the tool protocol's form.

    `adapted` holds the schemas changed for the dialect, by tool name; it is empty if a prompt describes the tools.
    """

    ask: Ask
    prepared: Prepared
    offer: Offer
    protocol: ToolProtocol
    history: Sequence[Message]
    adapted: Mapping[str, AdaptedSchema]


def session_protocol(session: Session, settings: Settings) -> ToolProtocol:
    """Return the session's tool protocol, with its prompt read from the files now: blocks on the disk, raises SettingsError."""
    name = session.protocol.removeprefix(f"{HUB}+") if session.protocol != HUB else "native"
    return protocol(name, template_of(name, settings.config_dir))


def build_request(
    session: Session,
    tools: Sequence[Tool],
    dialect: Dialect,
    protocol: ToolProtocol,
    *,
    profile: AppliedProfile,
    unsent: Sequence[Part] = (),
) -> NextRequest:
    """Build the next request of a session, with the tools of all ready servers and (for a preview) parts of an `unsent` message."""
    is_hub = session.protocol.partition("+")[0] == HUB
    is_native = protocol.name == "native"
    with_resources = protocol.reads_resources and not is_hub
    offered = [tool for tool in tools if offers(profile.profile, tool.server, tool.name)]
    shown = tuple(tool for tool in offered if tool.resources is None or with_resources)
    rule = dialect.name_rule if is_native or is_hub else TEXT_NAMES
    offer = session.offer = Offer.make(shown, rule, dialect.schema_rules, is_hub=is_hub, before=session.offer)
    system = list(profile.system)
    if is_native and profile.instructions:
        system += [("\n\n", "")] if system else []
        system += instruction_pieces(profile.instructions)
    history = complete_history(_sent(session, unsent))
    if system:
        text = "".join(text for text, _ in system)
        history.insert(0, Message(role="system", parts=(Text(text=text),)))
    specs: Sequence[ToolSpec] = offer.specs
    if is_native and not specs and dialect.name not in _TAKES_CALLS_WITHOUT_TOOLS:
        specs = _called_before(history)
    prepared = protocol.prepare(history, specs)
    if prepared.own:
        prepared = replace(prepared, own=tuple(_origins(prepared.own[0], system)))
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
        offer=offer,
        protocol=protocol,
        history=history,
        adapted=offer.adapted if prepared.tools else {},
    )


def _sent(session: Session, unsent: Sequence[Part]) -> Iterator[Message]:
    """Yield the messages to send: without the turns and images that this model is no longer given."""
    refused = session.refused_images.get(str(session.model), 0)
    for message in session.messages:
        if message.turn > session.omitted_turns or not session.omitted_turns:
            yield _without_images(message) if message.turn <= refused else message
    if unsent:
        yield Message(role="user", parts=tuple(unsent), turn=session.turn + 1)


def _without_images(message: Message) -> Message:
    parts: list[Part] = []
    for part in message.parts:
        if isinstance(part, ToolResult):
            parts.append(replace(part, content=tuple(map(_in_words, part.content))))
        else:
            parts.append(_in_words(part) if isinstance(part, Image) else part)
    return replace(message, parts=tuple(parts))


def _in_words(part: Text | Image) -> Text:
    if isinstance(part, Text):
        return part
    return Text(text=f"[{image_words(part)}: left out, because the provider refused it]")


def _called_before(history: Sequence[Message]) -> tuple[ToolSpec, ...]:
    """Return stand-ins for the tools that a history calls: several vendors refuse its calls where no tool is offered."""
    names = dict.fromkeys(part.name for message in history for part in message.parts if isinstance(part, ToolCall))
    words = "Called earlier in this conversation. It is not available now: do not call it."
    schema: JSON = {"type": "object", "properties": {}}
    return tuple(ToolSpec(name=name, description=words, schema=schema, server="", tool=name) for name in names)


def _origins(whole: Injected, system: Sequence[SystemPiece]) -> Iterator[Injected]:
    """Yield the parts of the system prompt by origin: the profile, or a server's instructions."""
    start = whole.start
    for text, origin in system:
        if text.strip():
            yield replace(whole, start=start, end=start + len(text), words=origin)
        start += len(text)


def _given(messages: Sequence[Message]) -> Iterator[Injected]:
    """Yield the places of what servers' prompts and resources gave."""
    for number, message in enumerate(messages):
        start = 0
        for part in message.parts:
            if isinstance(part, Text):
                if part.origin:
                    yield Injected(message=number, start=start, end=start + len(part.text), words=part.origin)
                start += len(part.text)


def host_message(text: str, *, turn: int) -> Message:
    """Make a message by the host that takes the place of the model's answer."""
    return Message(role="assistant", parts=(Text(text=text),), turn=turn, source="host")


def host_note(text: str, *, turn: int) -> Message:
    """Make a message by the host for the model, in the role of the user."""
    return Message(role="user", parts=(Text(text=text),), turn=turn, source="host")


def complete_history(messages: Iterable[Message]) -> list[Message]:
    """Return the messages in a form that every provider accepts.

    Each call has a result. Several services require user and assistant to alternate: a host message replaces a missing
    answer, and a host's note joins the next question.
    """
    whole: list[Message] = []
    for message in answered(tuple(messages)):
        before = whole[-1] if whole else None
        if message.role != "user" or before is None or before.role == "assistant":
            whole.append(message)
        elif before.role == "user" and "host" in {before.source, message.source}:
            whole[-1] = replace(message, parts=(*before.parts, Text(text="\n\n"), *message.parts))
        else:
            whole += (host_message(wording.NO_ANSWER, turn=before.turn), message)
    return whole


def new_results(messages: Sequence[Message]) -> list[ToolResult]:
    """Return the results that no answer of the model follows: the next request reports them for the first time."""
    results: list[ToolResult] = []
    for message in messages:
        if message.role == "assistant" and message.source != "host":
            results.clear()
        results += [part for part in message.parts if isinstance(part, ToolResult)]
    return results
