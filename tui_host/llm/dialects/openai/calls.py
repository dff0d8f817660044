"""Tool calls out of the fragments that Chat Completions services send. Source: llm-dialects.md, section 2, Stream."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field

from tui_host.errors import JSON
from tui_host.llm.events import CallArguments, CallsLeftOut, CallStarted, ModelEvent, Unreadable
from tui_host.llm.fold import MOST_ARGUMENTS, MOST_CALLS


@dataclass(slots=True)
class _Open:
    number: int
    id: str = ""
    name: str = ""
    pieces: list[str] = field(default_factory=list[str])
    size: int = 0

    def is_whole(self) -> bool:
        """Whether its arguments are a complete JSON object already."""
        if not self.pieces or not self.pieces[-1].rstrip().endswith("}"):
            return False
        try:
            return isinstance(json.loads("".join(self.pieces), strict=False), dict)
        except (ValueError, RecursionError):
            return False


@dataclass(frozen=True, slots=True)
class _Fragment:
    index: int | None
    id: str
    name: str
    arguments: str
    start: int
    end: int


class Calls:
    """The calls of one response. Fragments name theirs by index, by id, or by neither."""

    def __init__(self) -> None:
        self._by_index: dict[int, list[_Open]] = {}
        self._by_id: dict[str, _Open] = {}
        self._numbers: set[int] = set()
        self._last: _Open | None = None
        self._is_full = False

    def __len__(self) -> int:
        return len(self._numbers)

    def add(self, fragments: Sequence[tuple[JSON, int, int]]) -> list[ModelEvent]:
        """Take in the fragments of one chunk, each with its bytes."""
        found: list[ModelEvent] = []
        opened: set[int] = set()
        for value, start, end in fragments:
            fragment = _read(value, start, end)
            if fragment is None:
                found.append(Unreadable(reason="a tool call that is no object", start=start, end=end))
                continue
            call = self._target(fragment, opened)
            if call is not None:
                found += _extend(call, fragment, is_new=False)
            elif len(self._numbers) < MOST_CALLS:
                call = self._open(fragment)
                opened.add(call.number)
                found += _extend(call, fragment, is_new=True)
            elif not self._is_full:
                self._is_full = True
                self._last = None
                found.append(CallsLeftOut(start=start, end=end))
        return found

    def _target(self, fragment: _Fragment, opened: set[int]) -> _Open | None:
        """The open call that a fragment belongs to; None if it is another one."""
        if fragment.index is not None:
            there = self._by_index.get(fragment.index, [])
            same = [call for call in there if fragment.id and call.id == fragment.id]
            call = same[0] if same else there[-1] if there else None
            if call is not None and fragment.name and fragment.id and call.id and fragment.id != call.id:
                return None
        elif fragment.id:
            call = self._by_id.get(fragment.id)
        else:
            call = self._last
            if call is not None and fragment.name and not call.id and call.number in opened:
                return None  # several whole calls in one chunk, with nothing that tells them apart
        if call is not None and fragment.name and fragment.arguments.strip() and call.is_whole():
            return None  # one id, or one index, for all calls
        return call

    def _open(self, fragment: _Fragment) -> _Open:
        number = fragment.index if fragment.index is not None else -1
        if number < 0 or number in self._numbers:
            number = max(self._numbers, default=-1) + 1
        call = _Open(number)
        self._numbers.add(number)
        if fragment.index is not None:
            self._by_index.setdefault(fragment.index, []).append(call)
        if fragment.id:
            self._by_id[fragment.id] = call
        self._last = call
        return call


def _read(value: JSON, start: int, end: int) -> _Fragment | None:
    if not isinstance(value, dict):
        return None
    function = value.get("function") or value.get("custom") or value
    if not isinstance(function, dict):
        return None
    index, wire_id, name = value.get("index"), value.get("id"), function.get("name")
    return _Fragment(
        index if isinstance(index, int) and not isinstance(index, bool) and index >= 0 else None,
        wire_id if isinstance(wire_id, str) else str(wire_id) if isinstance(wire_id, int) else "",
        name if isinstance(name, str) else "",
        _arguments(function.get("arguments", function.get("input"))),
        start,
        end,
    )


def _arguments(value: JSON) -> str:
    """The arguments as text: some services send the object itself."""
    if isinstance(value, str):
        return value
    return "" if value is None else json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _extend(call: _Open, fragment: _Fragment, *, is_new: bool) -> list[ModelEvent]:
    changed = is_new
    if fragment.id and not call.id:
        call.id, changed = fragment.id, True
    name = call.name
    if not name:
        name = fragment.name
    elif fragment.name and not call.size and fragment.name != name:
        # In pieces, or grown to the whole: some services repeat it, so it is never joined blindly.
        name = fragment.name if fragment.name.startswith(name) else name + fragment.name
    if name != call.name:
        call.name, changed = name[:1000], True
    found: list[ModelEvent] = []
    start, end = fragment.start, fragment.end
    if changed:
        found.append(CallStarted(index=call.number, wire_id=call.id, name=call.name, start=start, end=end))
    if fragment.arguments:
        call.size += len(fragment.arguments)
        if call.size <= MOST_ARGUMENTS:
            call.pieces.append(fragment.arguments)
        found.append(CallArguments(index=call.number, text=fragment.arguments, start=start, end=end))
    return found
