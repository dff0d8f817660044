"""Rule: a text of a given length, about the program and its protocol."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator

from tui_host.demo.model.plan import Plan
from tui_host.demo.model.question_turn import Turn

_ENGLISH_ASKED = re.compile(r"\bwrite\b[^.!?\n]{0,40}?\b(\d[\d,]{0,11})\s*words?\b", re.IGNORECASE)
_CHINESE_ASKED = re.compile(r"写[^。！？\n\d]{0,20}(\d{1,12})\s*个?(?:字|词)")
_MOST = 50_000

_ENGLISH = (
    "A host talks to two sides at once, and most programs show neither.",
    "On one side stands a model, which reads a long list of messages and answers with more text.",
    "On the other side stand servers, each with its own tools, resources and prompts.",
    "Between them the host decides what is passed on, and a person decides what the host may do.",
    "The model never runs anything: it writes down the name of a tool and some arguments, and waits.",
    "What it wrote is only text until somebody approves it.",
    "The arguments are shown in full, because a decision about half of them is no decision.",
    "If the answer is no, the model is told so, together with the reason, and the turn goes on.",
    "If the answer is yes, one request leaves the host for one server, and one result comes back.",
    "The result goes into the next request, where the model reads it like any other message.",
    "Each request repeats the conversation so far, which is why long conversations cost more than short ones.",
    "The list of tools is repeated too, with every schema, even for a question that needs none of them.",
    "A server speaks first about itself: its name, its version, and what it can do.",
    "Then the client lists the tools, and keeps the list until the server says that it has changed.",
    "Over standard input and output each message is one line, and nothing else may be written there.",
    "Over HTTP a message is the body of a request, and the answer may be one body or a stream of events.",
    "A stream is cut wherever the network likes, so a reader must not care where the pieces end.",
    "Some events carry one word, some half a character, and some nothing but a sign of life.",
    "Two calls may run side by side, and their results may come back in either order.",
    "An identifier ties a result to its call, and a careful host follows it from one wire to the other.",
    "What a server says about its own tools is a claim, and a host shows it as one.",
    "An error is an answer as well: it says what went wrong, and a model may try again with better arguments.",
    "Nothing in this text was thought of by a model: it is a list of sentences, told one after the other.",
    "Whoever wants to know how it works in truth should look at the bytes, which are recorded beside it.",
)
_CHINESE = (
    "主机同时与两边对话，而大多数程序两边都不展示。",
    "一边是模型，它读取一长串消息，再用更多的文字回答。",
    "另一边是服务器，每个服务器都有自己的工具、资源和提示。",
    "主机决定转发什么，而人决定主机可以做什么。",
    "模型自己从不运行任何东西：它写下工具的名字和参数，然后等待。",
    "在有人批准之前，它写下的只是文字。",
    "参数会完整显示，因为只看一半就不算决定。",
    "如果拒绝，模型会得知拒绝和理由，对话继续进行。",
    "如果批准，主机向一个服务器发出一个请求，并收到一个结果。",
    "结果会写进下一个请求，模型像读其他消息一样读它。",
    "每个请求都会重复到目前为止的对话，所以长对话更贵。",
    "工具列表和它们的模式也会一再重复，哪怕问题根本用不到。",
    "在标准输入输出上，每条消息占一行，不能写入别的内容。",
    "通过网络时，消息是请求的正文，回答可以是一个正文，也可以是事件流。",
    "流会在任意位置被切开，读取者不能依赖切口的位置。",
    "两个调用可以同时进行，结果可以以任意顺序返回。",
    "编号把结果和调用连在一起，细心的主机会在两条线路上跟踪它。",
    "这段文字不是模型想出来的：它只是一串句子，一句接一句。",
)
_PARAGRAPH = 6
_PARAGRAPHS_TO_A_SECTION = 4


def prose(turn: Turn) -> Plan | None:
    """Answer `write N words`, up to 50,000 words without headings."""
    english, chinese = _ENGLISH_ASKED.search(turn.head), _CHINESE_ASKED.search(turn.head)
    if english:
        return turn.answer(_of_length(turn, int(english[1].replace(",", "")), in_chinese=False))
    return turn.answer(_of_length(turn, int(chinese[1]), in_chinese=True)) if chinese else None


def _of_length(turn: Turn, asked: int, *, in_chinese: bool) -> str:
    text = chinese_text(min(asked, _MOST)) if in_chinese else english_text(min(asked, _MOST))
    if asked > _MOST:
        text += turn.words(f"\n\n({_MOST:,} words are the most that I write.)", f"\n\n（我最多写 {_MOST:,} 字。）")
    return text


def english_text(words: int) -> str:
    """Write this many words, without the headings."""
    return _text(words, _ENGLISH, "Part")


def chinese_text(characters: int) -> str:
    """Write this many characters, punctuation included, without the headings."""
    return _text(characters, _CHINESE, "第")


def _text(length: int, sentences: tuple[str, ...], heading: str) -> str:
    in_chinese = heading == "第"
    paragraphs: list[str] = []
    for number, paragraph in enumerate(_paragraphs(length, sentences, in_chinese=in_chinese)):
        section, place = divmod(number, _PARAGRAPHS_TO_A_SECTION)
        if place == 0 and length > 150:
            paragraphs.append(f"## 第 {section + 1} 部分" if in_chinese else f"## {heading} {section + 1}")
        paragraphs.append(paragraph)
    return "\n\n".join(paragraphs)


def _paragraphs(length: int, sentences: tuple[str, ...], *, in_chinese: bool) -> Iterator[str]:
    left, gap = length, "" if in_chinese else " "
    gathered: list[str] = []
    for number, sentence in enumerate(itertools.cycle(sentences), 1):
        units = list(sentence) if in_chinese else sentence.split(" ")
        if left <= len(units):
            if left:
                last = gap.join(units[:left])
                gathered.append(last if last.endswith((".", "。")) else f"{last.rstrip(',:，、：')}…")
            if gathered:
                yield gap.join(gathered)
            return
        gathered.append(sentence)
        left -= len(units)
        if number % _PARAGRAPH == 0:
            yield gap.join(gathered)
            gathered = []
