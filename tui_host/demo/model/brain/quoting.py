"""Quotes tools' results in Markdown, so that their text cannot be mistaken for the model's own words."""

from __future__ import annotations

import json
import re

from tui_host.demo.model.question_turn import DoneCall, Turn

_INLINE = 120
_BLOCK = 4_000


def quote(turn: Turn, text: str) -> str:
    """Format a result as inline code if it is short, otherwise as a fenced block; a long result is cut, with a note.

    The result begins with a space, or with an empty line before a block.
    """
    if not text.strip():
        return turn.words(" nothing", "（空）")
    if len(text) <= _INLINE and "\n" not in text and "`" not in text:
        return f" `{text}`"
    note = ""
    if len(text) > _BLOCK:
        left = len(text) - _BLOCK
        note = turn.words(
            f"\n\n({left:,} more characters are not repeated here.)", f"\n\n（还有 {left:,} 个字符，这里不再重复。）"
        )
    language = "json" if not note and _is_json(text) else ""
    fence = "`" * max(3, 1 + max((len(run) for run in re.findall(r"`+", text)), default=0))
    return f"\n\n{fence}{language}\n{text[:_BLOCK]}\n{fence}{note}"


def in_one_line(text: str) -> str:
    """Format a result as part of a sentence, on a single line."""
    return " ".join(text.split())[:1_000]


def outcome(turn: Turn, done: DoneCall) -> str:
    """Write a sentence about a call that has a result."""
    name = f"`{done.call.name}`"
    match done.fate:
        case "rejected":
            reason = turn.words(f" (reason: {done.reason})", f"（理由：{done.reason}）") if done.reason else ""
            by_person = "user" in done.result[:40].casefold() and "rule" not in done.result[:60].casefold()
            if by_person:
                return turn.words(f"You rejected {name}{reason}.", f"你拒绝了 {name}{reason}。")
            return turn.words(
                f"{name} was not allowed: {in_one_line(done.result)}", f"{name} 没有被允许：{in_one_line(done.result)}"
            )
        case "stopped":
            return turn.words(f"{name} was stopped before it gave a result.", f"{name} 在得到结果之前被停止了。")
        case "failed":
            return turn.words(f"{name} failed:{quote(turn, done.result)}", f"{name} 失败了：{quote(turn, done.result)}")
        case "answered":
            sentence = turn.words(
                f"{name} answered{quote(turn, done.result)}", f"{name} 的结果：{quote(turn, done.result)}"
            )
            if not done.images:
                return sentence
            count = len(done.images)
            images = turn.words(
                f"{count} image{'s' if count > 1 else ''} came with it: {'; '.join(done.images)}.",
                f"附带 {count} 张图片：{'；'.join(done.images)}。",
            )
            return f"{sentence}\n\n{images}"


def _is_json(text: str) -> bool:
    try:
        return isinstance(json.loads(text), dict | list)
    except (ValueError, RecursionError):
        return False
