"""The direction of a JSON-RPC message in a log, from its method or result, else from the words before, which the log itself explains.

`IN` means «to the server» to who writes in front of a server, and «from it» to who writes in a host. Messages that only one side can send
tell from which side a log is written.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

from tui_host.capture.json.narrowing import mapping
from tui_host.capture.record import Direction
from tui_host.errors import JSON
from tui_host.opening.logs.log_time import TIME

SERVER = r"(?:the )?(?:mcp[ _-]?)?(?:server|child|upstream|backend)"
CLIENT = r"(?:the )?(?:mcp[ _-]?)?(?:client|host|editor)"
_TO = r"[\s_\])-]*(?:->|→|=>|to|2)[\s_\[(-]*"
_OUT_BY_NAME = re.compile(
    rf"{CLIENT}{_TO}{SERVER}|(?:→|->|=>|(?:\b|_)to)[ _-]*{SERVER}\b|→\s*mcp|\[client says\]|\bstdin\b|\bfrom[ _-]?client"
    r"|\b(?:c2s|c->s)\b",
    re.IGNORECASE,
)
_IN_BY_NAME = re.compile(
    rf"{SERVER}{_TO}{CLIENT}|\b{SERVER}\s*(?:→|->|=>)|(?:\b|_)to[ _-]?client|\[server says\]|\bstdout\b|\bfrom[ _-]?server"
    r"|\b(?:s2c|s->c)\b",
    re.IGNORECASE,
)
"""Words that name the sender or the receiver: they mean the same to everybody."""
_OUT_FROM_HERE = re.compile(
    r">>>|-->|==>|(?:->|→|>)\s*$|\b(?:sent|send|sending|request|req|outgoing|out)\b|请求|发送|输入", re.IGNORECASE
)
_IN_TO_HERE = re.compile(
    r"<<<|<--|<==|(?:<-|←|<)\s*$|\b(?:received|recv|receiving|response|resp|incoming|in)\b|响应|返回|接收|输出",
    re.IGNORECASE,
)
"""Words that tell how it looks to who writes."""
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
"""The method that a result answers, by a member that only such a result has."""
NAMED = re.compile(r"([-=]+>|<[-=]+|>{2,}|<{2,}|→|←)[ \t]*\[([^\][]{1,60})\][ \t]*:?[ \t]*$")
"""An arrow with the name of the server behind it."""
_NUMBERS = re.compile(r"(?<![A-Za-z])\d+(?![A-Za-z])")
_WORDS_LIMIT = 256
_CLEAR = 2
"""How many times as much has to speak for a meaning as against it."""


class _Meaning(NamedTuple):
    """The usual meaning of words: a direction or None, and whether they name the sender or the receiver."""

    direction: Direction | None
    is_named: bool


class FrameDirections:
    """Tells the direction of each message of a log, and learns from messages with only one possible direction."""

    def __init__(self, only: Direction | None = None) -> None:
        self._only: Direction | None = only
        self._as_usual: Counter[bool] = Counter()
        self._turned: Counter[bool] = Counter()
        self._learned: dict[str, set[Direction]] = {}

    def direction(self, before: str, method: str, value: JSON, asked: Sequence[Direction]) -> Direction | None:
        """The direction of a message; None if nothing tells."""
        if self._only:
            return self._only
        word = _without_numbers(before)
        usual = _usual_meaning(word)
        meaning, is_sure = self._meaning(word, usual) if word else (None, False)
        certain = certain_direction(method, value)
        if not method and ((is_sure and usual.is_named) or (not word and len(asked) == 1)):
            certain = None  # a named side, or the only open request, says more than the members of a result
        if certain:
            self._learn(word, usual, certain)
            return certain
        if method == _MOSTLY_OF_SERVERS:
            return meaning if meaning and is_sure else "in"
        return opposite(asked[0]) if asked and not is_sure else meaning

    def _learn(self, word: str, usual: _Meaning, direction: Direction) -> None:
        if usual.direction is not None:
            (self._as_usual if usual.direction == direction else self._turned)[usual.is_named] += 1
        elif word and (word in self._learned or len(self._learned) < _WORDS_LIMIT):
            self._learned.setdefault(word, set()).add(direction)

    def _meaning(self, word: str, usual: _Meaning) -> tuple[Direction | None, bool]:
        """The direction that words mean in this log, and whether nothing spoke against the meaning."""
        if usual.direction is None:
            return self._learned_meaning(word)
        straight, turned = self._as_usual[usual.is_named], self._turned[usual.is_named]
        if not straight + turned:
            return usual.direction, usual.is_named
        if straight >= _CLEAR * turned:
            return usual.direction, not turned
        return (opposite(usual.direction), not straight) if turned >= _CLEAR * straight else (None, False)

    def _learned_meaning(self, word: str) -> tuple[Direction | None, bool]:
        """The direction of words without a usual meaning: known only if these never contradicted each other."""
        directions = self._learned.get(word)
        if directions is None or any(len(learned) > 1 for learned in self._learned.values()):
            return None, False
        if all(directions == learned for learned in self._learned.values()):
            return None, False
        return next(iter(directions)), True


def method_direction(method: str) -> Direction | None:
    """The only possible direction of a request or notification; None if both sides can send it."""
    if _OF_CLIENTS.match(method):
        return "out"
    return "in" if _OF_SERVERS.match(method) else None


def answered_method(result: JSON) -> str:
    """The method that a result answers, if the members tell; else empty."""
    members = mapping(result)
    for name, method in _RESULTS.items():
        if name in members:
            return method
    if isinstance(members.get("content"), list) and "role" not in members:
        return "tools/call"
    return "sampling/createMessage" if {"role", "content", "model"} <= members.keys() else ""


def certain_direction(method: str, value: JSON) -> Direction | None:
    """The only possible direction of a message, whatever the words before; None if both are possible."""
    if method:
        return method_direction(method)
    asked = method_direction(answered_method(mapping(value).get("result")))
    return opposite(asked) if asked else None


def opposite(direction: Direction) -> Direction:
    """The other direction."""
    return "in" if direction == "out" else "out"


def tells_direction(words: str) -> bool:
    """Whether words have a usual meaning."""
    return _usual_meaning(_without_numbers(words)).direction is not None


@lru_cache(maxsize=1 << 8)
def _without_numbers(before: str) -> str:
    """The words before a message without times, numbers and the server's name."""
    return " ".join(_NUMBERS.sub("", NAMED.sub(r"\1", TIME.sub("", before))).lower().split())


@lru_cache(maxsize=1 << 8)
def _usual_meaning(word: str) -> _Meaning:
    is_out, is_in = _OUT_BY_NAME.search(word) is not None, _IN_BY_NAME.search(word) is not None
    if is_out != is_in:
        return _Meaning("out" if is_out else "in", is_named=True)
    is_out, is_in = _OUT_FROM_HERE.search(word) is not None, _IN_TO_HERE.search(word) is not None
    return _Meaning(None if is_out == is_in else "out" if is_out else "in", is_named=False)
