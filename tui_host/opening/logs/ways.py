"""Which way a frame of a log went: as its method or its result tells, else as the words before it, whose meaning the log itself teaches.

`IN` is to the server for who writes before the server, and from it for who writes before the host: so with `<<`, with `recv` and all
words that say how something looks from one side. Messages that can go one way only tell from which side a log is written.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import NamedTuple

from tui_host.capture.json.narrowing import mapping
from tui_host.capture.record import Direction
from tui_host.errors import JSON
from tui_host.opening.time_formats import TIME

SERVER = r"(?:the )?(?:mcp[ _-]?)?(?:server|child|upstream|backend)"
CLIENT = r"(?:the )?(?:mcp[ _-]?)?(?:client|host|editor)"
_TO = r"[\s_\])-]*(?:->|→|=>|to|2)[\s_\[(-]*"
_OUT = re.compile(
    rf"{CLIENT}{_TO}{SERVER}|(?:→|->|=>|(?:\b|_)to)[ _-]*{SERVER}\b|→\s*mcp|\[client says\]|\bstdin\b|\bfrom[ _-]?client"
    r"|\b(?:c2s|c->s)\b",
    re.IGNORECASE,
)
_IN = re.compile(
    rf"{SERVER}{_TO}{CLIENT}|\b{SERVER}\s*(?:→|->|=>)|(?:\b|_)to[ _-]?client|\[server says\]|\bstdout\b|\bfrom[ _-]?server"
    r"|\b(?:s2c|s->c)\b",
    re.IGNORECASE,
)
"""Those name who sends, or who gets it."""
_OUT_FROM_HERE = re.compile(
    r">>>|-->|==>|(?:->|→|>)\s*$|\b(?:sent|send|sending|request|req|outgoing|out)\b|请求|发送|输入", re.IGNORECASE
)
_IN_TO_HERE = re.compile(
    r"<<<|<--|<==|(?:<-|←|<)\s*$|\b(?:received|recv|receiving|response|resp|incoming|in)\b|响应|返回|接收|输出",
    re.IGNORECASE,
)
"""Those tell how it looks to who writes."""
_OF_CLIENTS = re.compile(
    r"initialize$|tools/|resources/|prompts/|completion/|logging/|server/discover"
    r"|notifications/(?:initialized|roots/list_changed)"
)
_OF_SERVERS = re.compile(
    r"sampling/|elicitation/|roots/list$|notifications/(?:message$|elicitation/|\w+/(?:list_changed|updated))"
)
_MOSTLY_OF_SERVERS = "notifications/progress"
_RESULTS = {
    "serverInfo": "initialize",
    "tools": "tools/list",
    "resources": "resources/list",
    "resourceTemplates": "resources/templates/list",
    "contents": "resources/read",
    "prompts": "prompts/list",
    "messages": "prompts/get",
    "completion": "completion/complete",
    "roots": "roots/list",
    "action": "elicitation/create",
}
"""Of members that one kind of result alone has, what was asked."""
NAMED = re.compile(r"([-=]+>|<[-=]+|>{2,}|<{2,}|→|←)[ \t]*\[([^\][]{1,60})\][ \t]*:?[ \t]*$")
"""Behind an arrow stands who gets it, or whom it came from. What stands before one may as well be who writes the log."""
_NUMBERS = re.compile(r"(?<![A-Za-z])\d+(?![A-Za-z])")
WORDS_MOST = 256
"""Words whose meaning is learnt, of one log; where each line has others, they mean nothing."""
_CLEAR = 2
"""So many times as much has to speak for a meaning as against it."""


def way_of_method(method: str) -> Direction | None:
    """The way that a request or a notification can go alone; None where it may go both."""
    if _OF_CLIENTS.match(method):
        return "out"
    return "in" if _OF_SERVERS.match(method) else None


def asked_by(result: JSON) -> str:
    """The method that a result answers, where its members tell; else empty."""
    members = mapping(result)
    for name, method in _RESULTS.items():
        if name in members:
            return method
    if isinstance(members.get("content"), list) and "role" not in members:
        return "tools/call"
    return "sampling/createMessage" if {"role", "content", "model"} <= members.keys() else ""


def certain_way(method: str, value: JSON) -> Direction | None:
    """The way that a message can go alone, whatever is written before it; None where it may go both."""
    if method:
        return way_of_method(method)
    asked = way_of_method(asked_by(mapping(value).get("result")))
    return other(asked) if asked else None


def other(way: Direction) -> Direction:
    """The other way."""
    return "in" if way == "out" else "out"


class _Usual(NamedTuple):
    """What words mostly mean.

    Attributes:
        way: The direction; None where they mean none, or both.
        is_named: They name who sends, or who gets it: that does not hang on who writes.
    """

    way: Direction | None
    is_named: bool


@dataclass(slots=True)
class _Learnt:
    """What one server's messages, or all of a log, taught.

    Attributes:
        straight: How often a word meant what it mostly does, by whether it names who.
        turned: How often it meant the opposite.
        words: Of words that mostly mean nothing, which ways they were heard to mean.
    """

    straight: Counter[bool] = field(default_factory=Counter[bool])
    turned: Counter[bool] = field(default_factory=Counter[bool])
    words: dict[str, set[Direction]] = field(default_factory=dict[str, set[Direction]])

    def hear(self, word: str, usual: _Usual, way: Direction) -> None:
        if usual.way is not None:
            (self.straight if usual.way == way else self.turned)[usual.is_named] += 1
        elif word in self.words or len(self.words) < WORDS_MOST:
            self.words.setdefault(word, set()).add(way)

    def says(self, word: str, usual: _Usual) -> tuple[Direction | None, bool] | None:
        """What a word means, and whether nothing spoke against it; None where nothing was heard of its kind."""
        if usual.way is None:
            return self._found(word)
        straight, turned = self.straight[usual.is_named], self.turned[usual.is_named]
        if not straight + turned:
            return None
        if straight >= _CLEAR * turned:
            return usual.way, not turned
        return (other(usual.way), not straight) if turned >= _CLEAR * straight else (None, False)

    def _found(self, word: str) -> tuple[Direction | None, bool] | None:
        """What a word means that mostly means nothing: only where such words tell both ways apart, each time."""
        ways = self.words.get(word)
        if ways is None:
            return None
        do_tell = all(len(each) == 1 for each in self.words.values()) and any(
            ways != each for each in self.words.values()
        )
        return (next(iter(ways)), True) if do_tell else (None, False)


class Ways:
    """What the words of a log mean, as far as it was heard: of a server as its own messages teach, else as all of them do.

    Args:
        only: The way that all went, where that is known; the words mean nothing then.
    """

    def __init__(self, only: Direction | None = None) -> None:
        self._only: Direction | None = only
        self._of_all = _Learnt()
        self._of_servers: dict[str, _Learnt] = {}

    def _hear(self, server: str, word: str, usual: _Usual, way: Direction) -> None:
        """A message could go that way alone, and that stood before it."""
        self._of_all.hear(word, usual, way)
        if server in self._of_servers or len(self._of_servers) < WORDS_MOST:
            self._of_servers.setdefault(server, _Learnt()).hear(word, usual, way)

    def _says(self, server: str, word: str, usual: _Usual) -> tuple[Direction | None, bool]:
        """Which way words say that a message went, if they say, and whether that is sure."""
        of_server = self._of_servers.get(server)
        said = None if of_server is None else of_server.says(word, usual)
        return said or self._of_all.says(word, usual) or (usual.way, usual.is_named)

    def way(self, server: str, before: str, method: str, value: JSON, asked: Sequence[Direction]) -> Direction | None:
        """Which way a message went; None where nothing tells.

        Args:
            server: Whose it is.
            before: What stands before it.
            method: Its own, empty for an answer.
            value: What it says.
            asked: Of an answer, which ways requests went that have its id and no answer, the last one first.
        """
        if self._only:
            return self._only
        word = _word(TIME.sub("", before))
        usual = _usual(word)
        told, is_sure = self._says(server, word, usual) if word else (None, False)
        certain = certain_way(method, value)
        if not method and ((is_sure and usual.is_named) or (not word and len(asked) == 1)):
            certain = None  # who is named, and what alone can have been asked, say more than what is in a result
        if certain:
            if word:
                self._hear(server, word, usual, certain)
            return certain
        if method == _MOSTLY_OF_SERVERS:
            return told if told and is_sure else "in"
        return other(asked[0]) if asked and not is_sure else told


def words_before(around: str, before: str) -> str:
    """The words before something in a text of an object: its own, and what these do not tell of time and way and the object does.

    Args:
        around: What stands around that text.
        before: What stands before it in the text.
    """
    time, own = TIME.search(around), TIME.search(before)
    is_own = own is not None and own[10] is None and (time is None or bool(own[6] or own[7]) or time[10] is not None)
    words = TIME.sub("", around) if is_own else around
    if _usual(_word(TIME.sub("", before))).way is not None:
        words = "" if is_own or time is None else time[0]
    return f"{words} {before}"


@lru_cache(maxsize=1 << 8)
def _word(before: str) -> str:
    """What is the same before all messages that went the same way: without numbers and the server's name."""
    return " ".join(_NUMBERS.sub("", NAMED.sub(r"\1", before)).lower().split())


@lru_cache(maxsize=1 << 8)
def _usual(word: str) -> _Usual:
    """What words mean to who writes before the host."""
    is_out, is_in = _OUT.search(word) is not None, _IN.search(word) is not None
    if is_out != is_in:
        return _Usual("out" if is_out else "in", is_named=True)
    is_out, is_in = _OUT_FROM_HERE.search(word) is not None, _IN_TO_HERE.search(word) is not None
    return _Usual(None if is_out == is_in else "out" if is_out else "in", is_named=False)
