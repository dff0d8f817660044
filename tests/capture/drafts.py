"""Drafts to record: plain ones, any that can be, and a clock that tells what it is told."""

import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from hypothesis import strategies as st
from typing_extensions import override

from tui_host.capture.record import Direction, Head, Kind, Place, Record, Redaction, Wire
from tui_host.capture.recorder import SystemClock
from tui_host.capture.store.database import OlderFormError
from tui_host.capture.store.store import Store

SESSION = "20261121-134501-x7k2q"


class FixedClock(SystemClock):
    """Begins on 21 November 2026 and goes on by 250 µs with every look."""

    def __init__(self, wall_ns: int = 1_795_268_701_000_000_000, mono_ns: int = 5_000_000_000) -> None:
        self._wall_ns, self._mono_ns = wall_ns, mono_ns

    @override
    def wall_ns(self) -> int:
        self._wall_ns += 250_000
        return self._wall_ns

    @override
    def mono_ns(self) -> int:
        self._mono_ns += 250_000
        return self._mono_ns


def frame(
    data: bytes = b'{"jsonrpc":"2.0"}\n',
    *,
    session: str | None = None,
    turn: int | None = 1,
    connection: str = "math#1",
    direction: Direction = "out",
) -> Record:
    """A frame on a stdio server's connection, in a turn if a session is given."""
    at = Place(session=session, turn=turn, step=1) if session else Place()
    peer = connection.partition("#")[0]
    return Record(wire="mcp", kind="frame", peer=peer, direction=direction, place=at, connection=connection, data=data)


def llm(
    kind: Kind, exchange: str, data: bytes = b"", *, session: str = SESSION, step: int = 1, head: Head | None = None
) -> Record:
    """A part of an exchange with a model, in a session's first turn."""
    place, direction = Place(session=session, turn=1, step=step), "out" if kind == "request" else "in"
    draft = Record(wire="llm", kind=kind, peer="demo", direction=direction, place=place)
    return replace(draft, exchange=exchange, head=head, data=data)


def wait_until(condition: Callable[[], bool], seconds: float = 90.0) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "it did not come true in time"
        time.sleep(0.02)


def everything_in(folder: Path) -> bytes:
    files = [path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()]
    for path in folder.rglob("tui-host.db"):
        with suppress(OlderFormError):  # a program makes it just now
            store = Store.open_to_read(path)
            files += [record.data for record in store.records()]
            store.close()
    return b"\n".join(files)


texts = st.text(st.characters(codec="utf-8"), max_size=20)
wild_texts = st.text(max_size=20)  # with lone surrogates, as a header that is no UTF-8 has them
wires: list[Wire] = ["llm", "mcp", "stderr", "host"]
kinds: list[Kind] = ["request", "response", "chunk", "end", "error", "frame", "line", "decision", "link"]
directions: list[Direction | None] = ["out", "in", None]

heads = st.builds(
    Head,
    method=st.none() | wild_texts,
    url=st.none() | wild_texts,
    status=st.none() | st.integers(0, 999),
    headers=st.lists(st.tuples(wild_texts, wild_texts), max_size=4).map(tuple),
)
redactions = st.builds(Redaction, where=st.sampled_from(("data", "head")), name=texts, length=st.integers(0, 10**6))
places = st.builds(
    Place,
    session=st.just(SESSION),
    turn=st.integers(1, 10**6),
    step=st.none() | st.integers(1, 100),
    call=st.none() | texts,
) | st.just(Place())

any_draft = st.builds(
    Record,
    wire=st.sampled_from(wires),
    kind=st.sampled_from(kinds),
    peer=texts,
    direction=st.sampled_from(directions),
    place=places,
    connection=st.none() | texts,
    exchange=st.none() | texts,
    head=st.none() | heads,
    data=st.binary(max_size=200) | texts.map(str.encode),
    encoding=st.none() | texts,
    malformed=st.none() | texts,
    redacted=st.lists(redactions, max_size=2).map(tuple),
)


def unstamped(records: Iterable[Record]) -> list[Record]:
    return [replace(record, capture="", seq=0, time_ns=0, mono_ns=None) for record in records]
