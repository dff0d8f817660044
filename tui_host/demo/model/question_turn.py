"""The current turn of a conversation: the question, and the results of calls since."""

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
"""What a host says in the user's place, in brackets: that an answer was stopped, or broke off."""
_BESIDE = re.compile(r"<(system-reminder|session_context|environment_context)>.*?</\1>\s*", re.DOTALL)
"""Text of other hosts beside the user's words, in the same message."""
_FILE = re.compile(r'\n\n<(file(?:-\d+)?) name="[^"\n]*">\n.*?\n</\1>', re.DOTALL)
_MARK = re.compile(r"\[[^\[\]\n]+: (?:image/\w+|text), [\d.]+ k?M?B(?:, \d+)?\]")
"""A file that came with the question, and the mark that stands in it for one: no rule is meant for what they say."""
_CORRECTED = re.compile(r"\bnothing (?:\w+ ){0,3}was run\b|没有运行|未运行", re.IGNORECASE)
_CORRECTION = re.compile(r"\s*(?:your (?:call|answer)\b|你的调用)", re.IGNORECASE)
_REASON = re.compile(r"\breason(?:\s+(?:is|was))?\s*[:：]\s*(.+)", re.IGNORECASE | re.DOTALL)


@dataclass(frozen=True, slots=True, kw_only=True)
class DoneCall:
    """A call of the turn with the host's words about it.

    Attributes:
        images: The images with the result, described in words.
        is_error: Whether the host marked it as an error.
    """

    call: Call
    told: str
    images: tuple[str, ...] = ()
    is_error: bool = False

    @property
    def fate(self) -> Fate:
        """The outcome of the call by the host's words: most APIs have no field for it."""
        head = self.told[:300]
        if _STOPPED.search(head):
            return "stopped"
        if _REJECTED.search(head):
            return "rejected"
        return "failed" if self.is_error or _FAILED.match(head) else "answered"

    @property
    def reason(self) -> str:
        """The person's reason for a rejection, empty if absent."""
        match = _REASON.search(self.told[:2_000])
        return " ".join(match[1].split()) if match else ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """The question to answer now.

    Attributes:
        question: The last thing that the user said, without what a host says in brackets.
        rounds: The calls of each assistant message since, with their results, in order.
        tools: What was offered.
        images: The images with the question, described in words.
        is_corrected: Whether the host has complained about a wrong call in a plain message since.
    """

    question: str
    language: Language
    rounds: tuple[tuple[DoneCall, ...], ...]
    tools: Toolbox
    images: tuple[str, ...] = ()
    is_corrected: bool = False

    @property
    def head(self) -> str:
        """The beginning of the question, for rules matching anywhere in a short sentence."""
        return self.question[:_HEAD]

    @property
    def done(self) -> tuple[DoneCall, ...]:
        """The calls of all rounds."""
        return tuple(call for calls in self.rounds for call in calls)

    def words(self, english: str, chinese: str) -> str:
        """Choose by the question's language."""
        return chinese if self.language == "zh" else english

    def answer(self, text: str) -> Plan:
        """Make a final answer, labelled as the demo model's."""
        label = self.words("demo model: I follow rules, I am no AI", "演示模型：按规则回答，不是人工智能")
        return Plan(text=f"{text.strip()}\n\n*{label}*")

    def ask(self, calls: list[AskedCall], text: str = "") -> Plan:
        """Asks for tools."""
        return Plan(text=text, calls=tuple(calls))


def turn_of(conversation: Conversation) -> Turn:
    """Return the turn of a conversation; the question is empty without a user message."""
    start, question, images = _question(conversation)
    results = _told(conversation.messages[start:])
    rounds = tuple(
        tuple(_done(call, results[call.id]) for call in message.calls if call.id in results)
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
    """Return results by call id; images in a user message after a result are the result's."""
    results: dict[str, ToolSaid] = {}
    last: ToolSaid | None = None
    for message in messages:
        if isinstance(message, UserSaid) and message.images and last is not None:
            message = replace(last, images=(*last.images, *message.images))  # noqa: PLW2901 - what it stands for
        last = message if isinstance(message, ToolSaid) else None
        if last is not None:
            results[last.call_id] = last
    return results


def _done(call: Call, told: ToolSaid) -> DoneCall:
    return DoneCall(call=call, told=told.text, images=told.images, is_error=told.is_error)


def language_of(text: str) -> Language:
    """Return Chinese for texts with Chinese characters and without plain English words (a city's name decides nothing)."""
    return "zh" if _CHINESE.search(text) and not _ENGLISH.search(text) else "en"


def _question(conversation: Conversation) -> tuple[int, str, tuple[str, ...]]:
    messages = conversation.messages
    for position in range(len(messages) - 1, -1, -1):
        message = messages[position]
        if not isinstance(message, UserSaid):
            continue
        # What a host says of a call that its API has no place for stands alone, or in the same message.
        has_more = any(isinstance(earlier, UserSaid) for earlier in messages[:position])
        if has_more and _CORRECTED.search(message.text[:_HEAD]) and _CORRECTION.match(message.text):
            continue
        # Images of a tool's result come as a user message after it, since a tool message cannot hold them.
        if message.images and position and isinstance(messages[position - 1], ToolSaid):
            continue
        question = _ASIDE.sub("", message.text, count=1) if _ASIDE.match(message.text) else message.text
        question = _BESIDE.sub("", _MARK.sub("", _FILE.sub("", question)))
        if question.strip() or message.images:
            return position, question, message.images
    return len(messages), "", ()
