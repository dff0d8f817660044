"""Builds a session's next request: the offered tools with their names, and the messages in the tool protocol's form.

The `hub` offers three tools instead of hundreds. Two of them, listing and inspection, the host answers from the catalog; the
third becomes an ordinary call of the named tool, decided and sent like any other call.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

from tui_host.capture.json.narrowing import mapping, number_or_zero
from tui_host.chat import result_words as wording
from tui_host.chat.active_profile import instruction_pieces, offers
from tui_host.chat.call_arguments import read_arguments
from tui_host.chat.images import image_words
from tui_host.errors import JSON, TuiHostError
from tui_host.llm.messages import Ask, Image, Message, Part, ResourceSpec, Text, ToolCall, ToolResult, ToolSpec
from tui_host.llm.protocols.table import protocol, template_of
from tui_host.llm.protocols.tool_protocol import TextPlace, answered
from tui_host.llm.request_writing import Tools
from tui_host.llm.schema_adaptation import AdaptedSchema, adapt
from tui_host.llm.tool_names import TEXT_NAMES, NameTable, tool_meant

if TYPE_CHECKING:
    from tui_host.chat.active_profile import AppliedProfile, SystemPiece
    from tui_host.chat.session import Session
    from tui_host.llm.dialects.dialect import Dialect
    from tui_host.llm.protocols.tool_protocol import Prepared, ToolProtocol
    from tui_host.llm.schema_adaptation import SchemaRules
    from tui_host.llm.tool_names import NameRule
    from tui_host.servers.catalog import Tool
    from tui_host.settings.schema import Settings

HUB = "hub"
"""The tool protocol's name; `hub+NAME` builds on a tool protocol other than `native`."""
LIST, INSPECT, INVOKE = "list_tools", "inspect_tool", "invoke_tool"
MOST_LISTED, USUALLY_LISTED = 100, 50
_SHOWN_CHARACTERS = 100
_LEFT_OUT = "[{}: left out, because the provider refused it]"

_NAME: JSON = {"type": "string", "description": "the tool's exact name"}
_NUMBER: JSON = {"type": "integer", "minimum": 0}
_HUB: Sequence[tuple[str, str, dict[str, JSON], tuple[str, ...]]] = (
    (
        LIST,
        f"List the tools that there are, by name and description ({MOST_LISTED} at most; more by offset).",
        {"limit": _NUMBER, "offset": _NUMBER},
        (),
    ),
    (INSPECT, "Show a tool's description and the schema of its arguments.", {"name": _NAME}, ("name",)),
    (
        INVOKE,
        "Call a tool. Inspect it first, and give arguments that fit its schema.",
        {"name": _NAME, "params": {"type": "object", "description": "the tool's arguments"}},
        ("name", "params"),
    ),
)
"""The tools that the model uses to find and call all other tools: name, description, arguments, and those that are required."""
HUB_TOOLS = tuple(
    ToolSpec(
        name=name,
        description=description,
        schema={"type": "object", "properties": properties, "required": [*required]},
        server=HUB,
        tool=name,
    )
    for name, description, properties, required in _HUB
)


def interpret(call: ToolCall, behind: Sequence[ToolSpec], spoken: Callable[[str], str]) -> ToolCall | str:
    """Return the call that a hub tool stands for, or the host's own answer. Raises TuiHostError with why neither can be given."""
    own = tool_meant(call.name, HUB_TOOLS)
    if own is None:
        tool = tool_meant(call.name, behind)
        if tool is not None:
            params = f'{{"name": {_json(tool.name)}, "params": {{…}}}}'
            remedy = f"call {spoken(INVOKE)} with {params}"
            raise TuiHostError(f"{call.name} is not offered by itself", remedy=remedy)
        remedy = f"{spoken(LIST)} names those that there are"
        raise TuiHostError(f"there is no tool {spoken(call.name)}", remedy=remedy)
    given = read_arguments(call.arguments)
    if own.name == LIST:
        limit, offset = number_or_zero(given.get("limit")), number_or_zero(given.get("offset"))
        limit, offset = limit if limit > 0 else USUALLY_LISTED, max(offset, 0)
        some = behind[offset : offset + min(limit, MOST_LISTED)]
        lines = [f"Total: {len(behind)} tools, offset {offset}, returned {len(some)}", ""]
        lines += [f"- {tool.name}: {' '.join(tool.description.split())}" for tool in some]
        return "\n".join(lines)
    name = given.get("name")
    if not isinstance(name, str):
        raise TuiHostError("name is missing", remedy=f"{LIST} names all")
    tool = tool_meant(name, behind)
    if tool is None:
        raise TuiHostError(f"there is no tool {name[:_SHOWN_CHARACTERS]!r}", remedy=f"{LIST} names all")
    if own.name == INSPECT:
        return f"{tool.name}: {tool.description}\n\nArguments: {_json(tool.schema)}"
    params: JSON = given.get("params")
    if params is None:
        required = mapping(tool.schema).get("required")
        if required or len(given) > 1:  # a call without them would run with other arguments than the model meant
            needed = f"{tool.name} requires {_json(required)}" if required else "the tool's arguments belong there"
            raise TuiHostError(f"params is missing: {needed}")
        params = {}
    if not isinstance(params, Mapping):
        raise TuiHostError("params is not a JSON object")
    return replace(call, name=name, arguments=_json(params))


def _json(value: JSON) -> str:
    return json.dumps(value, ensure_ascii=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Offer:
    """The tools to offer in a request. Depends on the catalog alone (`made_of`), so it is reused until the catalog changes.

    `specs` are sent, `known` are all whose names the model may know, `adapted` the changed schemas by name; behind the hub
    are `behind`, None where the tools are offered by themselves.
    """

    made_of: tuple[object, ...]
    adapted: Mapping[str, AdaptedSchema]
    table: NameTable
    specs: Tools
    known: Tools
    behind: Tools | None = None


def offer_of(
    tools: tuple[Tool, ...], rule: NameRule, schemas: SchemaRules, *, is_hub: bool, before: Offer | None = None
) -> Offer:
    """Return the offer of these tools: the one `before` where nothing has changed."""
    # A turn of many steps writes its tools once: the texts made of `specs` are kept with them.
    made_of = (rule, schemas, is_hub, tools)
    if before is not None and before.made_of == made_of:
        return before
    table = NameTable.make(((tool.server, tool.name) for tool in tools), rule)
    offered: list[ToolSpec] = []
    for tool in tools:
        name, description, resources = table.names[tool.server, tool.name], tool.description, None
        # The tool's own name precedes the description where the dialect's rule changed it.
        if name != f"{tool.server}__{tool.name}":
            description = f"{tool.name}: {description}" if description else tool.name
        if tool.resources is not None:
            resources = tuple(
                ResourceSpec(
                    uri=found.uri, name=found.name, description=found.description, is_template=found.is_template
                )
                for found in tool.resources
            )
        spec = ToolSpec(
            name=name,
            description=description,
            schema=tool.schema,
            server=tool.server,
            tool=tool.name,
            resources=resources,
        )
        offered.append(spec)
    own = known = behind = Tools(offered)
    if is_hub:
        own, known = Tools(HUB_TOOLS), Tools((*HUB_TOOLS, *behind))
    adapted = {spec.name: schema for spec in own if (schema := adapt(spec.schema, schemas)).changes}
    return Offer(
        made_of=made_of, adapted=adapted, table=table, specs=own, known=known, behind=behind if is_hub else None
    )


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
    before: Offer | None = None,
    unsent: Sequence[Part] = (),
) -> NextRequest:
    """Build the next request of a session, with the tools of all ready servers and (for a preview) parts of an `unsent` message."""
    is_hub = session.protocol.partition("+")[0] == HUB
    is_native = protocol.name == "native"
    with_resources = protocol.reads_resources and not is_hub
    offered = [tool for tool in tools if offers(profile.profile, tool.server, tool.name)]
    shown = tuple(tool for tool in offered if tool.resources is None or with_resources)
    rule = dialect.name_rule if is_native or is_hub else TEXT_NAMES
    offer = offer_of(shown, rule, dialect.writer.rules, is_hub=is_hub, before=before)
    system = list(profile.system)
    if is_native and profile.instructions:
        system += [("\n\n", "")] if system else []
        system += instruction_pieces(profile.instructions)
    history = _history(session, unsent)
    if system:
        text = "".join(text for text, _ in system)
        # Written anew for each request: a profile's time and the servers' instructions are those of this turn.
        history.insert(0, Message(role="system", parts=(Text(text=text),)))
    specs: Sequence[ToolSpec] = offer.specs
    if is_native and not specs and not dialect.takes_calls_without_tools:
        # Stand-ins for the tools that the history calls: several vendors refuse its calls where no tool is offered.
        words = "Called earlier in this conversation. It is not available now: do not call it."
        names = dict.fromkeys(part.name for message in history for part in message.parts if isinstance(part, ToolCall))
        bare: JSON = {"type": "object", "properties": {}}
        specs = [ToolSpec(name=name, description=words, schema=bare, server="", tool=name) for name in names]
    prepared = protocol.prepare(history, specs)
    prepared = replace(prepared, places=tuple(_places(prepared, system)))
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


def _history(session: Session, unsent: Sequence[Part]) -> list[Message]:
    """Return the messages to send, without the turns and images that this model is no longer given.

    They have a form that every provider accepts: each call has a result. Several services require user and assistant to
    alternate: a host message replaces a missing answer, and a host's note joins the next question. What the user said for
    a step stands behind its results.
    """
    refused, first = session.refused_images.get(str(session.model), 0), session.omitted_turns
    kept = (message for message in session.messages if message.turn > first or not first)
    sent = [
        replace(message, parts=tuple(map(_without_images, message.parts))) if message.turn <= refused else message
        for message in kept
    ]
    if unsent:
        sent.append(Message(role="user", parts=tuple(unsent), turn=session.turn + 1))
    whole: list[Message] = []
    for message in answered(sent):
        before = whole[-1] if whole else None
        is_joined = not message.source and before is not None and (before.role, before.turn) == ("tool", message.turn)
        if message.role != "user" or before is None or before.role == "assistant" or is_joined:
            whole.append(message)
        elif before.role == "user" and "host" in {before.source, message.source}:
            whole[-1] = replace(message, parts=(*before.parts, Text(text="\n\n"), *message.parts))
        else:
            whole += (host_message(wording.NO_ANSWER, turn=before.turn), message)
    return whole


def _without_images(part: Part) -> Part:
    if isinstance(part, ToolResult):
        blocks = (
            Text(text=_LEFT_OUT.format(image_words(block))) if isinstance(block, Image) else block
            for block in part.content
        )
        return replace(part, content=tuple(blocks))
    return Text(text=_LEFT_OUT.format(image_words(part))) if isinstance(part, Image) else part


def _places(prepared: Prepared, system: Sequence[SystemPiece]) -> Iterator[TextPlace]:
    """Yield the protocol's places, with the system prompt's parts by origin, and those of what servers' prompts and resources gave."""
    for place in prepared.places:
        if place.source != "profile":
            yield place
            continue
        start = place.start
        for text, origin in system:  # the profile's, and servers' instructions
            if text.strip():
                yield replace(place, start=start, end=start + len(text), words=origin)
            start += len(text)
    for number, message in enumerate(prepared.messages):
        start = 0
        for part in message.parts:
            if isinstance(part, Text):
                if part.origin:
                    end = start + len(part.text)
                    yield TextPlace(source="given", message=number, start=start, end=end, words=part.origin)
                start += len(part.text)


def host_message(text: str, *, turn: int, role: Literal["assistant", "user"] = "assistant") -> Message:
    """Make a message by the host: in the place of the model's answer, or as the user for the model."""
    return Message(role=role, parts=(Text(text=text),), turn=turn, source="host")


def new_results(messages: Sequence[Message]) -> list[ToolResult]:
    """Return the results that no answer of the model follows: the next request reports them for the first time."""
    results: list[ToolResult] = []
    for message in messages:
        if message.role == "assistant" and message.source != "host":
            results.clear()
        results += [part for part in message.parts if isinstance(part, ToolResult)]
    return results
