"""What the dialects' writers share: the walk over a conversation, ids of calls, what goes back, and the bytes of a body."""

from __future__ import annotations

import hashlib
import json
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from tui_host.errors import JSON
from tui_host.llm.messages import Ask, Image, Message, Part, Text, Thinking, ToolCall, ToolResult, ToolSpec
from tui_host.llm.outgoing import AZURE, Outgoing, Target, Window
from tui_host.llm.schema_adaptation import SchemaRules, adapt
from tui_host.settings.model_options import text_of as option_text
from tui_host.settings.model_options import value_of

UNREADABLE = "unreadable_arguments"  # the key for arguments that are no JSON object
_IMAGES = frozenset(
    {"image/jpeg", "image/png", "image/gif", "image/webp"}
)  # any other would be refused nearly everywhere
_SURROGATE = re.compile("[\ud800-\udfff]")
json_text = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode


class RequestWriter(ABC):
    """Writes one request. A dialect's subclass says the members of the body, and how the parts look."""

    dialect = ""  # with its name, data to send back was kept
    path = ""  # below the base URL, perhaps with a query
    is_dated = False  # whether Azure wants the version of its API in the query
    conversation = "messages"  # the member with the conversation
    keeps_system = False  # whether system messages stand in the conversation, not in a member of their own
    around_tools = ("", "")  # what stands before and behind the list of tools
    # Of a tool: what stands before and behind its members, whether these are in one named `function`, and its schema's name.
    around_tool: tuple[Mapping[str, JSON], Mapping[str, JSON]] = ({}, {})
    nests_tools = False
    schema = "parameters"
    rules = SchemaRules()
    images = _IMAGES
    most_stops = 100
    missing: Mapping[str, str] = {}  # the options that the API lacks, each with the reason
    headers = (("Content-Type", "application/json"), ("Accept", "application/json"))
    window: Window | None = None  # None for servers that refuse long prompts

    def __init__(self, ask: Ask, target: Target) -> None:
        self.ask = ask
        self.target = target
        self._asked = (target.provider, ask.model)
        self.ids = CallIds(64)
        self.added = dict(ask.extra)  # the person's members win over the dialect's
        # The tool protocol's stop sequences come first, because vendors accept only a few.
        self.stops = list(dict.fromkeys((*ask.stop_sequences, *ask.options.stop)))[: self.most_stops]
        texts = (text_of(message.parts) for message in ask.messages if message.role == "system")
        self.system = "\n\n".join(filter(None, texts))

    def outgoing(self) -> Outgoing:
        """Write the request, the conversation last: each step's request begins with all bytes of the previous one.

        The inspector shows that beginning, and the store saves it only once. Providers' caches compare prompts instead.
        """
        members = self.body() | self.added
        name, more, instead = self.conversation, members.pop("tools", None), members.pop(self.conversation, None)
        texts = [f"{json_text(key)}:{json_text(value)}" for key, value in members.items()]
        tools, offered = None, self.ask.tools if isinstance(self.ask.tools, Tools) else Tools(self.ask.tools)
        if offered:
            tools = offered.text(type(self), lambda tools: json_text(list(map(self.tool, tools))))
            tools = f"{self.around_tools[0]}{tools}{self.around_tools[1]}"
        if tools is not None and isinstance(more, list):  # a vendor's web search, behind the offered tools
            tools = f"{tools.removesuffix(']')}{''.join(f',{json_text(tool)}' for tool in more)}]"
        elif more is not None:
            tools = json_text(more)
        if tools is not None:
            texts.append(f'"tools":{tools}')
        head = _encoded("{" + "".join(f"{text}," for text in texts) + f"{json_text(name)}:")
        spans: list[tuple[int, int]] = []
        said, start = _encoded(json_text(instead)), len(head)
        if instead is None:
            pieces = [_encoded(json_text(message)) for message in self.messages()]
            for piece in pieces:
                start += 1  # the bracket, or the comma
                spans.append((start, start + len(piece)))
                start += len(piece)
            said = b"[" + b",".join(pieces) + b"]"
        # The options that are set but not sent, each with the reason.
        unsent = {name: why for name, why in self.missing.items() if value_of(self.ask.options, name) is not None}
        left_out = [stop for stop in self.ask.options.stop if stop not in self.stops]
        if left_out and "stop" not in unsent:
            words = "left out: this API takes neither white space alone nor more than a few"
            unsent["stop"] = f"{option_text(left_out)} {words}"
        is_dated = self.is_dated and self.target.service == AZURE and self.target.api_version
        url = f"{self.path}?api-version={self.target.api_version}" if is_dated else self.path
        return Outgoing(
            url=url,
            headers=self.headers,
            body=head + said + b"}",
            growing=name,
            spans=tuple(spans),
            window=self.window,
            unsent=unsent,
        )

    @abstractmethod
    def body(self) -> dict[str, JSON]:
        """Return all members of the body but the tools and the conversation."""

    @abstractmethod
    def user(self, parts: Sequence[Part]) -> Iterable[JSON]: ...

    @abstractmethod
    def answer(self, message: Message) -> Iterable[JSON]: ...

    @abstractmethod
    def results(self, results: Sequence[ToolResult]) -> Iterable[JSON]: ...

    def tool(self, tool: ToolSpec) -> dict[str, JSON]:
        described: dict[str, JSON] = {"description": tool.description} if tool.description else {}
        members = {"name": tool.name, **described, self.schema: adapt(tool.schema, self.rules).schema}
        before, behind = self.around_tool
        return {**before, **({"function": members} if self.nests_tools else members), **behind}

    def messages(self) -> list[JSON]:
        written: list[JSON] = []
        for message in self.ask.messages:
            match message.role:
                case "system" if self.keeps_system:
                    written.append({"role": "system", "content": text_of(message.parts)})
                case "system":
                    pass
                case "user":
                    written += self.user(message.parts)
                case "assistant":
                    self.ids.taken.clear()  # a model may count from the start again with each message
                    written += self.answer(message)
                case "tool":
                    written += self.results([part for part in message.parts if isinstance(part, ToolResult)])
        return written

    def options(self, **names: str) -> dict[str, JSON]:
        values = {wire: value_of(self.ask.options, name) for name, wire in names.items() if name not in self.missing}
        if "stop" in names:
            values[names["stop"]] = self.stops or None
        return {name: value for name, value in values.items() if value is not None}

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
        thoughts = [part for part in message.parts if isinstance(part, Thinking)]
        return [part for part in thoughts if (part.provider, part.model) == self._asked]

    def taken(self, parts: Sequence[Part]) -> list[Text | Image]:
        """Return texts and images, with words in place of images of types that the service refuses."""
        taken: list[Text | Image] = []
        for part in parts:
            if isinstance(part, Image) and part.media_type not in self.images:
                words = f"(an image of the type {part.media_type}, which this model's API does not take)"
                taken.append(Text(text=words))
            elif isinstance(part, Text | Image):
                taken.append(part)
        return taken


@dataclass(eq=False)
class CallIds:
    """The ids of a request's calls: the vendor's ids, or our own if the vendor gave none or has different rules."""

    limit: int
    allowed: str = r"\x21-\x7e"  # the inside of a regular expression's brackets
    least: int = 1
    taken: set[str] = field(default_factory=set[str])  # in the current message
    _ids: dict[str, str] = field(default_factory=dict[str, str])

    def of(self, call: ToolCall) -> str:
        """Return a call's id, always the same for the same call."""
        made = self._ids.get(call.id, call.wire_id or call.id)
        fits = f"[{self.allowed}]{{{self.least},{self.limit}}}"
        if call.id not in self._ids and (made in self.taken or not re.fullmatch(fits, made)):
            digest = hashlib.sha256(f"{made}\0{call.id}".encode("utf-8", "replace")).hexdigest()
            made = f"call_{digest[:24]}" if self.limit > len("call_") + 24 else digest[: self.limit]
        self._ids[call.id] = made
        self.taken.add(made)
        return made


class Tools(tuple[ToolSpec, ...]):  # noqa: SLOT001 - a tuple's subclass has no room for slots that hold anything
    """The offered tools, and the texts made from them, which are made once while the tools stay the same object."""

    def __init__(self, tools: Iterable[ToolSpec] = (), /) -> None:
        del tools  # already in the tuple
        self._texts: dict[object, str] = {}

    def text(self, key: object, make: Callable[[Sequence[ToolSpec]], str]) -> str:
        if key not in self._texts:
            self._texts[key] = make(self)
        return self._texts[key]


def text_of(parts: Sequence[Part], between: str = "") -> str:
    """Return all text among some parts."""
    return between.join(part.text for part in parts if isinstance(part, Text))


def message_of(role: str, member: str, blocks: Iterable[Mapping[str, JSON]]) -> Sequence[JSON]:
    """Return a message with the blocks that are not empty; none without blocks, which would be refused."""
    kept = [block for block in blocks if block]
    return [{"role": role, member: kept}] if kept else []


def arguments_text(text: str) -> str:
    """Return a call's arguments as written by the model; anything but an object is wrapped, for some servers parse them."""
    value = arguments_object(text)
    if UNREADABLE in value:
        return json.dumps(value, ensure_ascii=False)
    return "{}" if text.strip() in {"", "null"} else text


def arguments_object(text: str) -> Mapping[str, JSON]:
    """Return a call's arguments as an object: an empty one for no text, a wrapped text for anything but an object."""
    try:
        value: JSON = json.loads(text, parse_constant=refuse_constant) if text.strip() else None
    except (ValueError, RecursionError):
        value = text
    if value is None:
        return {}
    return value if isinstance(value, dict) else {UNREADABLE: text}


def refuse_constant(word: str) -> JSON:
    """Refuse NaN and infinities, which Python's reader of JSON takes."""
    raise ValueError(f"{word} is no JSON value")


def _encoded(text: str) -> bytes:
    try:
        return text.encode()
    except UnicodeEncodeError:  # half of a surrogate pair: models may write it, but no provider accepts it
        return _SURROGATE.sub("\ufffd", text).encode()


def text_spans(
    body: bytes,
    messages: Sequence[Message],
    pieces: Iterable[tuple[int, int, int]],
    kept: Callable[[bytes], bytes] = bytes,
) -> Iterator[tuple[int, int] | None]:
    """Yield the bytes of each piece of a message's text: the message's index, and characters. None if not found.

    Pieces stand in order; `kept` turns bytes into their recorded form (with marks in place of secrets).
    """

    def quoted(text: str) -> bytes:
        return kept(json.dumps(text, ensure_ascii=False).encode("utf-8", "replace"))

    position, number, begun = 0, -1, -1
    for message, start, end in pieces:
        text = text_of(messages[message].parts)
        if message != number:
            # One string; with images, and in some dialects always, it is several, one a part.
            number, begun = message, body.find(quoted(text), position)
            position = max(begun, position)
        piece = quoted(text[start:end])
        at = begun + len(quoted(text[:start])) - 1 if begun >= 0 else body.find(piece, position) + 1
        yield (at, at + len(piece) - len('""')) if at > 0 else None
        position = position if begun >= 0 else max(at - 1, position)
