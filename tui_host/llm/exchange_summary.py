"""Summarises a request or a response in a few words for a row. Foreign text is not yet escaped."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import lru_cache

from tui_host.capture.json.narrowing import items, mapping
from tui_host.capture.json.reading import read_json
from tui_host.capture.record import Head
from tui_host.llm.dialects.dialect import Dialect
from tui_host.llm.dialects.table import dialect_at
from tui_host.llm.fold import Fold

_MOST = 200
_LOOKED_AT = 16 << 10  # the most characters of an answer to summarise
_MESSAGES = ("messages", "contents", "input")
_TOOL_LISTS = ("functionDeclarations", "function_declarations", "tools")  # of Gemini, and namespaces of Responses
_NO_NAMES: Mapping[str, tuple[str, str]] = {}


def answer_text(url: str, head: Head, body: bytes) -> tuple[str, int]:
    """Return what an answer says, put together from its events, and its input tokens; nothing for unknown dialects."""
    dialect = dialect_at(url)
    if dialect is None:
        return "", 0
    words = ResponseWords(dialect, status=head.status or 0, headers=head.headers)
    words.feed(body)
    words.finish()
    return words.text, words.tokens


def request_words(body: bytes, previous: bytes | None = None) -> str:
    """Summarise a request: «3 tools · 2 messages», or «+2 messages» relative to an earlier request of the turn."""
    tools, messages = _counts(body)
    tools_before, messages_before = _counts(previous or b"")
    words: list[str] = []
    if tools and tools != tools_before:
        words.append(_counted(tools, "tool"))
    if previous and messages > messages_before:
        words.append(f"+{_counted(messages - messages_before, 'message')}")
    elif messages:
        words.append(_counted(messages, "message"))
    return " · ".join(words)


@lru_cache(maxsize=2)
def _counts(body: bytes) -> tuple[int, int]:
    try:  # both are kept, for what was the body is the previous one next
        value = mapping(read_json(body) if body else None)
    except ValueError:
        return 0, 0
    tools = 0
    for entry in map(mapping, items(value.get("tools"))):
        lists = [items(entry[name]) for name in _TOOL_LISTS if name in entry]
        tools += sum(map(len, lists)) if lists else 1
    return tools, max(len(items(value.get(name))) for name in _MESSAGES)


class ResponseWords:
    """Summarises a growing response; each byte is read once."""

    def __init__(
        self,
        dialect: Dialect,
        *,
        status: int = 200,  # 0 if unknown
        headers: tuple[tuple[str, str], ...] = (),
        names: Mapping[str, tuple[str, str]] = _NO_NAMES,  # server and tool for each name of the model's
        hide: Callable[[str], str] = str,  # removes secrets, before the text is cut
    ) -> None:
        self._hide = hide
        self._dialect = dialect
        self._status = status
        self._headers = headers
        self._names = names
        self._fold = Fold(provider="", model="", call_id=str)
        self._refusal = bytearray()
        is_answer = not status or 200 <= status < 300
        self._decoder = dialect.decoder(Head(headers=headers).value("content-type")) if is_answer else None

    def feed(self, data: bytes) -> None:
        if self._decoder is None:
            self._refusal += data[: 65536 - len(self._refusal)]
            return
        for event in self._decoder.feed(data):
            self._fold.add(event)

    def finish(self) -> None:
        for event in self._decoder.finish() if self._decoder is not None else ():
            self._fold.add(event)

    @property
    def text(self) -> str:
        calls = (f"{call.call.name} {call.call.arguments}" for call in self._fold.calls)
        return "\n".join((self._fold.text, self._fold.thinking, *calls))

    @property
    def tokens(self) -> int:
        return self._fold.usage.input_total or 0

    @property
    def token_words(self) -> str:
        """Return «12,004 tok, 8,064 cached», as the provider reported."""
        cached = self._fold.usage.input_cached
        words = f", {cached:,} cached" if cached else ""
        return f"{self.tokens:,} tok{words}" if self.tokens else ""

    @property
    def words(self) -> str:
        """Return «asks math.multiply {"a":6,"b":5}», «"6 × 5 + 7 = 37"», or an error; empty before the first words."""
        if self._decoder is None:
            error = self._dialect.error(self._status, self._headers, bytes(self._refusal))
            return _line(self._hide(re.sub(rf"\b{self._status}:? ", "", error.what, count=1)))
        if self._fold.failure:
            return _line(f"error: {self._hide(self._fold.failure)}")
        calls = [folded.call for folded in self._fold.calls]
        if not calls:
            return said_words(self._fold, self._hide)
        server, tool = self._names.get(calls[0].name, ("", calls[0].name))
        name = f"{server}.{tool}" if server else tool
        more = f" and {len(calls) - 1} more" if len(calls) > 1 else ""
        return f"{call_words(name, calls[0].arguments, self._hide, _MOST - len(more))}{more}"


def call_words(name: str, arguments: str, hide: Callable[[str], str] = str, most: int = _MOST) -> str:
    """Summarise a call in at most `most` characters: «asks math.multiply {"a":6,"b":5}»."""
    return _line(f"asks {name} {hide(arguments[:_LOOKED_AT])}", most)


def end_words(fold: Fold) -> str:
    """Describe an unusual end of an answer: «cut at the token limit», «an empty answer». Empty for a normal end."""
    is_empty = not (fold.text.strip() or fold.thinking.strip() or fold.calls)
    if fold.stop == "end" and is_empty:
        return "an empty answer"
    return {"cut": "cut off", "length": "cut at the token limit", "refused": "refused"}.get(fold.stop or "", "")


def said_words(fold: Fold, hide: Callable[[str], str] = str, most: int = _MOST) -> str:
    """Summarise an answer: «"6 × 5 + 7 = 37"», «thinks "hm", cut off», «refused». Empty if it has no words yet."""
    text = hide((fold.text or fold.thinking)[:_LOOKED_AT])
    ending = end_words(fold)
    if not text.strip():
        return ending
    ending = f", {ending}" if ending else ""
    quoted = f'"{_line(text, most - len(ending) - 12)}"'
    return f"{quoted}{ending}" if fold.text else f"thinks {quoted}{ending}"


def _counted(count: int, word: str) -> str:
    return f"{count} {word}" if count == 1 else f"{count} {word}s"


def _line(text: str, most: int = _MOST) -> str:
    line = " ".join(text[: 2 * most].split())
    return line if len(line) <= most else f"{line[: most - 1]}…"
