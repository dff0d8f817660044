"""Rules for answers without tools: greetings, lists of tools, images, long texts, a page of Markdown, errors on request."""

from __future__ import annotations

import itertools
import re
from dataclasses import replace
from pathlib import Path

from tui_host.demo.model.brain.turn import DemoTurn
from tui_host.demo.model.plan import Plan

_GREETING = re.compile(
    r"\s*(?:(?:hello|hi|hey|help)\b|good (?:morning|day|evening)|(?:who|what) are you|what can you do|/help"
    r"|你好|您好|嗨|帮助|你是谁|你能做什么|你会什么)",
    re.IGNORECASE,
)
_TOOLS = re.compile(r"\s*(?:(?:list|show|what|which)\b[^.!?\n]{0,30}\btools\b|有?(?:哪些|什么)工具)", re.IGNORECASE)
_LENGTH = re.compile(
    r"\bwrite\b[^.!?\n]{0,40}?\b(\d[\d,]{0,11})\s*words?\b|写[^。！？\n\d]{0,20}(\d{1,12})\s*个?(?:字|词)",
    re.IGNORECASE,
)
_MOST_WORDS = 50_000
_SHOWCASE = re.compile(
    r"\b(?:show|give|draw|write)\b[^.!?\n]{0,30}\b(?:markdown|table)\b|^\s*(?:markdown|table)\b|表格|演示\s*markdown",
    re.IGNORECASE,
)
_TROUBLE = re.compile(r"(?:error|错误)\s*(?P<kind>[a-z]+|[45]\d\d)\b\s*(?P<once>once|一次)?", re.IGNORECASE)
_BEGINNING = (
    "This answer was asked to go wrong: it begins well, it says what it is about to do, and then it breaks off in the middle of",
    "这个回答应要求而出错：它好好地开始，说明接下来会发生什么，然后就在",
)


def _page(turn: DemoTurn, name: str) -> str:
    """Return a prepared text in the language of the question."""
    file = Path(__file__).parent / f"{name}_{'zh' if turn.is_chinese else 'en'}.md"
    return file.read_text(encoding="utf-8")


def greeting(turn: DemoTurn) -> Plan | None:
    """Introduce the demo model and what it can do, or the offered tools alone; also answers an empty question."""
    if _TOOLS.match(turn.question):
        return turn.answer(_offered(turn))
    if (turn.question and not _GREETING.match(turn.question)) or turn.images:
        return None
    return turn.answer(f"{_page(turn, 'help')}\n{_offered(turn)}")


def showcase(turn: DemoTurn) -> Plan | None:
    """Answer with headings, nested lists, a table, a quote, code, links and emphasis."""
    return turn.answer(_page(turn, "showcase")) if _SHOWCASE.search(turn.question[:4_000]) else None


def not_recognised(turn: DemoTurn) -> Plan:
    """Say that no rule fits; images are counted, since the demo model cannot look at them."""
    asked = " ".join(turn.question.split()).replace("`", "'")
    asked = f"{asked[:80]}…" if len(asked) > 80 else asked
    text = turn.words(
        f"I follow rules and am no AI, and none of my rules recognised `{asked}`.\n\nTry `what is (6 × 5 + 7) / 2?`, "
        "`weather in Paris and Tokyo`, `where is order 1042?`, `show markdown`, or `help` for the whole list.",
        f"我按规则回答，不是人工智能，没有规则能识别 `{asked}`。\n\n可以试试 `(6 × 5 + 7) / 2 等于多少？`、`东京的天气怎么样？`、"
        "`订单 1042 到哪了？`、`演示 Markdown`，或用 `帮助` 查看全部。",
    )
    if turn.images:
        seen = turn.words(
            f"{turn.images} image(s) came along; I cannot look at any.", f"附带了 {turn.images} 张图片，我看不了。"
        )
        text = f"{seen}\n\n{text}" if asked else seen
    return turn.answer(f"{text}\n\n{_offered(turn)}")


def _offered(turn: DemoTurn) -> str:
    names = ", ".join(f"`{tool}`" for tool in turn.tools[:100])
    if not names:
        return turn.words("No tools were offered to me in this request.", "这次请求没有提供任何工具。")
    count = len(turn.tools)
    return turn.words(
        f"Tools offered to me in this request: {count}: {names}.", f"这次请求提供了 {count} 个工具：{names}。"
    )


def prose(turn: DemoTurn) -> Plan | None:
    """Answer `write N words` with a text of up to 50,000 words (Chinese: characters), headings not counted."""
    match = _LENGTH.search(turn.question[:4_000])
    if match is None:
        return None
    length = int((match[1] or match[2]).replace(",", ""))
    left = min(length, _MOST_WORDS)
    gap = turn.words(" ", "")
    sentences: list[str] = []
    for sentence in itertools.cycle(_page(turn, "sentences").splitlines()):
        units = sentence.split(gap) if gap else list(sentence)
        sentences.append(sentence if len(units) <= left else f"{gap.join(units[:left])}…")
        left -= len(units)
        if left <= 0:
            break
    paragraphs = [gap.join(sentences[place : place + 6]) for place in range(0, len(sentences), 6)]
    for section, place in enumerate(range(0, len(paragraphs), 4), 1):
        paragraphs[place] = turn.words(f"## Part {section}\n\n", f"## 第 {section} 部分\n\n") + paragraphs[place]
    return turn.answer("\n\n".join(paragraphs))


def trouble(turn: DemoTurn) -> Plan | None:
    """Answer `error 429` and other statuses, `once` only the first time, and `error stream|cut|hang|length|empty`."""
    match = _TROUBLE.match(turn.question)
    if match is None:
        return None
    beginning = turn.words(*_BEGINNING)
    match match["kind"].lower():
        case status if status.isdigit():
            text = turn.words("This time there is no error.", "这一次没有出错。")
            return replace(turn.answer(text), status=int(status), once=bool(match["once"]))
        case "stream" | "cut" | "hang" as kind:
            return Plan(text=beginning, trouble=kind)
        case "length":
            return Plan(text=beginning, is_cut=True)
        case "empty":
            return Plan()
        case _:
            return None
