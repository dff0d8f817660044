"""The current turn of a conversation: the question, and the results of the calls since."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from tui_host.demo.model.conversation import DemoCall, DemoConversation, DemoMessage
from tui_host.demo.model.plan import Plan

Fate: TypeAlias = Literal["answered", "failed", "refused"]

_ENGLISH = re.compile(
    r"\b(a|all|and|are|call|for|hello|how|in|is|list|of|order|please|show|the|think|to|use|weather|what|where|write|you)\b",
    re.IGNORECASE,
)
_CHINESE = re.compile(r"[\u3400-\u9fff]")
_REFUSED = re.compile(
    r"\b(?:user|person)\b.{0,20}\b(?:denied|rejected|stopped)\b|\bdenied by\b|\bto approve this call\b|\bturn was stopped\b",
    re.IGNORECASE,
)
_FAILED = re.compile(r"\s*(?:error\b|the tool execution failed)", re.IGNORECASE)
# What a host adds to the user's words: notes in brackets, reminders in tags, attached files, and marks in their place.
_BESIDE = re.compile(
    r"\A(?:\s*\[[A-Z][^\[\]\n]{8,300}\.\])+\s*|<(system-reminder|environment_context|session_context)>.*?</\1>\s*"
    r'|\n\n<(file(?:-\d+)?) name="[^"\n]*">\n.*?\n</\2>|\[[^\[\]\n]+: (?:image/\w+|text), [\d.]+ k?M?B(?:, \d+)?\]',
    re.DOTALL,
)
_MOST_INLINE, _MOST_QUOTED = 120, 4_000


@dataclass(frozen=True, slots=True, kw_only=True)
class DoneCall:
    """A call of the turn with the host's answer to it."""

    call: DemoCall
    result: DemoMessage
    fate: Fate  # what became of the call


@dataclass(frozen=True, slots=True, kw_only=True)
class DemoTurn:
    """The question to answer, and what has happened since.

    Attributes:
        rounds: The calls of each later assistant message with their results, in order.
    """

    question: str  # the user's last message, without what a host adds to it
    is_chinese: bool  # whether it has Chinese characters and no plain English words, apart from names of cities
    tools: tuple[str, ...]
    rounds: tuple[tuple[DoneCall, ...], ...] = ()
    done: tuple[DoneCall, ...] = ()  # the calls of all rounds
    images: int = 0

    def words(self, english: str, chinese: str) -> str:
        """Return the text in the language of the question."""
        return chinese if self.is_chinese else english

    def answer(self, text: str, *, lacks_tool: bool = False) -> Plan:
        """Make a final answer, labelled as the demo model's."""
        label = self.words("demo model: I follow rules, I am no AI", "演示模型：按规则回答，不是人工智能")
        return Plan(text=f"{text.strip()}\n\n*{label}*", lacks_tool=lacks_tool)

    def ask(self, wanted: Sequence[DemoCall]) -> Plan | None:
        """Ask for the calls without a result; None once all results are there, or a call was refused."""
        if len(self.done) >= len(wanted) or any(call.fate == "refused" for call in self.done):
            return None
        return Plan(calls=tuple(wanted[len(self.done) :]))

    def outcome(self, done: DoneCall) -> str:
        """Write a sentence about a call that has a result. Results are quoted: they are not the model's own words."""
        name, text = f"`{done.call.name}`", done.result.text
        if len(text) <= _MOST_INLINE and "\n" not in text and "`" not in text:
            quoted = f" `{text}`" if text.strip() else self.words(" nothing", "（空）")
        else:
            fence = "`" * max(3, 1 + max((len(run) for run in re.findall(r"`+", text)), default=0))
            quoted, left = f"\n\n{fence}\n{text[:_MOST_QUOTED]}\n{fence}", len(text) - _MOST_QUOTED
            if left > 0:
                english = f"\n\n({left:,} more characters are not repeated here.)"
                quoted += self.words(english, f"\n\n（还有 {left:,} 个字符。）")
        match done.fate:
            case "refused":
                return self.words(f"{name} was not run:{quoted}", f"{name} 没有运行：{quoted}")
            case "failed":
                return self.words(f"{name} failed:{quoted}", f"{name} 失败了：{quoted}")
            case "answered":
                return self.words(f"{name} answered{quoted}", f"{name} 的结果：{quoted}")


def turn_of(conversation: DemoConversation) -> DemoTurn:
    """Return the current turn of a conversation. The question is empty if there is no user message."""
    messages = conversation.messages
    start, question = len(messages), ""
    for place in range(len(messages) - 1, -1, -1):
        message = messages[place]
        # Images of a tool's result come in a user message after it, since a tool message cannot contain images.
        if message.role != "user" or (message.images and messages[place - 1].role == "tool"):
            continue
        question = _BESIDE.sub("", message.text).strip()
        if question or message.images:
            start = place
            break
    results = {message.call_id: message for message in messages[start:] if message.role == "tool"}
    rounds: list[tuple[DoneCall, ...]] = []
    for message in messages[start:]:
        done: list[DoneCall] = []
        for call, result in ((call, results[call.id]) for call in message.calls if call.id in results):
            # The host's words tell what became of a call: most APIs have no field for it.
            head, fate = result.text[:300], "answered"
            if _REFUSED.search(head):
                fate = "refused"
            elif result.is_error or _FAILED.match(head):
                fate = "failed"
            done.append(DoneCall(call=call, result=result, fate=fate))
        rounds += [tuple(done)] if message.calls else []
    return DemoTurn(
        question=question,
        is_chinese=bool(_CHINESE.search(question)) and not _ENGLISH.search(question),
        tools=conversation.tools,
        rounds=tuple(rounds),
        done=tuple(call for calls in rounds for call in calls),
        images=messages[start].images if start < len(messages) else 0,
    )
