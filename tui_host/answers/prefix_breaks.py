"""Where requests break the beginning that they share with the request before, which is what providers cache."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

from tui_host.answers.bodies import reading
from tui_host.answers.changes_page import Changes, changes_of
from tui_host.answers.look import is_only_added
from tui_host.capture.ladder.ladder import Ladder

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
    prefix: int  # bytes at the beginning that are the same
    cause: str  # why they end there: `tools.docs__search, tool docs.search, changed: …`


_MOST = 2
"""Further causes that are named."""
_KNOWN: WeakKeyDictionary[Ladder, dict[tuple[str, int], PrefixBreak | None]] = WeakKeyDictionary()
"""What was compared before, as long as the rows are kept: requests do not change."""


def _is_refused(wires: Wires, request: Row) -> bool:
    """Whether the provider has not answered a request, so that there is nothing that it could have cached."""
    partner = wires.ladder.partner(request.number)
    return partner is None or wires.ladder.rows[partner].status >= 400


def answered_before(wires: Wires, row: Row) -> Row | None:
    """Return the request before in the conversation that the provider did not refuse."""
    before = wires.before(row)
    while before is not None and _is_refused(wires, before):
        before = wires.before(before)
    return before


def breaks_of(wires: Wires, rows: Sequence[Row]) -> Steps[tuple[PrefixBreak, ...]]:
    """Return the requests that break the prefix, refused ones left out."""
    known = _KNOWN.setdefault(wires.ladder, {})
    breaks: list[PrefixBreak] = []
    last: tuple[Row | None, bytes] = None, b""
    for row in rows:
        key = row.capture, row.seq
        if key not in known and not row.missing and not _is_refused(wires, row):
            data = (yield from reading(wires, row)).data
            known[key] = yield from _break(wires, row, data, last)
            last = row, data
        if (broken := known.get(key)) is not None:
            breaks.append(broken)
    return tuple(breaks)


def _break(wires: Wires, row: Row, now: bytes, last: tuple[Row | None, bytes]) -> Steps[PrefixBreak | None]:
    """Compare a request, whose bytes are `now`, with the one before: often the last one that was read."""
    before = answered_before(wires, row)
    if before is None or before.missing:
        return None
    earlier = last[1] if before == last[0] else (yield from reading(wires, before)).data
    if is_only_added(earlier, now):
        return None
    changes = yield from changes_of(wires, row, before)
    if not isinstance(changes, Changes) or not changes.is_broken:
        return None
    cause = changes.cause.removeprefix("broken because ")
    others = {change.path: change.label for change in changes.changes if change.kind != "new"}
    also = [f"{path}, {label}" for path, label in others.items() if path not in cause]
    if also:
        cause += f"; also {'; '.join(also[:_MOST])}{f' and {len(also) - _MOST} more' if len(also) > _MOST else ''}"
    return PrefixBreak(request=changes.request, row=(row.capture, row.seq), prefix=changes.prefix, cause=cause)
