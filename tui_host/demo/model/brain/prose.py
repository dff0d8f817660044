"""Rule: a text of a given length, about the program and its protocol."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Sequence

from tui_host.demo.model.brain.pages import page
from tui_host.demo.model.plan import Plan
from tui_host.demo.model.question_turn import Turn

_ENGLISH_ASKED = re.compile(r"\bwrite\b[^.!?\n]{0,40}?\b(\d[\d,]{0,11})\s*words?\b", re.IGNORECASE)
_CHINESE_ASKED = re.compile(r"写[^。！？\n\d]{0,20}(\d{1,12})\s*个?(?:字|词)")
_MOST = 50_000

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
    return _text(words, page("sentences", "en").splitlines(), "Part")


def chinese_text(characters: int) -> str:
    """Write this many characters, punctuation included, without the headings."""
    return _text(characters, page("sentences", "zh").splitlines(), "第")


def _text(length: int, sentences: Sequence[str], heading: str) -> str:
    in_chinese = heading == "第"
    paragraphs: list[str] = []
    for number, paragraph in enumerate(_paragraphs(length, sentences, in_chinese=in_chinese)):
        section, place = divmod(number, _PARAGRAPHS_TO_A_SECTION)
        if place == 0 and length > 150:
            paragraphs.append(f"## 第 {section + 1} 部分" if in_chinese else f"## {heading} {section + 1}")
        paragraphs.append(paragraph)
    return "\n\n".join(paragraphs)


def _paragraphs(length: int, sentences: Sequence[str], *, in_chinese: bool) -> Iterator[str]:
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
