"""Rules: greetings and help, the list of tools, and the answer without a matching rule."""

from __future__ import annotations

import re

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

_HELP_EN = """I am the demo model of this program. I am **no AI**: I follow a handful of rules, so that everything can be tried \
without a key. On the wire I am real: what you see beside this chat is what was sent.

What I recognise:

- arithmetic, step by step with tools: `what is (6 × 5 + 7) / 2?`
- the weather: `weather in Paris and Tokyo`, `alerts for New York`
- orders: `where is order 1042?`, `list orders`
- any tool that is offered: `call SERVER.TOOL {"name": "value"}`; several lines are asked for at once
- broken calls: `raw call SERVER.TOOL {broken`
- calls in a wrong form: `malformed call …`, `always malformed call …`, `unclosed call …`, `invented call …`, `double call …`, \
`prose call …`, `fenced call …`, `wrapped call …`
- a question back: `ask me Which city? Paris | Tokyo`; a resource: `read resource SERVER URI`
- thinking before an answer: `think about 6 × 7`
- Markdown: `show markdown`; long answers: `write 500 words`
- errors: `error 429`, `error 429 once`, `error 500`, `error stream`, `error cut`, `error hang`, `error length`, `error empty`, \
`error html`
- `list tools`
"""
_HELP_ZH = """我是本程序的演示模型，**不是人工智能**：我只按几条规则回答，这样没有密钥也能试用一切。线上的往来是真实的：旁边看到的就是实际发送的内容。

我能识别：

- 用工具一步一步做算术：`(6 × 5 + 7) / 2 等于多少？`
- 天气：`东京和巴黎的天气怎么样？`、`香港有没有预警？`
- 订单：`订单 1042 到哪了？`、`列出所有订单`
- 任何提供给我的工具：`call SERVER.TOOL {"name": "value"}`，可以写多行，同时请求
- 有错的调用：`raw call SERVER.TOOL {broken`
- 形式有错的调用：`错误调用 …`、`总是错误调用 …`、`未闭合调用 …`、`编造调用 …`、`重复调用 …`、`文中调用 …`、`围栏调用 …`、`包裹调用 …`
- 反问：`问我 哪个城市？巴黎 | 东京`；资源：`读取资源 SERVER URI`
- 回答之前先思考：`思考 6 × 7`
- Markdown：`演示 Markdown`；长回答：`写一篇 500 字`
- 错误：`error 429`、`error 429 once`、`error 500`、`error stream`、`error cut`、`error hang`、`error length`、`error empty`、`error html`
- `有哪些工具`
"""


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
    return turn.answer(f"{turn.words(_HELP_EN, _HELP_ZH)}\n{_offered(turn)}")


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
