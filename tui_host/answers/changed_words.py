"""The words that differ between two texts."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher

from tui_host.llm.outline import common_prefix

_WORDS = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]|\d+(?:[:./-]\d+)*|\w+|\s+|.", re.DOTALL)
"""A number, time or date, a word, a Chinese, Japanese or Korean character, blanks, or a sign."""
_LINES = re.compile(r"[^\n]*\n|[^\n]+")
_MOST = 2000
"""Words, else lines, of each text that are compared; of more, the whole middle counts as changed."""
_CONTEXT = 24
_TIME = re.compile(r"\d{1,2}:\d{2}|\d{4}-\d{2}|\b20\d{2}\b")


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangedWords:
    """A place where a text changed."""

    start: int  # where the new words stand in the later text, in characters
    gone: str  # the words of the earlier text; empty if words were only added
    come: str  # the words of the later text; empty if words were only removed
    before: str  # some characters before, the same in both texts
    after: str  # some characters behind

    @property
    def is_time(self) -> bool:
        return bool(_TIME.search(self.before[-6:] + self.gone + self.after[:6]))


def changed_words(old: str, new: str) -> Sequence[ChangedWords]:
    """Return the places where two texts differ, in their order. Bounded: long texts are compared by lines, else as wholes."""
    head = common_prefix(old, new)
    head = max((match.start() for match in _WORDS.finditer(new, max(0, head - 80), head)), default=head) if head else 0
    tail = common_prefix(old[head:][::-1], new[head:][::-1])
    one, other = old[head : len(old) - tail], new[head : len(new) - tail]
    following = re.match(r"(?:[:./-]?\w)*", new[len(new) - tail :])
    more = following.end() if following is not None and (one or other) else 0  # whole words
    if more:
        one, other = old[head : len(old) - tail + more], new[head : len(new) - tail + more]
    return [
        ChangedWords(
            start=head + start,
            gone=gone,
            come=come,
            before=new[max(0, head + start - _CONTEXT) : head + start],
            after=new[head + start + len(come) : head + start + len(come) + _CONTEXT],
        )
        for start, gone, come in _differences(one, other)
    ]


def marked(gone: str, come: str) -> str:
    """Return words that are gone and words that came as `[-gone-]{+come+}`, without an empty half."""
    return (f"[-{gone}-]" if gone else "") + (f"{{+{come}+}}" if come else "")


def merged_text(new: str, changes: Sequence[ChangedWords]) -> str:
    """Return the later text with the changes marked: `[-gone-]{+come+}`."""
    pieces: list[str] = []
    place = 0
    for change in changes:
        pieces.append(new[place : change.start])
        pieces.append(marked(change.gone, change.come))
        place = change.start + len(change.come)
    return "".join((*pieces, new[place:]))


def _differences(old: str, new: str) -> Iterator[tuple[int, str, str]]:
    """Yield where the words stand in the later text, the words that are gone, and those that came."""
    for pattern in (_WORDS, _LINES):
        one, other = pattern.findall(old[: 1 << 20]), pattern.findall(new[: 1 << 20])
        if max(len(one), len(other)) <= _MOST and max(len(old), len(new)) <= 1 << 20:
            break
    else:
        one, other = [old], [new]
    place = done = 0
    gone, come, since = "", "", 0
    for tag, start, end, first, last in SequenceMatcher(None, one, other).get_opcodes():
        place += sum(map(len, other[done:first]))
        done = first
        words = "".join(other[first:last])
        if tag != "equal":
            since = since if gone or come else place
            gone, come = gone + "".join(one[start:end]), come + words
        elif (gone or come) and words.isspace() and last < len(other) and end < len(one):
            gone, come = gone + words, come + words  # blanks between two changed words belong to the change
        elif gone or come:
            yield since, gone, come
            gone, come = "", ""
    if gone or come:
        yield since, gone, come
