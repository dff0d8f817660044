"""Which links of a world nobody can prove who reads both wires, by what the world knows and the wires do not say.

Two calls are *alike* if one host asked for both under one name with the same arguments, and their frames do not say by an id whose
they are. A host *shows its order* if it always sends the calls of one answer in their order by itself, and has sent so many that can be
told apart by what they ask for, on one wire each time, that no chance would have put them all in order. Of two alike calls nobody can
tell which frame is whose if

- both were sent, the model is told the same words of both, and either they are of one answer and their host does not show its order,
  or they are of two answers and each was sent while the other was waited for; or one alone was sent where a tap is, as two servers have
  tools that the host gives the same name, and the model is told the same words of both: whichever it was, all would look the same; or
- both were sent so, the same came to both, and of one of them the model is told in the host's own words that nothing is new; or
- they are of one answer, results have no ids, the model is told different words of them, and no order tells: not that of the frames,
  since their host does not show its order, or one of them was not sent at all, or was given up before another was sent, which may be
  its second try; nor that of the results, since all that are alike are told in the order in which they came, or were sent, as some
  hosts do whatever the order of the calls.

Nobody can tell either

- of a frame that was given up and sent again on the same connection that its host did not send it by itself, nor of the two, if the same
  came to both; nor of one of which its host tells words of its own where a result was due;
- of a frame that was given up whether it is of the call that failed, if another waited for the same, and a frame for it came then.

- of two calls of different hosts that ask one server for the same, are told the same, and of which one was sent while both were waited
  for, which frame is whose;
- of two that are alike and were waited for together, if the model is told words of the host's own where a result was due; nor of one
  that is told such words, if its host may have kept the result of the same call before, or another host, or its own by itself, made it.

In the second case nobody can tell either which words are told of which; nor where results have no ids, two calls of one answer and
name are told different words, and neither was sent. All else is decided: by what came back, by the order that a host has shown, by time.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Container, Iterator
from itertools import combinations
from math import factorial, inf, prod

from tests.infer.world import Asked, Made, Pair, World

NO_CHANCE = 1000
"""Of so many ways to order calls a host that does not care takes that of the answer once."""


def undecidable(world: World) -> set[Pair]:
    """The links of the truth that nobody can prove."""
    tangled = {*_tangled(world)}
    tried = {call for call in world.made if _may_be_anothers(world, call)}
    showing = {host for host in {made.host for made in world.made.values()} if _shows_its_order(world, host, tangled)}
    open_ones = {
        (kind, call)
        for one, other in combinations(world.made, 2)
        for kind in _kinds(world, one, other, showing, tried)
        for call in (one, other)
    }
    open_ones |= {(kind, call) for call in tangled for kind in ("sent", "told")}
    open_ones |= {("sent", call) for call in world.made if _is_anothers_as_well(world, call)}
    open_ones |= {("sent", call) for call, made in world.made.items() if made.is_reworded and _may_be_kept(world, made)}
    given_up = {*_given_up(world), *((call, world.made[call].frames[-1]) for call in tried)}
    return {pair for pair in world.truth if (pair[0], pair[1]) in open_ones or pair[1:] in given_up}


def _is_anothers_as_well(world: World, call: Asked) -> bool:
    """Whether another host asked for the same, and was told the same, while this was waited for."""
    made = world.made[call]
    return not made.names_id and any(
        other.host != made.host
        and other.meaning == made.meaning
        and (made.is_reworded or other.is_reworded or made.is_told_as(other))
        and _within_both(made, other)
        for other in (*world.made.values(), *world.unseen)
    )


def _may_be_kept(world: World, made: Made) -> bool:
    """Whether a call that is told other words may not have been sent as a frame was that fits.

    Its host may have kept the result, or another one sent the frame, or clocks are so far off that it is one of another call.
    """
    hosts = {other.host for other in (*world.made.values(), *world.unseen)}
    is_repeated = any(
        other.host == made.host and other.meaning == made.meaning and other.asked_ns < made.asked_ns
        for other in world.made.values()
    )
    return is_repeated or len(hosts) > 1 or not world.is_one_machine or made.meaning[:2] in world.unasked


def _given_up(world: World) -> Iterator[tuple[Asked, tuple[str, object]]]:
    """The calls and frames of these of which nobody can tell whether the host sent them by itself, or for another call."""
    for call, made in world.made.items():
        are_all_open = made.is_twice or made.is_told_nothing or made.given_up_ns
        open_ones = made.frames if are_all_open else made.frames[:-1]
        yield from ((call, frame) for frame in open_ones if made.tries or made.is_told_nothing)


def _may_be_anothers(world: World, call: Asked) -> bool:
    """Whether a call's last frame was given up, and may be an earlier one of another call."""
    made = world.made[call]
    is_given_up = bool(made.given_up_ns and made.frames)
    return is_given_up and any(_may_have_tried(other, made) for other in world.made.values())


def _may_have_tried(other: Made, made: Made) -> bool:
    """Whether a call's last frame, that was given up, may be an earlier one of another call."""
    if (
        other is made
        or other.said != made.said
        or not other.asked_ns <= made.sent_at[made.frames[-1]] <= other.until_ns
    ):
        return False
    own = made.frames[-1][0]
    return any(frame[0] == own and at >= made.given_up_ns for frame, at in other.sent_at.items())


def _shows_its_order(world: World, host: str, tangled: Container[Asked]) -> bool:
    own = {
        asked: made for asked, made in world.made.items() if made.host == host and made.told_ns and asked not in tangled
    }
    said = Counter((asked[:2], made.said) for asked, made in own.items())
    sent = Counter(
        (asked[:2], made.frames[0][0]) for asked, made in own.items() if made.frames and said[asked[:2], made.said] == 1
    )
    lines = {made.line for made in own.values()}
    are_in_order = all(made.is_in_order and not made.tries for made in world.made.values() if made.line in lines)
    return are_in_order and prod(map(factorial, sent.values())) >= NO_CHANCE


def _kinds(world: World, one: Asked, other: Asked, showing: set[str], tried: set[Asked]) -> Iterator[str]:
    a, b = world.made[one], world.made[other]
    is_one_answer, are_sent = one[:2] == other[:2], bool(a.frames and b.frames)
    if a.host != b.host or a.said[0] != b.said[0]:
        return
    is_alike, is_shown = a.said == b.said and not (a.names_id or b.names_id), a.host in showing
    is_one_told_nothing = a.brought == b.brought and (a.is_told_nothing or b.is_told_nothing)
    if (
        is_alike
        and are_sent
        and (a.is_told_as(b) or is_one_told_nothing)
        and (not (is_shown and a.told_ns) if is_one_answer else _overlap(a, b))
    ):
        yield "sent"
    if (
        is_alike
        and are_sent
        and (a.is_reworded or b.is_reworded)
        and (not is_shown if is_one_answer else _overlap(a, b))
    ):
        yield from ("sent",) if a.by_id else ("sent", "told")
    if is_alike and bool(a.frames) != bool(b.frames) and a.is_told_as(b) and (is_one_answer or _within_both(a, b)):
        yield "sent"
    if not is_one_answer or a.by_id or a.is_told_as(b):
        return
    if a.is_reworded or b.is_reworded:
        yield "told"
    is_retried = any(each.tries or each.is_told_nothing for each in (a, b)) or any(
        call[:2] == one[:2] and world.made[call].said == a.said for call in tried
    )
    is_open = bool(a.frames) != bool(b.frames) or (
        are_sent and (is_retried or (not is_shown and _in_no_order(world, one)))
    )
    if is_alike and is_open:
        yield from ("sent", "told")
    elif all(not each.frames or each.is_told_nothing for each in (a, b)):
        yield "told"


def _in_no_order(world: World, call: Asked) -> bool:
    """Whether all calls of an answer that are alike are told in the order in which their results came, or in which they were sent."""
    alike = [made for asked, made in world.made.items() if asked[:2] == call[:2] and made.said == world.made[call].said]
    told = [made.words for made in sorted(alike, key=lambda made: made.place)]
    came = [made.words for made in sorted(alike, key=lambda made: made.came)]
    sent = [made.words for made in sorted(alike, key=lambda made: made.sent_ns)]
    return told in (came, sent)


def _within_both(a: Made, b: Made) -> bool:
    """Whether what one of two was sent with was sent while the other was waited for."""
    asked_ns, until_ns = max(a.asked_ns, b.asked_ns), min(a.until_ns, b.until_ns)
    return any(asked_ns <= at <= until_ns for each in (a, b) for at in each.sent_at.values())


def _overlap(a: Made, b: Made) -> bool:
    """Whether each was sent while the other was waited for."""
    return all(max(a.asked_ns, b.asked_ns) <= each.sent_ns <= min(a.until_ns, b.until_ns) for each in (a, b))


def _tangled(world: World) -> Iterator[Asked]:
    """The calls of answers of which nobody can tell which a request goes on from that does from one of them."""
    again_until = _again_until(world)
    alike: dict[str, list[Asked]] = defaultdict(list)
    for call, made in sorted(world.made.items(), key=lambda each: each[1].asked_ns):
        if made.answer:
            alike[made.answer].append(call)
    for calls in alike.values():
        waiting: list[Asked] = []
        until = 0.0
        for call in (*calls, None):
            if call is None or world.made[call].asked_ns > until:
                yield from waiting if len({each[:2] for each in waiting}) > 1 else ()
                waiting = []
            if call is not None:
                waiting.append(call)
                until = max(until, world.made[call].again_ns or world.made[call].until_ns, again_until.get(call, 0))


def _again_until(world: World) -> dict[Asked, float]:
    """Until when the request that told a call may be made again, for what it was answered with still waits; not what waits for ever."""
    waits: dict[tuple[str, object], float] = defaultdict(float)
    for call, made in world.made.items():
        waits[call[:2]] = max(waits[call[:2]], made.until_ns if made.until_ns < inf else 0)
    return {call: waits[where] for kind, call, where in world.truth if kind == "told"}
