"""The panels for sampling: the request before it goes to the model, and the answer before it goes to the server."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import ClassVar

from textual.content import Content
from textual.widget import Widget
from textual.widgets import Static
from typing_extensions import override

from tui_host.capture.json.narrowing import items, mapping, short, text_or_empty
from tui_host.capture.visible import line, visible
from tui_host.errors import JSON
from tui_host.servers.server_questions import SamplingAnswer, SamplingRequest
from tui_host.tui.open_asks import Review
from tui_host.tui.widgets.asks.ask_panel import AskButton, AskPanel, fact
from tui_host.tui.widgets.forms.form_fields import TextField
from tui_host.tui.widgets.status_lines import DIM

_MAX_TOKENS = "maxTokens"
_NAMES = {
    "temperature": "temperature",
    "stopSequences": "stop at",
    "includeContext": "context",
    "toolChoice": "tool choice",
}


def _blocks(message: JSON) -> Sequence[JSON]:
    """Return the content blocks of a message, which may be a single block."""
    content = mapping(message).get("content")
    return items(content) or ([content] if isinstance(content, Mapping) else [])


def _with_texts(message: JSON, texts: Sequence[str | None]) -> Mapping[str, JSON]:
    """Return a message with other texts in its blocks; None keeps a block."""
    blocks = [
        block if text is None else {**mapping(block), "text": text}
        for block, text in zip(_blocks(message), texts, strict=True)
    ]
    is_list = bool(items(mapping(message).get("content")))
    return {**mapping(message), "content": blocks if is_list else blocks[0]} if blocks else mapping(message)


class _MessageFields:
    """Fields for the texts of one message; other content is named.

    Args:
        message: The message, or the result of a model.
    """

    def __init__(self, message: JSON) -> None:
        self._message = message
        self._fields = [
            TextField(text_or_empty(mapping(block).get("text"))) if mapping(block).get("type") == "text" else None
            for block in _blocks(message)
        ]

    @property
    def message(self) -> Mapping[str, JSON]:
        """The message with the texts of the fields."""
        return _with_texts(self._message, [None if field is None else field.value for field in self._fields])

    def widgets(self) -> Sequence[Widget]:
        """Return the fields, and a line for each other content."""
        return [
            Static(Content(line(_named(block), 400)), markup=False) if field is None else field
            for block, field in zip(_blocks(self._message), self._fields, strict=True)
        ]


def _named(block: JSON) -> str:
    """Name a content that is no text."""
    parts = mapping(block)
    data = parts.get("data")
    size = f", {len(data) * 3 // 4:,} B" if isinstance(data, str) else ""
    return f"({parts.get('type', 'unknown')} {text_or_empty(parts.get('mimeType'))}{size}) {'' if size else short(block, 300)}"


class SamplingPanel(AskPanel):
    """Shows what a server asks the person's model, to be edited and sent, or refused."""

    KEYS: ClassVar[str] = "tab to Send, enter sends   ctrl+d, escape refuse"

    @property
    def _request(self) -> SamplingRequest:
        assert isinstance(self.ask.asked, SamplingRequest)  # noqa: S101 - made for nothing else
        return self.ask.asked

    @override
    def body(self) -> Sequence[Widget]:
        params = self._request.params
        self._system = TextField(text_or_empty(params.get("systemPrompt")))
        limit = params.get(_MAX_TOKENS)
        self._limit = TextField("" if limit is None else str(limit))
        self._messages = [_MessageFields(message) for message in items(params.get("messages"))]
        widgets: list[Widget] = [Static(Content("\n").join(self._facts()), markup=False)]
        widgets += [_label("system prompt"), self._system, _label("most tokens of the answer"), self._limit]
        for message, fields in zip(items(params.get("messages")), self._messages, strict=True):
            widgets += [_label(f"message of the {mapping(message).get('role', 'unknown role')}"), *fields.widgets()]
        return widgets

    def _facts(self) -> Sequence[Content]:
        """Return what is not edited: the model, hints, further options, tools."""
        params = self._request.params
        preferences = mapping(params.get("modelPreferences"))
        hints = ", ".join(text_or_empty(mapping(hint).get("name")) for hint in items(preferences.get("hints")))
        priorities = ", ".join(
            f"{name.removesuffix('Priority')} {value}"
            for name, value in preferences.items()
            if name.endswith("Priority")
        )
        tools = ", ".join(text_or_empty(mapping(tool).get("name")) for tool in items(params.get("tools")))
        facts = [
            ("model", self._request.model or "the session's"),
            ("hints", hints),
            ("wishes", priorities),
            ("tools", tools),
        ]
        facts += [(name, short(params[key])) for key, name in _NAMES.items() if params.get(key) is not None]
        return [fact(name, line(self.mask(words), 300)) for name, words in facts if words]

    @override
    def buttons(self) -> Sequence[AskButton]:
        return [AskButton(f"Send to {self._request.model or 'the model'}", self._send)]

    @override
    def cancel(self) -> None:
        self.ask.give(None)

    def _send(self) -> None:
        params = {**self._request.params, "messages": [fields.message for fields in self._messages]}
        system, limit = self._system.value, self._limit.value.strip()
        params.pop("systemPrompt", None)
        if system:
            params["systemPrompt"] = system
        if limit != ("" if (asked := self._request.params.get(_MAX_TOKENS)) is None else str(asked)):
            if not limit.isdecimal() or not int(limit):
                self.say("The most tokens must be a whole number of at least 1.")
                self._limit.focus()
                return
            params[_MAX_TOKENS] = int(limit)
        self.ask.give(replace(self._request, params=params))


class ReviewPanel(AskPanel):
    """Shows the model's answer, to be edited and sent to the server, or kept back."""

    KEYS: ClassVar[str] = "tab to Send, enter sends   ctrl+d, escape keep it back"

    @property
    def _review(self) -> Review:
        assert isinstance(self.ask.asked, Review)  # noqa: S101 - made for nothing else
        return self.ask.asked

    @override
    def body(self) -> Sequence[Widget]:
        result = self._review.answer.result
        self._answer = _MessageFields(result)
        facts = [("model", text_or_empty(result.get("model"))), ("stopped", text_or_empty(result.get("stopReason")))]
        rows = [fact(name, line(self.mask(words), 200)) for name, words in facts if words]
        return [Static(Content("\n").join(rows), markup=False), _label("answer"), *self._answer.widgets()]

    @override
    def buttons(self) -> Sequence[AskButton]:
        return [AskButton(f"Send to {self.ask.server}", self._send)]

    @override
    def cancel(self) -> None:
        self.ask.give(None)

    def _send(self) -> None:
        self.ask.give(SamplingAnswer(result=self._answer.message))


def _label(words: str) -> Static:
    label = Static(Content.styled(visible(words, newlines=False), DIM), markup=False)
    label.styles.margin = 0
    return label
