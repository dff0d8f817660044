"""Rule: a page of Markdown with everything to be drawn by a chat."""

from __future__ import annotations

import re

from tui_host.demo.model.plan import Plan
from tui_host.demo.model.question_turn import Turn

_ASKED = re.compile(
    r"\b(?:show|give|draw|write)\b[^.!?\n]{0,30}\b(?:markdown|table)\b|^\s*(?:markdown|table)\b|表格|演示\s*markdown|markdown\s*演示",
    re.IGNORECASE,
)

_ENGLISH = """# Markdown, all of it

A paragraph with *emphasis*, **strong words**, ~~struck ones~~, `inline code`, a [link](https://modelcontextprotocol.io) and an
address, <https://example.com>. 中文与 English 可以混排, emoji too: 🙂🚀.

## Lists

1. First the model asks for a tool
2. then a person decides
   - once
   - for the session
     - with a rule that says so
   - or not at all
3. then the server answers

- [x] bytes recorded
- [ ] nothing hidden

## A table

| step | who | what | bytes |
| ---: | :--- | :---: | ---: |
| 1 | host | `POST /v1/chat/completions` | 3,104 |
| 2 | model | asks for `math__multiply` | 412 |
| 3 | person | approves | – |
| 4 | 服务器 | `tools/call` → 30 | 188 |

## Code

```python
def answer(question: str) -> str:
    \"\"\"Follow the rules.\"\"\"
    for rule in RULES:
        if plan := rule(question):
            return plan
    return "I did not recognise that"
```

```json
{"jsonrpc": "2.0", "id": 4, "method": "tools/call", "params": {"name": "multiply", "arguments": {"a": 6, "b": 5}}}
```

> What the inspector shows is what was sent, not what was meant.
>
> > And a quote in a quote.

---

The end.
"""
_CHINESE = """# Markdown 演示

一个段落，有*强调*、**加粗**、~~删除线~~、`行内代码`、[链接](https://modelcontextprotocol.io)和网址 <https://example.com>。English 也可以混排，还有表情：🙂🚀。

## 列表

1. 模型先请求工具
2. 然后由人决定
   - 允许一次
   - 本次会话都允许
     - 并写明规则
   - 或者拒绝
3. 最后服务器返回结果

## 表格

| 步骤 | 谁 | 做什么 | 字节 |
| ---: | :--- | :---: | ---: |
| 1 | 主机 | `POST /v1/chat/completions` | 3,104 |
| 2 | 模型 | 请求 `math__multiply` | 412 |
| 3 | 人 | 批准 | – |
| 4 | 服务器 | `tools/call` → 30 | 188 |

## 代码

```python
def answer(question: str) -> str:
    for rule in RULES:
        if plan := rule(question):
            return plan
    return "没有规则能识别"
```

```json
{"jsonrpc": "2.0", "id": 4, "method": "tools/call", "params": {"name": "multiply", "arguments": {"a": 6, "b": 5}}}
```

> 这里显示的是实际发送的内容，而不是本来想发送的内容。

---

完。
"""


def showcase(turn: Turn) -> Plan | None:
    """Headings, nested lists, a table, a quote, code, links and emphasis."""
    return turn.answer(turn.words(_ENGLISH, _CHINESE)) if _ASKED.search(turn.head) else None
