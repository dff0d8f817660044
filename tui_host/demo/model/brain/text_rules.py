"""Rules for answers without tools: greetings, lists of tools, images, long texts, a page of Markdown, errors on request."""

from __future__ import annotations

import itertools
import re
from functools import cache
from pathlib import Path

from tui_host.demo.model.plan import Plan, Trouble
from tui_host.demo.model.question_turn import Language, Turn

_GREETING = re.compile(
    r"\s*(?:(?:hello|hi|hey|help|hilfe)\b|good (?:morning|day|evening)|who are you|what are you|what can you do|/help"
    r"|你好|您好|嗨|帮助|你是谁|你能做什么|你会什么)",
    re.IGNORECASE,
)
_PICTURE = re.compile(r"\b(?:images?|pictures?|photos?|screenshots?|see|show[ns]?)\b|图|照片|截图", re.IGNORECASE)
_TOOLS = re.compile(
    r"\s*(?:(?:list|show|what|which)\b[^.!?\n]{0,30}\btools\b|tools\s*\??$|(?:有)?(?:哪些|什么|列出)工具)",
    re.IGNORECASE,
)
_LENGTHS: dict[Language, re.Pattern[str]] = {
    "en": re.compile(r"\bwrite\b[^.!?\n]{0,40}?\b(\d[\d,]{0,11})\s*words?\b", re.IGNORECASE),
    "zh": re.compile(r"写[^。！？\n\d]{0,20}(\d{1,12})\s*个?(?:字|词)"),
}
_MOST = 50_000
_SHOWCASE = re.compile(
    r"\b(?:show|give|draw|write)\b[^.!?\n]{0,30}\b(?:markdown|table)\b|^\s*(?:markdown|table)\b|表格|演示\s*markdown|markdown\s*演示",
    re.IGNORECASE,
)
_TROUBLE = re.compile(r"(?:error|错误)\s*(?P<what>[a-z]+|[45]\d\d)\b\s*(?P<once>once|一次)?", re.IGNORECASE)
_BEGINNING = (
    "This answer was asked to go wrong: it begins well, it says what it is about to do, and then it breaks off in the middle of",
    "这个回答应要求而出错：它好好地开始，说明接下来会发生什么，然后就在",
)


@cache
def page(name: str, language: Language) -> str:
    """Return a prepared text in a language, `en` or `zh`."""
    return (Path(__file__).parent / f"{name}_{language}.md").read_text(encoding="utf-8")


def pictures(turn: Turn) -> Plan | None:
    """Answer a question about images: the demo model cannot look at them."""
    if not turn.images or (turn.question and not _PICTURE.search(turn.head)):
        return None
    return turn.answer(_seen(turn))


def _seen(turn: Turn) -> str:
    return turn.words(
        f"With your question came {_counted(turn)} ({'; '.join(turn.images)}). I follow rules and cannot look at any.",
        f"问题附带了 {len(turn.images)} 张图片（{'；'.join(turn.images)}）。我按规则回答，看不了图片。",
    )


def _counted(turn: Turn) -> str:
    return "an image" if len(turn.images) == 1 else f"{len(turn.images)} images"


def greeting(turn: Turn) -> Plan | None:
    """Introduce the demo model and what it can do; also answers an empty question."""
    if turn.question and not _GREETING.match(turn.question):
        return None
    return turn.answer(f"{page('help', turn.language)}\n{_offered(turn)}")


def list_tools(turn: Turn) -> Plan | None:
    """List the offered tools by name."""
    if not _TOOLS.match(turn.question):
        return None
    lines = [f"- `{tool.name}` – {' '.join(tool.description.split())[:100]}" for tool in turn.tools.tools[:100]]
    return turn.answer("\n".join([_offered(turn), "", *lines]))


def not_recognised(turn: Turn) -> Plan:
    """Say that the demo model does not understand the question; used when no rule matches."""
    asked = " ".join(turn.question.split())
    asked = (f"{asked[:80]}…" if len(asked) > 80 else asked).replace("`", "'")
    text = turn.words(
        f"I follow rules and am no AI, and none of my rules recognised `{asked}`.\n\nTry `what is (6 × 5 + 7) / 2?`, "
        "`weather in Paris and Tokyo`, `where is order 1042?`, `show markdown`, or `help` for the whole list.",
        f"我按规则回答，不是人工智能，没有规则能识别 `{asked}`。\n\n可以试试 `(6 × 5 + 7) / 2 等于多少？`、`东京的天气怎么样？`、"
        "`订单 1042 到哪了？`、`演示 Markdown`，或用 `帮助` 查看全部。",
    )
    seen = f"{_seen(turn)}\n\n" if turn.images else ""
    return turn.answer(f"{seen}{text}\n\n{_offered(turn)}")


def _offered(turn: Turn) -> str:
    counts = turn.tools.by_server()
    if not counts:
        return turn.words("No tools were offered to me in this request.", "这次请求没有提供任何工具。")
    listed = turn.words(", ", "、").join(f"`{server}` ({count})" for server, count in counts.items())
    number = sum(counts.values())
    return turn.words(
        f"Tools offered to me in this request: {number}, from {listed}.",
        f"这次请求提供了 {number} 个工具，来自 {listed}。",
    )


def prose(turn: Turn) -> Plan | None:
    """Answer `write N words` with a text of up to 50,000 words, headings not counted."""
    for language, asked in _LENGTHS.items():
        if match := asked.search(turn.head):
            length = int(match[1].replace(",", ""))
            text = text_of(min(length, _MOST), language)
            if length > _MOST:
                text += turn.words(
                    f"\n\n({_MOST:,} words are the most that I write.)", f"\n\n（我最多写 {_MOST:,} 字。）"
                )
            return turn.answer(text)
    return None


def text_of(length: int, language: Language) -> str:
    """Write a text with a number of words (English) or characters (Chinese), headings not counted."""
    gap, heading = (" ", "Part {}") if language == "en" else ("", "第 {} 部分")
    sentences: list[str] = []
    left = length
    for sentence in itertools.cycle(page("sentences", language).splitlines()):
        if left <= 0:
            break
        units = sentence.split(" ") if gap else list(sentence)
        sentences.append(sentence if len(units) <= left else f"{gap.join(units[:left]).rstrip(',:，、：')}…")
        left -= len(units)
    paragraphs = [gap.join(sentences[place : place + 6]) for place in range(0, len(sentences), 6)]
    for section, place in enumerate(range(0, len(paragraphs) if length > 150 else 0, 4), 1):
        paragraphs[place] = f"## {heading.format(section)}\n\n{paragraphs[place]}"
    return "\n\n".join(paragraphs)


def showcase(turn: Turn) -> Plan | None:
    """Answer with headings, nested lists, a table, a quote, code, links and emphasis."""
    return turn.answer(page("showcase", turn.language)) if _SHOWCASE.search(turn.head) else None


def trouble(turn: Turn) -> Plan | None:
    """Answer `error 429` and other statuses, `once` only the first time, and `error stream|cut|hang|html|length|empty`."""
    match = _TROUBLE.match(turn.question)
    if not match:
        return None
    what = match["what"].lower()
    if what.isdigit():
        return Plan(
            text=turn.answer(turn.words("This time there is no error.", "这一次没有出错。")).text,
            trouble=Trouble(kind="status", status=int(what), once=bool(match["once"])),
        )
    beginning = turn.words(*_BEGINNING)
    plans = {
        "stream": Plan(text=beginning, trouble=Trouble(kind="error")),
        "cut": Plan(text=beginning, trouble=Trouble(kind="cut")),
        "hang": Plan(trouble=Trouble(kind="hang")),
        "html": Plan(trouble=Trouble(kind="html")),
        "length": Plan(text=beginning, is_cut=True),
        "empty": Plan(),
    }
    return plans.get(what)
