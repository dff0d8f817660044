"""The current turn of a conversation: the question, and the results of the calls since."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

from tui_host.demo.model.plan import AskedCall, Plan
from tui_host.demo.model.request_content import AssistantSaid, Call, Conversation, Message, ToolSaid, UserSaid
from tui_host.demo.model.toolbox import Toolbox

Language: TypeAlias = Literal["en", "zh"]
Fate: TypeAlias = Literal["answered", "failed", "rejected", "stopped"]

_HEAD = 4_000

_ENGLISH = re.compile(
    r"\b(a|about|all|and|are|call|do|for|hello|help|hi|how|in|is|it|list|me|my|of|order|please|show|the|think|to|use"
    r"|weather|what|where|who|with|words|write|you)\b",
    re.IGNORECASE,
)
_CHINESE = re.compile(r"[\u3400-\u9fff]")
_REJECTED = re.compile(
    r"\b(?:user|person|human)\b.{0,20}\b(?:denied|rejected|declined|refused)\b|\bdenied by\b|\bto approve this call\b"
    r"|(?:用户|使用者).{0,8}(?:拒绝|否决)",
    re.IGNORECASE,
)
_STOPPED = re.compile(r"\bstopped the turn\b|\bthe turn was stopped\b", re.IGNORECASE)
_FAILED = re.compile(r"\s*(?:error\b|the tool execution failed)", re.IGNORECASE)
_ASIDE = re.compile(r"(?:\s*\[[A-Z][^\[\]\n]{8,300}\.\])+\s*")
"""A host's note in place of the user, in brackets, such as that an answer was stopped or broke off."""
_BESIDE = re.compile(r"<(system-reminder|session_context|environment_context)>.*?</\1>\s*", re.DOTALL)
"""Text that other hosts add to the user's words in the same message."""
_FILE = re.compile(r'\n\n<(file(?:-\d+)?) name="[^"\n]*">\n.*?\n</\1>', re.DOTALL)
_MARK = re.compile(r"\[[^\[\]\n]+: (?:image/\w+|text), [\d.]+ k?M?B(?:, \d+)?\]")
"""A file attached to the question, and the mark in its place: no rule applies to their text."""
_CORRECTED = re.compile(r"\bnothing (?:\w+ ){0,3}was run\b|没有运行|未运行", re.IGNORECASE)
_CORRECTION = re.compile(r"\s*(?:your (?:call|answer)\b|你的调用)", re.IGNORECASE)
_REASON = re.compile(r"\breason(?:\s+(?:is|was))?\s*[:：]\s*(.+)", re.IGNORECASE | re.DOTALL)


@dataclass(frozen=True, slots=True, kw_only=True)
class DoneCall:
    """A call of the turn with the host's answer to it.

    Attributes:
        images: The images in the result, described as text.
        is_error: Whether the host marked the result as an error.
    """

    call: Call
    result: str
    images: tuple[str, ...] = ()
    is_error: bool = False

    @property
    def fate(self) -> Fate:
        """What became of the call, according to the host's words: most APIs have no field for it."""
        head = self.result[:300]
        if _STOPPED.search(head):
            return "stopped"
        if _REJECTED.search(head):
            return "rejected"
        return "failed" if self.is_error or _FAILED.match(head) else "answered"

    @property
    def reason(self) -> str:
        """The user's reason for a rejection, empty if none is given."""
        match = _REASON.search(self.result[:2_000])
        return " ".join(match[1].split()) if match else ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """The question to answer, and what has happened since.

    Attributes:
        question: The user's last message, without a host's notes in brackets.
        rounds: The calls of each later assistant message with their results, in order.
        tools: The offered tools.
        images: The images with the question, described as text.
        is_corrected: Whether the host has since complained about a wrong call in a plain message.
    """

    question: str
    language: Language
    rounds: tuple[tuple[DoneCall, ...], ...]
    tools: Toolbox
    images: tuple[str, ...] = ()
    is_corrected: bool = False

    @property
    def head(self) -> str:
        """The beginning of the question, for rules that match anywhere in a short sentence."""
        return self.question[:_HEAD]

    @property
    def done(self) -> tuple[DoneCall, ...]:
        """The calls of all rounds that have results."""
        return tuple(call for calls in self.rounds for call in calls)

    def words(self, english: str, chinese: str) -> str:
        """Return the text in the language of the question."""
        return chinese if self.language == "zh" else english

    def answer(self, text: str) -> Plan:
        """Make a final answer, labelled as the demo model's."""
        label = self.words("demo model: I follow rules, I am no AI", "演示模型：按规则回答，不是人工智能")
        return Plan(text=f"{text.strip()}\n\n*{label}*")

    def ask(self, calls: list[AskedCall], text: str = "") -> Plan:
        """Make an answer that asks for tools."""
        return Plan(text=text, calls=tuple(calls))


def turn_of(conversation: Conversation) -> Turn:
    """Return the current turn of a conversation. The question is empty if there is no user message."""
    start, question, images = _question(conversation)
    results = _told(conversation.messages[start:])
    rounds = tuple(
        tuple(
            DoneCall(call=call, result=result.text, images=result.images, is_error=result.is_error)
            for call in message.calls
            if (result := results.get(call.id)) is not None
        )
        for message in conversation.messages[start:]
        if isinstance(message, AssistantSaid) and message.calls
    )
    text = question.strip()
    tools = Toolbox(conversation.tools)
    return Turn(
        question=text,
        language=language_of(text[:_HEAD]),
        rounds=rounds,
        tools=tools,
        images=images,
        is_corrected=any(
            isinstance(message, UserSaid) and _CORRECTED.search(message.text)
            for message in conversation.messages[start:]
        ),
    )


def _told(messages: Sequence[Message]) -> dict[str, ToolSaid]:
    """Return the results by call id. Images in a user message after a result belong to the result."""
    results: dict[str, ToolSaid] = {}
    last: ToolSaid | None = None
    for message in messages:
        if isinstance(message, UserSaid) and message.images and last is not None:
            message = replace(last, images=(*last.images, *message.images))  # noqa: PLW2901 - what it stands for
        last = message if isinstance(message, ToolSaid) else None
        if last is not None:
            results[last.call_id] = last
    return results


def language_of(text: str) -> Language:
    """Return Chinese for a text with Chinese characters and no plain English words, apart from names of cities."""
    return "zh" if _CHINESE.search(text) and not _ENGLISH.search(text) else "en"


def _question(conversation: Conversation) -> tuple[int, str, tuple[str, ...]]:
    messages = conversation.messages
    for position in range(len(messages) - 1, -1, -1):
        message = messages[position]
        if not isinstance(message, UserSaid):
            continue
        # A host's note about a call may be a message of its own, or part of the next one.
        has_more = any(isinstance(earlier, UserSaid) for earlier in messages[:position])
        if has_more and _CORRECTED.search(message.text[:_HEAD]) and _CORRECTION.match(message.text):
            continue
        # Images of a tool's result come in a user message after it, since a tool message cannot contain images.
        if message.images and position and isinstance(messages[position - 1], ToolSaid):
            continue
        question = _ASIDE.sub("", message.text, count=1) if _ASIDE.match(message.text) else message.text
        question = _BESIDE.sub("", _MARK.sub("", _FILE.sub("", question)))
        if question.strip() or message.images:
            return position, question, message.images
    return len(messages), "", ()
