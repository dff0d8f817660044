"""Where requests break the beginning that they share with the request before, which is what providers cache."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

from tui_host.answers.bodies import reading
from tui_host.answers.changes_page import Changes, changes_of
from tui_host.answers.wires import partner_of
from tui_host.capture.ladder.ladder import Ladder
from tui_host.llm.outline import common_prefix

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tui_host.answers.steps import Steps
    from tui_host.answers.wires import Wires
    from tui_host.capture.ladder.row import Row


@dataclass(frozen=True, slots=True, kw_only=True)
class PrefixBreak:
    """A request whose beginning is not that of the request before."""

    request: str  # its name: `LLM 7`
    row: tuple[str, int]  # its row, by capture and number of its first record
    cause: str  # why the beginning ends there: `tools.docs__search, tool docs.search, changed: …`


_MOST = 2
"""Further causes that are named."""
_KNOWN: WeakKeyDictionary[Ladder, dict[tuple[str, int], PrefixBreak | None]] = WeakKeyDictionary()
"""What was compared before, as long as the rows are kept: requests do not change."""


def answered_before(wires: Wires, row: Row) -> Row | None:
    """Return the request before in the conversation that the provider did not refuse: what it could have cached."""
    before = wires.before(row)
    while before is not None and ((answer := partner_of(wires, before)) is None or answer.status >= 400):
        before = wires.before(before)
    return before


def breaks_of(wires: Wires, rows: Sequence[Row]) -> Steps[tuple[PrefixBreak, ...]]:
    """Return the requests that break the prefix, those that are refused or without an answer left out."""
    known = _KNOWN.setdefault(wires.ladder, {})
    breaks: list[PrefixBreak] = []
    last: tuple[Row | None, bytes] = None, b""
    for row in rows:
        key, answer = (row.capture, row.seq), partner_of(wires, row)
        if key not in known and not row.missing and answer is not None and answer.status < 400:
            now = (yield from reading(wires, row)).data
            known[key] = yield from _break(wires, row, now, last)
            last = row, now
        if (broken := known.get(key)) is not None:
            breaks.append(broken)
    return tuple(breaks)


def _break(wires: Wires, row: Row, now: bytes, last: tuple[Row | None, bytes]) -> Steps[PrefixBreak | None]:
    """Compare a request, whose bytes are `now`, with the one before: often the last one that was read."""
    before = answered_before(wires, row)
    if before is None or before.missing:
        return None
    earlier = last[1] if before == last[0] else (yield from reading(wires, before)).data
    if len(now) >= len(earlier) and now.endswith(earlier[common_prefix(earlier, now) :]):
        return None  # one has something put in at one place, as an added message is
    changes = yield from changes_of(wires, row, before)
    if not isinstance(changes, Changes) or not changes.is_broken:
        return None
    cause = changes.cause.removeprefix("broken because ")
    others = {change.path: change.label for change in changes.changes if change.kind != "new"}
    also = [f"{path}, {label}" for path, label in others.items() if path not in cause]
    if also:
        cause += f"; also {'; '.join(also[:_MOST])}{f' and {len(also) - _MOST} more' if len(also) > _MOST else ''}"
    return PrefixBreak(request=wires.called(row), row=(row.capture, row.seq), cause=cause)
