"""Reads the answers of Chat Completions, streamed or whole, of OpenAI and many compatible services.

Source: OpenAI API reference, Chat; the APIs of DeepSeek, Mistral, Groq, OpenRouter and Azure where they differ.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from tui_host.capture.json.spans import Node, spans
from tui_host.errors import JSON
from tui_host.llm.answer_state import AnswerState, call_started
from tui_host.llm.body_framing import count_of
from tui_host.llm.events import (
    CallArguments,
    CallsLeftOut,
    ModelEvent,
    TextDelta,
    ThinkingDelta,
    ThinkingEcho,
    Unreadable,
)
from tui_host.llm.fold import MOST_ARGUMENTS, MOST_CALLS
from tui_host.llm.messages import Stop, Usage
from tui_host.llm.provider_faults import fault_in
from tui_host.llm.thinktags import ThinkTags
from tui_host.llm.vendor_tools import cited

ECHOED: Final = "reasoning_content"
"""The member in which some services want the thinking sent back (DeepSeek, Moonshot)."""

DETAILS: Final = "reasoning_details"
"""The member in which OpenRouter sends thinking with signatures, and wants all of it back unchanged."""
_GROWING = frozenset(("text", "summary", "data"))

_STOPS: Mapping[str, Stop] = {
    "length": "length",
    "max_tokens": "length",
    "content_filter": "refused",
    "sensitive": "refused",
    "error": "failed",
    "network_error": "failed",
    "insufficient_system_resource": "failed",
}
_WALKED = ("choices", "message", "delta", "tool_calls")
_FIELD = (len("data:"), len("data: "))
_WORDS = frozenset(("role", "content"))
"""The members of a delta that holds only text."""
_BARE = frozenset(
    ("id", "object", "created", "model", "choices", "system_fingerprint", "service_tier", "obfuscation", "usage")
)
"""The members of a chunk without an error; most chunks have `usage` as null."""


class OpenAIReading:
    """Turns chunks, or a whole answer, into events."""

    def __init__(self) -> None:
        self.state = AnswerState()
        self._calls = _Calls()
        self._tags = ThinkTags()
        self._has_words = False
        self._refuses = False
        self._echoes = False
        self._details: list[dict[str, JSON]] = []

    def event(self, value: dict[str, JSON], data: bytes, start: int, end: int) -> list[ModelEvent]:
        """Read a chunk."""
        events: list[ModelEvent] = []
        self.state.has_read = True
        choice = _choice(value)
        if choice is not None:
            delta = choice.get("delta")
            if not isinstance(delta, dict) and not self._has_words:
                delta = choice.get("message")
            if isinstance(delta, dict):
                events = self._delta(delta, data, start, end)
            if choice.get("finish_reason"):
                self._finish(choice, start, end)
        if choice is None or self.state.reason or not _is_bare(value, choice):
            events += self._around(value, choice, start, end)
        return events

    def whole(self, value: JSON, body: bytes) -> list[ModelEvent] | None:
        """Read an answer without streaming."""
        choice = _choice(value) if isinstance(value, dict) else None
        if not isinstance(value, dict) or choice is None:
            return None
        message = choice.get("message")
        places = _Places(0, len(body), _message_node(spans(body, walk=_WALKED), "message"))
        events = self._message(message if isinstance(message, dict) else {}, places)
        self._finish(choice, 0, len(body))
        self.state.mark = "[DONE]"
        return events + self._around(value, choice, 0, len(body))

    def closing(self, position: int) -> list[ModelEvent]:
        """Return text that was held back as a possible tag for thinking, and the mark for thinking to send back."""
        events = self._tags.finish()
        if self._details:
            details: list[JSON] = [*self._details]
            return [*events, ThinkingEcho(echo={DETAILS: details}, start=position, end=position)]
        return [*events, ThinkingEcho(echo=ECHOED, start=position, end=position)] if self._echoes else events

    def stop(self) -> Stop:
        """Translate the finish reason; where the reason is unclear, calls decide."""
        stop = _STOPS.get(self.state.reason)
        if stop is not None:
            return stop
        return "tools" if len(self._calls) else "refused" if self._refuses else "end"

    def _finish(self, choice: Mapping[str, JSON], start: int, end: int) -> None:
        reason = choice.get("finish_reason")
        self.state.finish(reason if isinstance(reason, str) else "", start, end)

    def _around(
        self, value: Mapping[str, JSON], choice: Mapping[str, JSON] | None, start: int, end: int
    ) -> list[ModelEvent]:
        """Read usage and errors, which stand outside the choices."""
        has_usage = "usage" in value or "x_groq" in value or (choice is not None and "usage" in choice)
        events = self.state.report(_usage_of(value, choice), start, end) if has_usage else []
        fault, reason = fault_in(value), self.state.reason
        if fault is None and _STOPS.get(reason) == "failed" and not self.state.has_failed:
            fault = f"the provider ended the answer with {reason!r}", reason
        return events if fault is None else [*events, self.state.fail(*fault, start, end)]

    def _delta(self, delta: Mapping[str, JSON], data: bytes, start: int, end: int) -> list[ModelEvent]:
        content = delta.get("content")
        if isinstance(content, str) and _WORDS.issuperset(delta):  # the most frequent chunk
            self._has_words = self._has_words or bool(content)
            return self._tags.feed(content, start, end) if content else []
        calls, message = delta.get("tool_calls"), None
        if isinstance(calls, list) and len(calls) > 1 and end - start - len(data) in _FIELD:
            # Of several calls in one event each gets its own bytes; anything else gets the whole event's.
            message = _message_node(spans(data, walk=_WALKED), "delta")
        return self._message(delta, _Places(start, end, message, at=end - len(data)))

    def _message(self, delta: Mapping[str, JSON], places: _Places) -> list[ModelEvent]:
        events: list[ModelEvent] = []
        thought, key = _thought(delta)
        self._echoes = self._echoes or key == ECHOED
        _join_details(self._details, delta.get(DETAILS))
        if thought:
            events += self._tags.off()
            start, end = places.of(key)
            events.append(ThinkingDelta(text=thought, start=start, end=end))
        content, refusal = delta.get("content"), delta.get("refusal")
        if content:
            events += self._content(content, *places.of("content"))
        if delta.get("annotations"):
            events += cited(delta.get("annotations"), *places.of("annotations"))
        if isinstance(refusal, str) and refusal:
            self._refuses = True
            start, end = places.of("refusal")
            events.append(TextDelta(text=refusal, start=start, end=end))
        calls, function = delta.get("tool_calls"), delta.get("function_call")
        if isinstance(calls, list) and calls:
            events += self._calls.add([(call, *places.of_call(number)) for number, call in enumerate(calls)])
        elif isinstance(function, dict):
            events += self._calls.add([({"index": 0, "function": function}, *places.of("function_call"))])
        self._has_words = self._has_words or bool(thought or content or self._refuses or calls)
        return events

    def _content(self, content: JSON, start: int, end: int) -> list[ModelEvent]:
        """Read a text, or a list of parts as Mistral sends them."""
        if isinstance(content, str):
            return self._tags.feed(content, start, end)
        events: list[ModelEvent] = []
        for part in content if isinstance(content, list) else [content]:
            if isinstance(part, dict) and part.get("type") == "thinking":
                events += self._tags.off()
                events.append(ThinkingDelta(text=_flat(part.get("thinking")), start=start, end=end))
            else:
                events += self._tags.feed(_flat(part), start, end)
        return events


def _is_bare(value: Mapping[str, JSON], choice: Mapping[str, JSON]) -> bool:
    """Tell whether a chunk holds a choice and nothing else."""
    is_known = _BARE.issuperset(value) and value.get("object") != "error"
    return is_known and value.get("usage") is None and "usage" not in choice


class _Places:
    """The bytes of a message's members, or of the whole event if unknown.

    Args:
        start: First byte of the event.
        end: One past its last.
        message: The message's node, None if the members' places are not known.
        at: The byte of the body from which the node's places count.
    """

    def __init__(self, start: int, end: int, message: Node | None = None, *, at: int = 0) -> None:
        self._whole = start, end
        self._message = message
        self._at = at

    def of(self, key: str) -> tuple[int, int]:
        """Return the bytes of a member."""
        node = self._message.get(key) if self._message is not None else None
        return self._of(node) if node is not None else self._whole

    def of_call(self, number: int) -> tuple[int, int]:
        """Return the bytes of a tool call."""
        node = self._message.get("tool_calls") if self._message is not None else None
        if node is None or number >= len(node.elements):
            return self._whole
        return self._of(node.elements[number])

    def _of(self, node: Node) -> tuple[int, int]:
        return node.start + self._at, node.end + self._at


def _message_node(node: Node | None, name: str) -> Node | None:
    """Find the message of a whole answer, or the `delta` of a chunk."""
    choices = node.get("choices") if node is not None else None
    return choices.elements[0].get(name) if choices is not None and choices.elements else None


def _choice(value: Mapping[str, JSON]) -> Mapping[str, JSON] | None:
    """Return the first choice; requests never ask for several."""
    choices = value.get("choices")
    if not isinstance(choices, list) or not choices:
        return None
    first = choices[0]
    return first if isinstance(first, dict) and not first.get("index") else None


def _thought(delta: Mapping[str, JSON]) -> tuple[str, str]:
    """Return the thinking in a delta, and the member's name: services use several names, some two at once."""
    for key in (ECHOED, "reasoning"):
        value = delta.get(key)
        if isinstance(value, str) and value:
            return value, key
    details = delta.get(DETAILS)
    if not isinstance(details, list):
        return "", ECHOED if delta.get(ECHOED) == "" else ""
    pieces = [piece.get("text") or piece.get("summary") for piece in details if isinstance(piece, dict)]
    return "".join(piece for piece in pieces if isinstance(piece, str)), DETAILS


def _join_details(details: list[dict[str, JSON]], pieces: JSON) -> None:
    """Add the pieces of a stream to their items: texts grow, other members are replaced."""
    for piece in pieces if isinstance(pieces, list) else ():
        if not isinstance(piece, dict):
            continue
        last = details[-1] if details else {}
        if (piece.get("index"), piece.get("type")) != (last.get("index", -1), last.get("type")):
            details.append(dict(piece))
            continue
        for name, value in piece.items():
            before = last.get(name)
            grows = name in _GROWING and isinstance(value, str) and isinstance(before, str)
            if grows or value is not None:
                last[name] = f"{before}{value}" if grows else value


def _flat(part: JSON) -> str:
    """Join the text of a part, or of parts within parts."""
    if isinstance(part, str):
        return part
    if isinstance(part, dict):
        return _flat(part.get("text"))
    return "".join(_flat(piece) for piece in part) if isinstance(part, list) else ""


def _usage_of(value: Mapping[str, JSON], choice: Mapping[str, JSON] | None) -> Usage | None:
    """Read the tokens reported by a chunk or an answer, wherever the service puts them. None if absent."""
    groq = value.get("x_groq")
    for place in (value, choice, groq):
        usage = place.get("usage") if isinstance(place, dict) else None
        if isinstance(usage, dict):
            return Usage(
                input_total=count_of(usage, "prompt_tokens"),
                input_cached=_first(
                    usage, ("prompt_tokens_details", "cached_tokens"), ("cached_tokens",), ("prompt_cache_hit_tokens",)
                ),
                cache_written=count_of(usage, "prompt_tokens_details", "cache_write_tokens"),
                output_total=count_of(usage, "completion_tokens"),
                reasoning=_first(usage, ("completion_tokens_details", "reasoning_tokens"), ("reasoning_tokens",)),
                cost=_money(usage.get("cost")),
            )
    return None


def _money(value: JSON) -> float | None:
    """Return a price, as OpenRouter reports it. None if absent."""
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None


def _first(usage: JSON, *paths: tuple[str, ...]) -> int | None:
    """Return the first count present at any of the paths: services put the same count in different places."""
    return next((count for path in paths if (count := count_of(usage, *path)) is not None), None)


@dataclass(slots=True)
class _OpenCall:
    number: int
    id: str = ""
    name: str = ""
    pieces: list[str] = field(default_factory=list[str])
    size: int = 0

    def is_whole(self) -> bool:
        """Tell whether the arguments are a complete JSON object."""
        if not self.pieces or not self.pieces[-1].rstrip().endswith("}"):
            return False
        try:
            return isinstance(json.loads("".join(self.pieces), strict=False), dict)
        except (ValueError, RecursionError):
            return False


@dataclass(frozen=True, slots=True)
class _Fragment:
    index: int | None
    id: str
    name: str
    arguments: str
    start: int
    end: int


class _Calls:
    """The calls of a response. A fragment names its call by index, by id, or not at all."""

    def __init__(self) -> None:
        self._by_index: dict[int, list[_OpenCall]] = {}
        self._by_id: dict[str, _OpenCall] = {}
        self._numbers: set[int] = set()
        self._last: _OpenCall | None = None
        self._is_full = False

    def __len__(self) -> int:
        return len(self._numbers)

    def add(self, fragments: Sequence[tuple[JSON, int, int]]) -> list[ModelEvent]:
        """Read the fragments of a chunk, each with its bytes."""
        events: list[ModelEvent] = []
        opened: set[int] = set()
        for value, start, end in fragments:
            fragment = _fragment(value, start, end)
            if fragment is None:
                events.append(Unreadable(reason="a tool call that is no object", start=start, end=end))
                continue
            call = self._target(fragment, opened)
            if call is not None:
                events += _extend(call, fragment, is_new=False)
            elif len(self._numbers) < MOST_CALLS:
                call = self._open(fragment)
                opened.add(call.number)
                events += _extend(call, fragment, is_new=True)
            elif not self._is_full:
                self._is_full = True
                self._last = None
                events.append(CallsLeftOut(start=start, end=end))
        return events

    def _target(self, fragment: _Fragment, opened: set[int]) -> _OpenCall | None:
        """Find the open call continued by a fragment. None if the fragment begins a call."""
        if fragment.index is not None:
            opened_here = self._by_index.get(fragment.index, [])
            by_id = [call for call in opened_here if fragment.id and call.id == fragment.id]
            call = by_id[0] if by_id else opened_here[-1] if opened_here else None
            if call is not None and fragment.name and fragment.id and call.id and fragment.id != call.id:
                return None
        elif fragment.id:
            call = self._by_id.get(fragment.id)
        else:
            call = self._last
            if call is not None and fragment.name and not call.id and call.number in opened:
                return None  # several complete calls without ids in one chunk
        if call is not None and fragment.name and fragment.arguments.strip() and call.is_whole():
            return None  # the same id or index for all calls
        return call

    def _open(self, fragment: _Fragment) -> _OpenCall:
        number = fragment.index if fragment.index is not None else -1
        if number < 0 or number in self._numbers:
            number = max(self._numbers, default=-1) + 1
        call = _OpenCall(number)
        self._numbers.add(number)
        if fragment.index is not None:
            self._by_index.setdefault(fragment.index, []).append(call)
        if fragment.id:
            self._by_id[fragment.id] = call
        self._last = call
        return call


def _fragment(value: JSON, start: int, end: int) -> _Fragment | None:
    if not isinstance(value, dict):
        return None
    function = value.get("function") or value.get("custom") or value
    if not isinstance(function, dict):
        return None
    index, wire_id, name = value.get("index"), value.get("id"), function.get("name")
    return _Fragment(
        index if isinstance(index, int) and not isinstance(index, bool) and index >= 0 else None,
        wire_id if isinstance(wire_id, str) else str(wire_id) if isinstance(wire_id, int) else "",
        name if isinstance(name, str) else "",
        _arguments(function.get("arguments", function.get("input"))),
        start,
        end,
    )


def _arguments(value: JSON) -> str:
    """Return the arguments as text, although some services send an object."""
    if isinstance(value, str):
        return value
    return "" if value is None else json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _extend(call: _OpenCall, fragment: _Fragment, *, is_new: bool) -> list[ModelEvent]:
    changed = is_new
    if fragment.id and not call.id:
        call.id, changed = fragment.id, True
    name = call.name
    if not name:
        name = fragment.name
    elif fragment.name and not call.size and fragment.name != name:
        # Some services send the name in pieces; others repeat it, or send a longer name later.
        name = fragment.name if fragment.name.startswith(name) else name + fragment.name
    if name != call.name:
        call.name, changed = name[:1000], True
    events: list[ModelEvent] = []
    start, end = fragment.start, fragment.end
    if changed:
        events.append(call_started(call.number, call.id, call.name, start, end))
    if fragment.arguments:
        call.size += len(fragment.arguments)
        if call.size <= MOST_ARGUMENTS:
            call.pieces.append(fragment.arguments)
        events.append(CallArguments(index=call.number, text=fragment.arguments, start=start, end=end))
    return events
