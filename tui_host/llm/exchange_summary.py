"""Summarises a request or a response in a few words for a row. Foreign text is not yet escaped."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import lru_cache

from tui_host.capture.json.spans import Node, spans
from tui_host.capture.record import Head, value_of
from tui_host.llm.dialects.dialect import Decoder, Dialect
from tui_host.llm.dialects.table import DIALECTS, dialect_at
from tui_host.llm.fold import Fold

_MOST = 200
_LOOKED_AT = 16 << 10
"""The most characters of an answer to summarise."""
_LISTS = ("tools", "messages", "contents", "input")
_NO_NAMES: Mapping[str, tuple[str, str]] = {}


def answer_text(url: str, head: Head, body: bytes) -> tuple[str, int]:
    """Return what an answer says, put together from its events, and its input tokens; nothing for unknown dialects."""
    dialect = dialect_at(url)
    if dialect is None:
        return "", 0
    words = ResponseWords(dialect=dialect.name, status=head.status or 0, headers=head.headers)
    words.feed(body)
    words.finish()
    return words.text, words.tokens


def request_words(body: bytes, previous: bytes | None = None, *, dialect: Dialect | None) -> str:
    """Summarise a request: «3 tools · 2 messages», or «+2 messages» relative to an earlier request of the turn.

    The summary of other bytes is empty. If the dialect is unknown, each entry of the tools counts as one tool.
    """
    now, before = _walked(body), _walked(previous or b"")
    if now is None:
        return ""
    words: list[str] = []
    offered, offered_before = _offered(body, now), _offered(previous or b"", before)
    tools = _tools(offered, dialect) if offered != offered_before else 0
    if tools and tools != _tools(offered_before, dialect):
        words.append(_counted(tools, "tool"))
    messages = _messages(now)
    grown = messages - _messages(before) if before is not None else 0
    if grown > 0:
        words.append(f"+{_counted(grown, 'message')}")
    elif messages:
        words.append(_counted(messages, "message"))
    return " · ".join(words)


@lru_cache(maxsize=2)
def _walked(body: bytes) -> Node | None:
    """Read a body's lists; what was the body is the previous one next."""
    return spans(body, walk=_LISTS) if body else None


class ResponseWords:
    """Summarises a growing response; each byte is read once."""

    def __init__(
        self,
        *,
        dialect: str,
        status: int = 200,
        headers: tuple[tuple[str, str], ...] = (),
        names: Mapping[str, tuple[str, str]] = _NO_NAMES,
        hide: Callable[[str], str] = str,
    ) -> None:
        """Start with a response's head; a status of 0 is unknown, as may be the dialect's name.

        `names` has server and tool for each name that the model sees; `hide` removes secrets before the text is cut.
        """
        self._hide = hide
        self._dialect = DIALECTS.get(dialect)
        self._status = status
        self._headers = headers
        self._names = names
        self._fold = Fold(provider="", model="", call_id=str)
        self._refusal = bytearray()
        self._decoder: Decoder | None = None
        if self._dialect is not None and (not status or 200 <= status < 300):
            self._decoder = self._dialect.decoder(value_of(headers, "content-type"))

    def feed(self, data: bytes) -> None:
        """Read more of the body, after content decoding."""
        if self._decoder is None:
            self._refusal += data[: 65536 - len(self._refusal)]
            return
        for event in self._decoder.feed(data):
            self._fold.add(event)

    def finish(self) -> None:
        """Read the end of the body."""
        if self._decoder is not None:
            for event in self._decoder.finish():
                self._fold.add(event)

    @property
    def text(self) -> str:
        """All that was said: text, thinking, and the names and arguments of calls."""
        calls = (f"{call.call.name} {call.call.arguments}" for call in self._fold.calls)
        return "\n".join((self._fold.text, self._fold.thinking, *calls))

    @property
    def tokens(self) -> int:
        """The input tokens that the provider reported; 0 before."""
        return self._fold.usage.input_total or 0

    @property
    def token_words(self) -> str:
        """Return «12,004 tok, 8,064 cached» as the provider reported; empty before."""
        cached = self._fold.usage.input_cached
        words = f", {cached:,} cached" if cached else ""
        return f"{self.tokens:,} tok{words}" if self.tokens else ""

    @property
    def words(self) -> str:
        """Return «asks math.multiply {"a":6,"b":5}», «"6 × 5 + 7 = 37"», or an error; empty before the first words."""
        if self._dialect is None:
            return ""
        if self._decoder is None:
            error = self._dialect.error(self._status, self._headers, bytes(self._refusal))
            return _line(self._hide(re.sub(rf"\b{self._status}:? ", "", error.what, count=1)))
        fold = self._fold
        if fold.failure:
            return _line(f"error: {self._hide(fold.failure)}")
        return self._asks() or said_words(fold, self._hide)

    def _asks(self) -> str:
        calls = self._fold.calls
        if not calls:
            return ""
        first = calls[0].call
        server, tool = self._names.get(first.name, ("", first.name))
        name = f"{server}.{tool}" if server else tool
        more = f" and {len(calls) - 1} more" if len(calls) > 1 else ""
        return f"{call_words(name, first.arguments, self._hide, _MOST - len(more))}{more}"


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


def list_words(body: bytes, *, dialect: str) -> str:
    """Return «12 models» for a list of models of any dialect, empty for other bodies."""
    spoken = DIALECTS.get(dialect)
    names = spoken.models(body) if spoken is not None else ()
    return _counted(len(names), "model") if names else ""


def _count(node: Node, name: str) -> int:
    listed = node.get(name)
    return len(listed.elements) if listed is not None else 0


def _offered(body: bytes, node: Node | None) -> bytes:
    """Find the list of tools in a body."""
    listed = node.get("tools") if node is not None else None
    return body[listed.start : listed.end] if listed is not None else b""


def _tools(offered: bytes, dialect: Dialect | None) -> int:
    """Count the tools of a list. In some dialects an entry holds several tools."""
    body = b'{"tools":%s}' % (offered or b"[]")
    outline = dialect.outline(body) if dialect is not None else None
    if outline is not None:
        return outline.count("tools")
    node = spans(body, walk=_LISTS)
    return _count(node, "tools") if node is not None else 0


def _messages(node: Node) -> int:
    return max(_count(node, name) for name in _LISTS[1:])


def _counted(count: int, word: str) -> str:
    return f"{count} {word}" if count == 1 else f"{count} {word}s"


def _line(text: str, most: int = _MOST) -> str:
    line = " ".join(text[: 2 * most].split())
    return line if len(line) <= most else f"{line[: most - 1]}…"
