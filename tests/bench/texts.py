"""Markdown to stream: mixed, one long fence, one long table."""

from __future__ import annotations

SECTION = """\
## Part {number}

Here is a paragraph of ordinary prose with *emphasis*, **strong words**, a [link](https://example.org/{number}) and `code` in it; it goes
on for some lines as answers do, and says what was found, why it matters, and what could be done about it next.

这一段是中文：工具返回了结果，主机把它告诉模型，然后模型继续回答第 {number} 个问题。

- a list with several entries
- of which the second one is somewhat longer than the first, so that it wraps
  - and one of them is nested
1. and numbers
2. as well

```python
def step_{number}(value: int) -> int:
    \"\"\"Return the next one.\"\"\"
    return value * {number} + 1  # nothing else
```

| city | temperature | note |
| --- | ---: | --- |
| Paris | {number} | cloudy |
| 东京 | 21 | clear |

> A quotation stands at the end of part {number}.

"""


def mixed(characters: int) -> str:
    """Prose, Chinese, lists, fences, tables."""
    text = ""
    number = 0
    while len(text) < characters:
        number += 1
        text += SECTION.format(number=number)
    return text


def fence(lines: int) -> str:
    """One long piece of code."""
    code = "".join(f"    total_{number} = add(total_{number - 1}, {number})  # line\n" for number in range(1, lines))
    return f"```python\ndef sums() -> None:\n{code}```"


def table(rows: int) -> str:
    """One long table."""
    body = "".join(f"| row {number} | {number * 7} | some words |\n" for number in range(rows))
    return f"| name | value | note |\n| --- | --- | --- |\n{body}"
