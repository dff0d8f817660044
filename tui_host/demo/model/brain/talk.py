"""Rules: greetings and help, the list of tools, and the answer without a matching rule."""

from __future__ import annotations

import re

from tui_host.demo.model.brain.pages import page
from tui_host.demo.model.plan import Plan
from tui_host.demo.model.question_turn import Turn

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


def pictures(turn: Turn) -> Plan | None:
    """Answer a question about images, which rules cannot look at."""
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
    """Introduce the demo model and its abilities; also the answer to an empty question."""
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
    """Answer honestly when no rule matches."""
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
