"""Logs that hold one direction of a server's connection, as `tee in.log | server | tee out.log` writes them, and which two are of one.

That is said of no two files that do not prove it: their names say whose they are, or nothing else could be the other side.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from tui_host.capture.frames.frame_heads import made_frame
from tui_host.capture.json.narrowing import items, mapping, said
from tui_host.capture.record import Direction, Draft
from tui_host.errors import JSON
from tui_host.opening.cut_values import CUT
from tui_host.opening.drafts import MOST, File, Notes, Progress, read_value
from tui_host.opening.logs.lines import Begin, read
from tui_host.opening.logs.ways import asked_by, certain_way
from tui_host.opening.wire_detection import Wires

_CHINESE = (
    r"(?:标准)?(?:输入|输出)|请求|响应|应答|回应|回复|回答|答复|返回|结果|调用|上行|下行|入站|出站|发送|发出|接收|收到|客户端|服务端|服务器|主机|原始|流量"
    r"|通信|消息|报文|抓包|日志|记录|(?<![^\W\d_])[收发入出问答进去来回](?![^\W\d_])"
)
"""Words that stand without a space beside those that say whose it is; one character alone may be a part of any other word."""
_WORD = re.compile(rf"c2s|s2c|{_CHINESE}|(?:(?!{_CHINESE})[^\W\d_])+|\d+", re.IGNORECASE)
_OF_NOBODY = re.compile(
    rf"{_CHINESE}|(?:std)?(?:in|out|err)(?:put)?|(?:to|from|by)|c2s|s2c|rx|tx|req(?:uest)?s?|resp?(?:onse)?s?|answers?|repl(?:y|ies)|results?|calls?"
    r"|sen[dt]|recv|received?|incoming|outgoing|client|server|host|mcp|stdio|pipe|tee|wire|raw|traffic|messages?"
    r"|logs?|jsonl?|ndjson|txt|te?mp|capture|dump|trace",
    re.IGNORECASE,
)
"""Words of a file's name that say which side it is, or what kind of file, and not whose."""
_SLACK_NS = 10**9
"""By that two clocks that stamp the lines of one pipe each may be apart."""
_ALSO = {("initialize", "server/discover"), ("tools/call", "tasks/result")}
"""Results that look as those of another method."""
Weight: TypeAlias = tuple[bool, bool]
"""How much says that two sides are of one connection: their names, and what they hold."""


@dataclass(slots=True)
class Side:
    """One direction of a connection.

    Attributes:
        file: What holds it.
        begin_ns: The first time that it tells, or its file's.
        way: Which way its messages went.
        is_timed: It tells times.
        requests: By id, the methods that were asked with it, and when.
        answers: By id, the methods that its answers look as answers to, and when.
        called: The tools that are called.
        listed: The tools that are listed; None where no list is whole.
        server: What the server calls itself.
    """

    file: File
    begin_ns: int
    way: Direction | None = None
    is_timed: bool = False
    requests: defaultdict[str, list[tuple[str, int]]] = field(default_factory=lambda: defaultdict(list))
    answers: defaultdict[str, list[tuple[str, int]]] = field(default_factory=lambda: defaultdict(list))
    called: set[str] = field(default_factory=set[str])
    listed: set[str] | None = None
    server: str = ""

    @property
    def whose(self) -> Sequence[str]:
        """The words of its name that may say whose it is."""
        return [word.lower() for word, _, _ in _words(self.file.name)]

    def take(self, draft: Draft, at_ns: int) -> bool:
        """Take in the next message; whether it may be of such a log."""
        if draft.malformed == CUT:
            return True  # no more of it is known than that it is one
        value = read_value(draft.data)
        head = made_frame(value).head
        if head.kind in {"batch", "malformed"}:
            return False
        way = certain_way(head.method, value)
        self.way = self.way or way
        if way is not None and way != self.way:
            return False
        if head.answers:
            result = mapping(value).get("result")
            asked = asked_by(result)
            self.answers[head.id].append((asked, at_ns))
            self._learn(asked, result)
        elif head.kind == "request":
            self.requests[head.id].append((head.method, at_ns))
            if head.method == "tools/call":
                self.called.add(head.name)
        return True

    def _learn(self, asked: str, result: JSON) -> None:
        told = mapping(result)
        if asked == "initialize":
            self.server = self.server or said(mapping(told.get("serverInfo")).get("name"))
        elif asked == "tools/list" and not told.get("nextCursor"):
            self.listed = (self.listed or set()) | {said(mapping(tool).get("name")) for tool in items(told["tools"])}


def sides_of(logs: Sequence[tuple[File, Begin]], wires: Wires, progress: Progress) -> list[Side]:
    """Those logs that hold one direction alone; no more is looked at than fits into memory."""
    found: list[Side] = []
    size = 0
    for file, begin in logs:
        if len(file.data) <= MOST - size and (side := _side_of(file, begin, wires, progress)):
            size += len(file.data)
            found.append(side)
    return found


def _side_of(file: File, begin: Begin, wires: Wires, progress: Progress) -> Side | None:
    side = Side(file, begin.ns, is_timed=begin.is_dated or begin.is_of_a_day)
    connections: set[str | None] = set()
    before = progress.done
    try:
        for seen in read(file, wires, Notes(progress), "", begin.ns):
            draft = seen.draft
            connections.add(draft.connection)
            is_it = draft.wire == "stderr" or (draft.wire == "mcp" and side.take(draft, seen.at.ns))
            if not is_it or len(connections) > 1:
                return None
    finally:
        progress.advance(
            len(file.data) - (progress.done - before)
        )  # most logs show by their first lines that they are none
    return side if side.way else None


def do_fit(out: Side, back: Side) -> bool:
    """Whether the second may be the other direction of the first: it answers nothing else, in its kind, and lists what is called."""
    if out.way == back.way or not out.requests or not back.answers:
        return False
    if back.listed is not None and not out.called <= back.listed:
        return False
    return _answers_fit(out, back) and _answers_fit(back, out)


def _answers_fit(asking: Side, answering: Side) -> bool:
    is_timed = asking.is_timed and answering.is_timed
    for identity, answers in answering.answers.items():
        requests = asking.requests.get(identity, [])
        if len(requests) != len(answers):
            return False  # of two requests with one id one answer may be to either
        for (method, asked_ns), (looks_as, told_ns) in zip(requests, answers, strict=True):
            if looks_as and looks_as != method and (looks_as, method) not in _ALSO:
                return False
            if is_timed and told_ns < asked_ns - _SLACK_NS:
                return False
    return True


@dataclass(frozen=True, slots=True)
class Proof:
    """What says that two sides that fit are of one connection.

    Attributes:
        names: Their names say whose they are, and the same.
        contents: A tool that one lists is called in the other, or its server's name stands in the other's.
        is_doubtful: Their names say different.
        is_whole: All that was asked was answered.
    """

    names: bool
    contents: bool
    is_doubtful: bool
    is_whole: bool

    @property
    def weight(self) -> Weight:
        """How much it says, beside others."""
        return self.names, self.contents

    @property
    def suffices(self) -> bool:
        """Whether it proves it, where nothing else fits as well."""
        return self.names or (not self.is_doubtful and (self.contents or self.is_whole))


def proof_of(out: Side, back: Side) -> Proof:
    """What says that two sides that fit are of one connection."""
    whose, of_whom = out.whose, back.whose
    server = {word[0].lower() for word in _words(back.server)}
    return Proof(
        names=bool(whose) and whose == of_whom,
        contents=bool(out.called & (back.listed or set())) or bool(server & set(whose)),
        is_doubtful=bool(whose) and bool(of_whom) and whose != of_whom,
        is_whole=out.requests.keys() == back.answers.keys(),
    )


def name_of(out: Side, back: Side) -> str:
    """What their server is called: by both names, else by itself; empty where neither says it."""
    words = list(_words(out.file.name)) if out.whose == back.whose else []
    if not any(word.isalpha() for word, _, _ in words):
        return back.server
    text, at = "", 0
    for _, start, end in words:
        between = out.file.name[at:start] if text else ""
        text += ("_" if len(between) > 1 else between) + out.file.name[start:end]
        at = end
    return text


def _words(name: str) -> Iterator[tuple[str, int, int]]:
    """The words of a name that may say whose something is, and where they stand."""
    for found in _WORD.finditer(name):
        if not _OF_NOBODY.fullmatch(found[0]):
            yield found[0], found.start(), found.end()
