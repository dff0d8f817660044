"""Joins two logs: a connection's two directions, as `tee` writes, or requests and answers with common ids."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from tui_host.capture.frames.correlator import Correlator
from tui_host.capture.frames.frame_heads import FrameHead, made_frame, read_frame
from tui_host.capture.json.file_values import VALUE_LIMIT, read_value
from tui_host.capture.json.narrowing import items, mapping, said
from tui_host.capture.record import MISSING, Direction, Draft
from tui_host.opening.import_types import File, Moment, Notes, TimedDraft
from tui_host.opening.logs.log_frames import answered_method, certain_direction
from tui_host.opening.logs.log_reader import read_log

_DOUBTFUL = "{} may hold the answers to {}, but other files fit as well: each is shown alone."
_SIDE_WORDS = re.compile(
    r"(?:std)?(?:in|out|err)(?:put)?|to|from|by|c2s|s2c|rx|tx|req(?:uest)?s?|resp?(?:onse)?s?|answers?|sen[dt]|recv|received?|incoming|outgoing"
    r"|client|server|host|mcp|stdio|pipe|tee|raw|traffic|messages?|logs?|jsonl?|ndjson|txt|te?mp|capture",
    re.IGNORECASE,
)
"""Words in a file's name that name a side or a kind of file, not the server."""
_CHINESE_SIDE_WORDS = re.compile(r"输入|输出|请求|响应|回复|返回|结果|上行|下行|(?<![^\W\d_])[收发入出](?![^\W\d_])")
"""The same words in Chinese, which has no spaces between words."""
_SLACK_NS = 10**9
"""How far apart the clocks of the two files may be."""
_ALSO = {("initialize", "server/discover"), ("tools/call", "tasks/result")}
"""Methods whose results look like those of another method."""


@dataclass(slots=True)
class Side:
    """One direction of a connection, read from a log.

    Attributes:
        direction: The direction of all messages in the log; None if unknown.
        requests: The methods of requests, with times, by id.
        answers: The methods that answers seem to answer, with times, by id.
        server: The name that the server states.
    """

    file: File
    drafts: list[TimedDraft]
    notes: Notes
    direction: Direction | None = None
    requests: defaultdict[str, list[tuple[str, Moment]]] = field(default_factory=lambda: defaultdict(list))
    answers: defaultdict[str, list[tuple[str, Moment]]] = field(default_factory=lambda: defaultdict(list))
    called: set[str] = field(default_factory=set[str])
    listed: set[str] = field(default_factory=set[str])
    server: str = ""

    @property
    def server_words(self) -> list[str]:
        """Return the words of the file's name that may name the server."""
        words = re.findall(r"c2s|s2c|[^\W\d_]+|\d+", _CHINESE_SIDE_WORDS.sub(" ", self.file.name.lower()))
        return [word for word in words if not _SIDE_WORDS.fullmatch(word)]

    def take(self, draft: Draft, at: Moment) -> bool:
        """Read a message; returns whether all messages so far can have the same direction."""
        value = read_value(draft.data)
        head = made_frame(value).head
        direction = certain_direction(head.method, value)
        self.direction = self.direction or direction
        if head.kind in {"batch", "malformed"} or direction not in {None, self.direction}:
            return False
        if head.answers:
            result = mapping(value).get("result")
            method = answered_method(result)
            self.answers[head.id].append((method, at))
            if method == "initialize":
                self.server = said(mapping(mapping(result).get("serverInfo")).get("name"))
            self.listed |= {said(mapping(tool).get("name")) for tool in items(mapping(result).get("tools"))}
        elif head.kind == "request":
            self.requests[head.id].append((head.method, at))
            self.called |= {head.name} if head.method == "tools/call" else set()
        return True


@dataclass(frozen=True, slots=True)
class TeePair:
    """The logs of a connection's two directions, and the server's name, empty if unknown."""

    out: Side
    back: Side
    name: str

    @property
    def files(self) -> tuple[File, File]:
        """Both files."""
        return self.out.file, self.back.file


def pairs_in(files: Sequence[File], notes: Notes) -> list[TeePair]:
    """Find logs that are two directions of a connection. If several pairings are possible, tells the user."""
    sides = [side for file in files if (side := _side_of(file, notes)) is not None] if len(files) > 1 else []
    outs = [side for side in sides if side.direction == "out"]
    backs = [side for side in sides if side.direction == "in"]
    fitting = [(out, back) for out in outs for back in backs if _do_fit(out, back)]
    named = [(out, back) for out, back in fitting if out.server_words == back.server_words]
    fitting = named if len(named) >= len({id(out) for out, _ in fitting}) else fitting
    counts = Counter(id(side) for pair in fitting for side in pair)
    pairs = [TeePair(out, back, _name(out, back)) for out, back in fitting if counts[id(out)] == counts[id(back)] == 1]
    for out, back in fitting:
        if counts[id(out)] > 1 or counts[id(back)] > 1:
            notes.messages.append(_DOUBTFUL.format(back.file.name, out.file.name))
            break
    return pairs


def read_pair(pair: TeePair, notes: Notes, peer: str) -> Iterator[TimedDraft]:
    """Yield the drafts of both files as one connection: by time, else each answer right after its request."""
    connection = notes.new_connection(peer)
    notes.add(pair.out.notes)
    notes.add(pair.back.notes)
    merged = list(_merged(pair))
    correlator = Correlator()
    latest_ns = next((draft.at.ns for draft, _ in merged if draft.at.is_told), 0)
    for draft, head in merged:
        malformed = draft.draft.malformed
        if head is not None:
            direction = draft.draft.direction or "out"
            malformed = head.reason or correlator.see(direction, head).odd or None
        latest_ns = max(latest_ns, draft.at.ns) if draft.at.is_told else latest_ns
        at = Moment(latest_ns or draft.at.ns, draft.at.is_told)
        yield TimedDraft(at, replace(draft.draft, connection=connection, peer=peer, malformed=malformed))


def _side_of(file: File, notes: Notes) -> Side | None:
    if len(file.data) > VALUE_LIMIT:
        return None
    side = Side(file, [], notes.apart())
    connections: set[str | None] = set()
    for draft in read_log(file, side.notes, "") or ():
        side.drafts.append(draft)
        connections.add(draft.draft.connection)
        is_of_it = draft.draft.wire == "stderr" or (draft.draft.wire == "mcp" and side.take(draft.draft, draft.at))
        if not is_of_it or len(connections) > 1:
            return None
    if side.direction is None:
        return None
    side.notes.messages.clear()  # these messages say that directions were guessed
    side.drafts = [_turned(draft, side.direction) for draft in side.drafts]
    return side


def _turned(draft: TimedDraft, direction: Direction) -> TimedDraft:
    return draft if draft.draft.wire != "mcp" else draft._replace(draft=replace(draft.draft, direction=direction))


def _do_fit(out: Side, back: Side) -> bool:
    """Whether the second file only answers requests of the first, and lists the tools called there."""
    if not out.requests or not back.answers or (back.listed and not out.called <= back.listed):
        return False
    out_words, back_words = out.server_words, back.server_words
    if out_words and back_words and out_words != back_words:
        return False
    is_proved = bool(out_words) or bool(out.called & back.listed) or out.requests.keys() == back.answers.keys()
    return is_proved and _answers_fit(out, back) and _answers_fit(back, out)


def _answers_fit(asking: Side, answering: Side) -> bool:
    for identity, answers in answering.answers.items():
        requests = asking.requests.get(identity, [])
        if len(requests) != len(answers):
            return False
        for (method, asked_at), (looks_like, said_at) in zip(requests, answers, strict=True):
            if looks_like and looks_like != method and (looks_like, method) not in _ALSO:
                return False
            if asked_at.is_told and said_at.is_told and said_at.ns < asked_at.ns - _SLACK_NS:
                return False
    return True


def _name(out: Side, back: Side) -> str:
    words = out.server_words
    return "-".join(words) if words == back.server_words and any(word.isalpha() for word in words) else back.server


def _head(draft: TimedDraft) -> FrameHead | None:
    return read_frame(draft.draft.data).head if draft.draft.wire == "mcp" else None


def _merged(pair: TeePair) -> Iterator[tuple[TimedDraft, FrameHead | None]]:
    """Merge both directions: by time, else each answer after its request. Yields each draft with its frame's head."""
    sides = tuple([(draft, _head(draft)) for draft in side.drafts] for side in (pair.out, pair.back))
    are_timed = all(any(draft.at.is_told for draft, _ in side) for side in sides)
    open_requests: set[tuple[int, str]] = set()  # by side and id
    at = [0, 0]

    def answers_open(side: int, head: FrameHead | None) -> bool | None:
        """Return whether a message answers a request that was seen; None if it is not an answer."""
        return (1 - side, head.id) in open_requests if head is not None and head.answers else None

    while at[0] < len(sides[0]) or at[1] < len(sides[1]):
        if at[0] == len(sides[0]) or at[1] == len(sides[1]):
            side = 0 if at[0] < len(sides[0]) else 1
        else:
            (out, out_head), (back, back_head) = sides[0][at[0]], sides[1][at[1]]
            is_open = answers_open(0, out_head), answers_open(1, back_head)
            if are_timed:
                side = 0 if out.at.ns <= back.at.ns else 1
                side = 1 - side if is_open[side] is False and is_open[1 - side] is not False else side
            else:
                due = next((head for _, head in sides[1][at[1] :] if head is not None and head.answers), None)
                is_due = answers_open(1, due) or (is_open[0] is False and is_open[1] is not False)
                side = 1 if is_due and not is_open[0] else 0
        draft, head = sides[side][at[side]]
        if head is not None and head.answers:
            open_requests.discard((1 - side, head.id))
        elif head is not None and head.kind == "request":
            open_requests.add((side, head.id))
        yield draft, head
        at[side] += 1


class Half(NamedTuple):
    """A file of requests or of answers, with the drafts of each exchange in order."""

    file: File
    exchanges: list[list[TimedDraft]]
    keys: list[str]
    is_asked: bool
    notes: Notes


def halves_in(files: Sequence[File], notes: Notes) -> tuple[Half, Half] | None:
    """Find a log with only requests and a log with only answers; None unless both exist."""
    if len(files) < 2:
        return None
    halves = [half for file in files if (half := _half_of(file, notes)) is not None]
    asked = [half for half in halves if half.is_asked]
    answering = [half for half in halves if not half.is_asked]
    if len(asked) != 1 or len(answering) != 1:
        return None
    shared = set(filter(None, asked[0].keys)) & set(answering[0].keys)
    if shared:
        return asked[0], answering[0]
    notes.messages.append(
        f"{asked[0].file.name} has requests and {answering[0].file.name} has answers, but no id of a request stands in both: each is"
        " shown alone. Log an id (request_id) with both."
    )
    return None


def joined(asked: Half, said: Half, notes: Notes) -> Iterator[TimedDraft]:
    """Merge both files: each answer with the request that has the same id."""
    notes.add(asked.notes)
    notes.add(said.notes)
    is_unique = Counter(key for key in asked.keys if key), Counter(key for key in said.keys if key)
    answers = {key: number for number, key in enumerate(said.keys) if is_unique[0][key] == is_unique[1][key] == 1}
    parts: list[tuple[int, int, TimedDraft]] = []
    for number, (key, drafts) in enumerate(zip(asked.keys, asked.exchanges, strict=True)):
        answer = said.exchanges[answers[key]] if key in answers else None
        parts += ((draft.at.ns, number, draft) for draft in (drafts if answer is None else _both(drafts, answer)))
    taken = {number for key, number in answers.items() if key}
    alone = [drafts for number, drafts in enumerate(said.exchanges) if number not in taken]
    parts += ((draft.at.ns, len(asked.keys), draft) for drafts in alone for draft in drafts)
    if alone:
        what = "1 answer" if len(alone) == 1 else f"{len(alone):,} answers"
        notes.messages.append(
            f"{said.file.name} has {what} of which {asked.file.name} has no request of the same id: shown alone."
        )
    is_timed = all(draft.at.is_told for drafts in (*asked.exchanges, *said.exchanges) for draft in drafts[:1])
    yield from (draft for _, _, draft in (sorted(parts, key=lambda part: part[:2]) if is_timed else parts))


def _half_of(file: File, notes: Notes) -> Half | None:
    if len(file.data) > VALUE_LIMIT:
        return None
    own = notes.apart()
    exchanges: dict[str, list[TimedDraft]] = {}
    answered: set[bool] = set()
    for timed in read_log(file, own, "") or ():
        draft = timed.draft
        if draft.wire != "llm" or draft.exchange is None:
            return None
        exchanges.setdefault(draft.exchange, []).append(timed)
        if draft.kind == "request":
            answered.add(draft.malformed == MISSING)
        elif draft.kind == "response" and exchanges[draft.exchange][0].draft.malformed != MISSING:
            return None
        if len(answered) > 1:
            return None
    keys = [own.exchange_keys.get(name, "") for name in exchanges]
    return Half(file, list(exchanges.values()), keys, False in answered, own) if exchanges else None


def _both(asked: Sequence[TimedDraft], said: Sequence[TimedDraft]) -> Iterator[TimedDraft]:
    """Return a request with its answer as one exchange, with no draft earlier than the request."""
    request = asked[0]
    answer_head, head = said[0].draft.head, request.draft.head
    if head is not None and answer_head is not None and head.method is None:  # the answer's dialect is certain
        request = request._replace(draft=replace(request.draft, head=replace(head, url=answer_head.url)))
    yield request
    begin = Moment(request.at.ns, is_told=False)
    for timed in said[1:]:
        at = begin if timed.at.ns < begin.ns else timed.at
        yield TimedDraft(at, replace(timed.draft, exchange=request.draft.exchange, peer=request.draft.peer))
