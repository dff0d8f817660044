"""Two logs that each hold one direction of a server's connection, read as what they are: one connection, each answer behind its request."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace

from tui_host.capture.frames.correlator import Correlator
from tui_host.capture.frames.frame_heads import FrameHead, read_frame
from tui_host.opening.cut_values import CUT
from tui_host.opening.drafts import File, Moment, Notes, Seen
from tui_host.opening.logs.lines import Begin, read
from tui_host.opening.logs.sides import Side, Weight, do_fit, name_of, proof_of, sides_of
from tui_host.opening.wire_detection import Wires

_DOUBTFUL = "{} may hold what answers {}: nothing says for sure which two files are of one connection, and so each is shown alone."


@dataclass(frozen=True, slots=True)
class Pair:
    """The two directions of one connection.

    Attributes:
        out: What went to the server.
        back: What came from it.
        name: What the server is called; empty if that is not known.
    """

    out: Side
    back: Side
    name: str

    @property
    def names(self) -> str:
        """What both files are called."""
        return f"{self.out.file.name} and {self.back.file.name}"

    @property
    def is_timed(self) -> bool:
        """Whether one of them tells times."""
        return self.out.is_timed or self.back.is_timed


def pairs_in(logs: Sequence[tuple[File, Begin]], wires: Wires, notes: Notes) -> list[Pair]:
    """Which logs are two directions of one connection. Of those of which that is doubtful a person is told so.

    Args:
        logs: All that are read together.
        wires: The dialects.
        notes: Told of the doubtful ones.
    """
    sides = sides_of(logs, wires, notes.progress) if len(logs) > 1 else []
    fitting = [
        (out, back, proof_of(out, back))
        for out in sides
        if out.way == "out"
        for back in sides
        if back.way == "in" and do_fit(out, back)
    ]
    weights: defaultdict[int, Counter[Weight]] = defaultdict(Counter)
    for out, back, proof in fitting:
        weights[id(out)][proof.weight] += 1
        weights[id(back)][proof.weight] += 1
    pairs = [
        Pair(out, back, name_of(out, back))
        for out, back, proof in fitting
        if proof.suffices and all(_is_alone_first(proof.weight, weights[id(side)]) for side in (out, back))
    ]
    paired = {id(side) for pair in pairs for side in (pair.out, pair.back)}
    for out, back, _ in fitting:
        if not {id(out), id(back)} & paired:
            notes.told.append(_DOUBTFUL.format(back.file.name, out.file.name))
            paired |= {id(out), id(back)}
    return pairs


def _is_alone_first(weight: Weight, weights: Counter[Weight]) -> bool:
    """Whether nothing else that fits weighs as much."""
    return weights[weight] == 1 and weight == max(weights)


@dataclass(slots=True)
class _Direction:
    """What is left of one direction.

    Attributes:
        seen: What it has.
        heads: The heads of its frames; None of what is no frame.
        due: Of each, the id of the next answer from there on; empty where none follows.
        at: The next.
        open: How many of its requests of an id have no answer yet.
    """

    seen: Sequence[Seen]
    heads: Sequence[FrameHead | None]
    due: Sequence[str]
    at: int = 0
    open: Counter[str] = field(default_factory=Counter[str])

    @property
    def has_more(self) -> bool:
        return self.at < len(self.seen)

    @property
    def ns(self) -> int:
        return self.seen[self.at].at.ns

    @property
    def answers(self) -> str:
        """The id that its next answers, if that is an answer."""
        head = self.heads[self.at]
        return head.id if head is not None and head.answers else ""


def read_pair(pair: Pair, wires: Wires, notes: Notes, peer: str) -> Iterator[Seen]:
    """What both have, as of one connection, in one order.

    Args:
        pair: Both.
        wires: The dialects.
        notes: Gives the ids.
        peer: What the server is called.
    """
    connection = notes.new_connection(peer)
    out, back = (
        _direction(list(read(side.file, wires, notes, peer, side.begin_ns, side.way))) for side in (pair.out, pair.back)
    )
    find = _by_time if pair.out.is_timed and pair.back.is_timed else _by_answers
    found = list(_in_order(out, back, find, connection, Correlator()))
    yield from _in_time(found) if pair.is_timed else found


def _direction(seen: Sequence[Seen]) -> _Direction:
    heads = [read_frame(each.draft.data).head if each.draft.wire == "mcp" else None for each in seen]
    due: list[str] = []
    for head in reversed(heads):
        due.append(head.id if head is not None and head.answers else due[-1] if due else "")
    return _Direction(seen, heads, due[::-1])


def _in_order(
    out: _Direction,
    back: _Direction,
    is_next_out: Callable[[_Direction, _Direction], bool],
    connection: str,
    correlator: Correlator,
) -> Iterator[Seen]:
    while out.has_more or back.has_more:
        is_out = out.has_more and (not back.has_more or is_next_out(out, back))
        one, other = (out, back) if is_out else (back, out)
        seen, head = one.seen[one.at], one.heads[one.at]
        one.at += 1
        malformed = seen.draft.malformed
        if head is not None:
            if head.answers:
                other.open[head.id] -= 1
            elif head.kind == "request":
                one.open[head.id] += 1
            malformed = (
                malformed
                if malformed == CUT
                else head.reason or correlator.see("out" if is_out else "in", head).odd or None
            )
        yield replace(seen, draft=replace(seen.draft, connection=connection, malformed=malformed))


def _by_time(out: _Direction, back: _Direction) -> bool:
    """Whether what goes to the server is next: what was earlier, but no answer before its request, however the clocks stand."""
    is_out = out.ns <= back.ns
    one, other = (out, back) if is_out else (back, out)
    is_early = bool(one.answers) and not other.open[one.answers]
    is_other_early = bool(other.answers) and not one.open[other.answers]
    return is_out != (is_early and not is_other_early)


def _by_answers(out: _Direction, back: _Direction) -> bool:
    """The same where times do not tell: each answer comes as soon as it was asked for, and what a server says before it with it."""
    if out.answers:  # to what stands on the other side, where it has not come yet
        return back.open[out.answers] > 0 or (bool(back.answers) and not out.open[back.answers])
    return not _is_due(back, out)


def _is_due(one: _Direction, other: _Direction) -> bool:
    """Whether the next answer on this side was asked for on the other."""
    due = one.due[one.at]
    return bool(due) and other.open[due] > 0


def _in_time(found: Sequence[Seen]) -> Iterator[Seen]:
    """What tells no time has that of what comes next and tells one, or of the last: as its place, not as a time."""
    ns = max((each.at.ns for each in found if each.at.is_told), default=0)
    placed: list[Seen] = []
    for each in reversed(found):
        ns = each.at.ns if each.at.is_told else ns
        placed.append(replace(each, at=Moment(ns, each.at.is_told)))
    latest = 0
    for each in reversed(placed):
        latest = max(latest, each.at.ns)
        yield replace(each, at=Moment(latest, each.at.is_told))
