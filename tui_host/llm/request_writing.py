"""What the dialects' writers share: the walk over a conversation, ids of calls, what goes back, and the bytes of a body."""

from __future__ import annotations

import hashlib
import json
import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from tui_host.errors import JSON
from tui_host.llm.messages import Ask, Image, Message, Part, Text, Thinking, ToolCall, ToolResult, ToolSpec
from tui_host.llm.outgoing import Growing, Outgoing, Target
from tui_host.llm.schema_adaptation import SchemaRules, adapt
from tui_host.settings.model_options import value_of

UNREADABLE = "unreadable_arguments"
"""The key for arguments that are no JSON object."""
_IMAGES = frozenset({"image/jpeg", "image/png", "image/gif", "image/webp"})
"""The types of images that nearly every service accepts; any other type would be refused."""
_SURROGATE = re.compile("[\ud800-\udfff]")
_compact = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode


class RequestWriter:
    """Writes one request. A dialect's subclass says the path, the members of the body, and how the parts look.

    Attributes:
        dialect: The dialect's name, with which data to send back was kept.
        conversation: The member with the conversation.
        missing: The options that the API lacks, each with the reason.
        added: The members that the person adds; they win over the dialect's.
        stops: The texts to stop at, as far as the API takes them.
    """

    dialect = ""
    conversation = "messages"
    schemas = SchemaRules()
    images = _IMAGES
    missing: Mapping[str, str] = {}

    def __init__(self, ask: Ask, target: Target, ids: CallIds, most_stops: int = 100) -> None:
        self.ask = ask
        self.target = target
        self.ids = ids
        self.added = dict(ask.extra)
        self.stops = list(ask.stops[:most_stops])

    def outgoing(self) -> Outgoing:
        """Write the request, the conversation last, so that a request begins with all bytes of the previous one."""
        path, members = self.path(), self.body() | self.added
        name, more, instead = self.conversation, members.pop("tools", None), members.pop(self.conversation, None)
        texts = [f"{json_text(key)}:{json_text(value)}" for key, value in members.items()]
        tools = self.tools()
        if tools is not None and isinstance(more, list):  # a vendor's web search, behind the offered tools
            tools = f"{tools.removesuffix(']')}{''.join(f',{json_text(tool)}' for tool in more)}]"
        elif more is not None:
            tools = json_text(more)
        if tools is not None:
            texts.append(f'"tools":{tools}')
        head = _encoded("{" + "".join(f"{text}," for text in texts) + f"{json_text(name)}:")
        if instead is not None:
            growing, said = Growing(name=name), _encoded(json_text(instead))
        else:
            growing, said = self._conversation(len(head))
        return Outgoing(url=path, body=head + said + b"}", growing=growing, unsent=self.unsent())

    def _conversation(self, start: int) -> tuple[Growing, bytes]:
        pieces = [_encoded(json_text(message)) for message in self.messages()]
        spans: list[tuple[int, int]] = []
        for piece in pieces:
            start += 1  # the bracket, or the comma
            spans.append((start, start + len(piece)))
            start += len(piece)
        return Growing(name=self.conversation, spans=tuple(spans)), b"[" + b",".join(pieces) + b"]"

    def path(self) -> str:
        """Return the path below the base URL."""
        raise NotImplementedError

    def body(self) -> dict[str, JSON]:
        """Return all members of the body but the tools and the conversation."""
        raise NotImplementedError

    def tool(self, tool: ToolSpec) -> JSON:
        """Write a tool."""
        raise NotImplementedError

    def user(self, parts: Sequence[Part]) -> Iterable[JSON]:
        """Write a user's words and images."""
        raise NotImplementedError

    def answer(self, message: Message) -> Iterable[JSON]:
        """Write an answer of a model."""
        raise NotImplementedError

    def results(self, results: Sequence[ToolResult]) -> Iterable[JSON]:
        """Write the results of a step."""
        raise NotImplementedError

    def system(self, parts: Sequence[Part]) -> Iterable[JSON]:
        """Write the system prompt; nothing here in dialects with a member of its own for it."""
        del parts
        return ()

    def tools(self) -> str | None:
        """Write the list of tools. None without tools."""
        offered = self.ask.tools if isinstance(self.ask.tools, Tools) else Tools(self.ask.tools)
        return offered.text(type(self), lambda tools: json_text(list(map(self.tool, tools)))) if offered else None

    def messages(self) -> list[JSON]:
        """Write the conversation, oldest message first."""
        written: list[JSON] = []
        for message in self.ask.messages:
            match message.role:
                case "system":
                    written += self.system(message.parts)
                case "user":
                    written += self.user(message.parts)
                case "assistant":
                    self.ids.begin_message()
                    written += self.answer(message)
                case "tool":
                    written += self.results([part for part in message.parts if isinstance(part, ToolResult)])
        return written

    # What the subclasses use

    def unsent(self) -> dict[str, str]:
        """Return the options not sent as the person set them, each with the reason."""
        return self.ask.unsent(self.stops, **self.missing)

    def options(self, **names: str) -> dict[str, JSON]:
        """Return the options that are set, each under the vendor's name for it."""
        values = {wire: value_of(self.ask.options, name) for name, wire in names.items() if name not in self.missing}
        return {name: value for name, value in values.items() if value is not None}

    def described(self, tool: ToolSpec, member: str) -> dict[str, JSON]:
        """Write a tool's name, description, and schema under the vendor's name for it."""
        described: dict[str, JSON] = {"description": tool.description} if tool.description else {}
        return {"name": tool.name, **described, member: adapt(tool.schema, self.schemas).schema}

    def system_text(self) -> str:
        """Return the system prompt, for vendors with a member of its own for it."""
        texts = (text_of(message.parts) for message in self.ask.messages if message.role == "system")
        return "\n\n".join(filter(None, texts))

    def echo(self, part: Part) -> Mapping[str, JSON]:
        """Return what the vendor gave with a part; empty if it came from a different provider, model or dialect."""
        if isinstance(part, Thinking):
            giver, kept = (part.provider, part.model), part.echo
        elif isinstance(part, Text | ToolCall) and part.echo is not None:
            giver, kept = (part.echo.provider, part.echo.model), part.echo.value
        else:
            return {}
        value = kept.get(self.dialect) if isinstance(kept, Mapping) and giver == self._asked else None
        return value if isinstance(value, Mapping) else {}

    def thoughts(self, message: Message) -> list[Thinking]:
        """Return the thinking of a message that came from this provider and model."""
        thoughts = [part for part in message.parts if isinstance(part, Thinking)]
        return [part for part in thoughts if (part.provider, part.model) == self._asked]

    @property
    def _asked(self) -> tuple[str, str]:
        return self.target.provider, self.ask.model

    def taken(self, parts: Sequence[Part]) -> list[Part]:
        """Return the parts, with words in place of images of types that the service refuses."""
        return [
            Text(text=f"(an image of the type {part.media_type}, which this model's API does not take)")
            if isinstance(part, Image) and part.media_type not in self.images
            else part
            for part in parts
        ]


class CallIds:
    """The ids of a request's calls: the vendor's ids, or our own if the vendor gave none or has different rules.

    An id has at most `limit` and at least `least` of the characters `allowed` (the inside of a regular expression's
    brackets).
    """

    def __init__(self, limit: int, allowed: str = r"\x21-\x7e", *, least: int = 0) -> None:
        self._limit = limit
        self._least = least
        self._unfit = re.compile(f"[^{allowed}]")
        self._between = "" if self._unfit.match("_") else "_"
        self._ids: dict[str, str] = {}
        self._taken: set[str] = set()

    def begin_message(self) -> None:
        """Begin a message: ids need to be unique only within a message, since a model may count from the start again."""
        self._taken.clear()

    def of(self, call: ToolCall) -> str:
        """Return a call's id, always the same for the same call."""
        if call.id not in self._ids:
            self._ids[call.id] = self._made(call.wire_id or call.id)
        return self._ids[call.id]

    def _made(self, wire_id: str) -> str:
        if not self._least <= len(wire_id) <= self._limit or self._unfit.search(wire_id):
            digest = hashlib.sha256(wire_id.encode("utf-8", "replace")).hexdigest()
            wire_id = f"call_{digest[:24]}" if self._limit > len("call_") + 24 else digest[: self._limit]
        made, number = wire_id, 1
        while made in self._taken:
            number += 1
            made = f"{wire_id[: self._limit - len(str(number)) - len(self._between)]}{self._between}{number}"
        self._taken.add(made)
        return made


class Tools(tuple[ToolSpec, ...]):  # noqa: SLOT001 - a tuple's subclass has no room for slots that hold anything
    """The offered tools, and the texts made from them. Each text is made once.

    Use the same object while the tools stay the same, so that they are not written again for each step.
    """

    def __init__(self, tools: Iterable[ToolSpec] = (), /) -> None:
        """Take the tools, and write nothing yet."""
        del tools  # already in the tuple
        self._texts: dict[object, str] = {}

    def text(self, key: object, make: Callable[[Sequence[ToolSpec]], str]) -> str:
        """Return all tools in the form cached under a key."""
        if key not in self._texts:
            self._texts[key] = make(self)
        return self._texts[key]


def text_of(parts: Sequence[Part], between: str = "") -> str:
    """Return all text among some parts."""
    return between.join(part.text for part in parts if isinstance(part, Text))


def image_url(image: Image) -> str:
    """Write an image as a `data:` URL."""
    return f"data:{image.media_type};base64,{image.data}"


def arguments_text(text: str) -> str:
    """Return a call's arguments as written by the model; anything but an object is wrapped, for some servers parse them."""
    value = arguments_object(text)
    if UNREADABLE in value:
        return json.dumps(value, ensure_ascii=False)
    return "{}" if text.strip() in {"", "null"} else text


def arguments_object(text: str) -> Mapping[str, JSON]:
    """Return a call's arguments as an object: an empty one for no text, a wrapped text for anything but an object."""
    try:
        value: JSON = json.loads(text, parse_constant=_refused) if text.strip() else None
    except (ValueError, RecursionError):
        value = text
    if value is None:
        return {}
    return value if isinstance(value, dict) else {UNREADABLE: text}


def _refused(word: str) -> JSON:
    raise ValueError(word)


def json_text(value: JSON) -> str:
    """Write a value as compact JSON, with null for values that JSON does not have."""
    try:
        return _compact(value)
    except ValueError:  # such values come from a server's schema or the configuration
        return _compact(_finite(value))


def _finite(value: JSON) -> JSON:
    """Return the value with null for NaN and the infinities."""
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if isinstance(value, Mapping):
        return {name: _finite(inner) for name, inner in value.items()}
    return [_finite(inner) for inner in value] if isinstance(value, list | tuple) else value


def _encoded(text: str) -> bytes:
    try:
        return text.encode()
    except UnicodeEncodeError:  # half of a surrogate pair: models may write it, but no provider accepts it
        return _SURROGATE.sub("\ufffd", text).encode()


@dataclass(frozen=True, slots=True, kw_only=True)
class TextSpan:
    """A piece of a message's text: the index of the message, and characters."""

    message: int
    start: int
    end: int


def text_spans(
    body: bytes, messages: Sequence[Message], pieces: Sequence[TextSpan], kept: Callable[[bytes], bytes] = bytes
) -> Iterator[tuple[int, int] | None]:
    """Yield the bytes of each piece, None if not found.

    A message's text is one JSON string; with images, and in some dialects always, it is several, one a part.
    Messages and pieces stand in order; `kept` turns bytes into their recorded form (with marks in place of secrets).
    """
    position, number, begun = 0, -1, -1
    for piece in pieces:
        text = text_of(messages[piece.message].parts)
        if piece.message != number:
            number = piece.message
            begun = body.find(kept(_quoted(text)), position)
            position = max(begun, position)
        if begun < 0:
            whole = kept(_quoted(text[piece.start : piece.end]))
            start = body.find(whole, position)
            yield (start + 1, start + len(whole) - 1) if start >= 0 else None
            position = max(start, position)
            continue
        start = begun + len(kept(_quoted(text[: piece.start]))) - 1  # up to, but without the closing quote
        yield start, start + len(kept(_quoted(text[piece.start : piece.end]))) - 2


def _quoted(text: str) -> bytes:
    return json.dumps(text, ensure_ascii=False).encode("utf-8", "replace")
