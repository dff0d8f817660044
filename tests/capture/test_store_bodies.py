"""Bodies and answers are kept small and come back byte for byte, whatever became of what they stand against."""

from __future__ import annotations

import json
import random
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.capture.drafts import frame
from tests.steps import sizes_given
from tui_host.capture.record import Draft, Head, Place
from tui_host.capture.recorder import Recorder
from tui_host.capture.redact.redaction import Redactor
from tui_host.capture.store import stored_bodies as kept_bodies
from tui_host.capture.store.answer_runs import KINDS, Piece, pack_run, unpack_run
from tui_host.capture.store.store import Store
from tui_host.capture.store.stored_bodies import GREAT, Packer
from tui_host.errors import JSON

SESSION = "20261121-134501-x7k2q"
Shape = Literal["tools first", "tools last", "clock", "calls between"]
HEAD = Head(method="POST", url="http://127.0.0.1:9/v1", headers=(("authorization", "Bearer ⟨secret:KEY⟩"),))


def draft(
    exchange: str, kind: Literal["request", "response", "chunk", "end"], data: bytes = b"", **place: str
) -> Draft:
    place_of = Place(session=place.get("session", SESSION), turn=1, step=1)
    head = HEAD if kind == "request" else Head(status=200) if kind == "response" else None
    direction = "out" if kind == "request" else "in"
    return Draft(
        wire="llm", kind=kind, peer="demo", direction=direction, place=place_of, exchange=exchange, head=head, data=data
    )


class Conversation:
    """Request bodies of a conversation of random words, each with an answer in many pieces."""

    def __init__(self, shape: Shape, turns: int) -> None:
        self._shape: Shape = shape
        self._turns = turns
        self._random = random.Random(5)  # noqa: S311 - words, no secrets
        self._words = ["".join(self._random.choices("abcdefghijklmnop", k=6)) for _ in range(3000)]

    def _text(self, words: int) -> str:
        return " ".join(self._random.choices(self._words, k=words))

    def drafts(self) -> Iterator[Draft]:
        tools: JSON = [{"name": f"tool_{number}", "description": self._text(40)} for number in range(15)]
        said: list[JSON] = []
        for turn in range(self._turns):
            if self._shape == "calls between":
                yield draft(f"t{turn}", "request", json.dumps({"title of": self._text(150)}).encode())
            clock = f"It is 13:{turn // 60:02}:{turn % 60:02}. " if self._shape == "clock" else ""
            said.append({"role": "user", "content": self._text(30)})
            messages: JSON = [{"role": "system", "content": clock + "You are helpful. " * 30}, *said]
            body: JSON = {"messages": messages, "tools": tools}
            if self._shape == "tools first":
                body = {"tools": tools, "messages": messages}
            yield draft(f"x{turn}", "request", json.dumps(body).encode())
            answer = self._text(60)
            yield draft(f"x{turn}", "response")
            for word in answer.split():
                event: JSON = {"id": f"c-{turn}", "object": "chunk", "choices": [{"delta": {"content": word}}]}
                yield draft(f"x{turn}", "chunk", b"data: " + json.dumps(event).encode() + b"\n\n")
            yield draft(f"x{turn}", "end", b'{"reason": "complete"}')
            said.append({"role": "assistant", "content": answer})


@pytest.mark.parametrize(
    "shape",
    [
        "calls between",
        *(pytest.param(shape, marks=pytest.mark.exhaustive) for shape in ("tools first", "tools last", "clock")),
    ],
)
def test_a_long_conversation_takes_a_small_part_of_its_bytes_and_any_body_comes_back(
    shape: Shape, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = Store.open(tmp_path / "tui-host.db")
    recorder = Recorder(store, Redactor(), capture="c1")
    drafts = list(Conversation(shape, 80).drafts())
    for each in drafts:
        recorder.append(each)
    assert recorder.close(30)
    store.close()

    size = (tmp_path / "tui-host.db").stat().st_size
    assert size < sum(len(each.data) for each in drafts) / 8, "80 turns; the bench has 200"
    store = Store.open_to_read(tmp_path / "tui-host.db")
    kept = [record.draft for record in store.records(capture="c1")]
    unpacked = sizes_given(monkeypatch, kept_bodies, "decompress")
    bodies: list[bytes] = []
    ways: list[int] = []
    for each in drafts:
        if each.kind == "request":
            before = len(unpacked)
            bodies.append(store.body("c1", each.exchange or "", "request"))
            ways.append(len(unpacked) - before)
    answer = store.body("c1", "x3", "response")
    store.close()
    assert kept == drafts
    assert bodies == [each.data for each in drafts if each.kind == "request"]
    assert max(ways) <= 1 + 13, "of 200 bodies none stands farther from a whole one"
    assert answer == b"".join(each.data for each in drafts if each.kind == "chunk" and each.exchange == "x3")


def test_a_conversation_that_goes_on_in_another_process_stands_against_what_came_before(tmp_path: Path) -> None:
    body = json.dumps({"messages": [str(number) * 9 for number in range(3000)]}).encode()
    for capture in ("c1", "c2", "c3"):
        store = Store.open(tmp_path / "tui-host.db")
        recorder = Recorder(store, Redactor(), capture=capture)
        recorder.append(draft("x1", "request", body + capture.encode()))
        recorder.close()
        store.close()

    store = Store.open_to_read(tmp_path / "tui-host.db")
    small = store.read("SELECT count(*) FROM records WHERE length(data) < 100")
    assert [store.body(capture, "x1", "request") for capture in ("c1", "c2", "c3")] == [
        body + capture for capture in (b"c1", b"c2", b"c3")
    ]
    assert small == [(2,)]
    store.close()


def test_nothing_of_one_session_stands_against_another(tmp_path: Path) -> None:
    store = Store.open(tmp_path / "tui-host.db")
    recorder = Recorder(store, Redactor(), capture="c1")
    body = b"the same in both " * 500
    for number in range(6):
        recorder.append(draft(f"x{number}", "request", body, session=("first", "second")[number % 2]))
    recorder.close()

    store.sessions.delete("first")

    assert [record.draft.data for record in store.records()] == [body] * 3
    assert store.read("PRAGMA foreign_key_check") == []
    store.close()


def test_a_body_whose_bytes_are_damaged_says_so_and_the_others_are_read(tmp_path: Path) -> None:
    store = Store.open(tmp_path / "tui-host.db")
    recorder = Recorder(store, Redactor(), capture="c1")
    body = json.dumps(list(range(5000))).encode()
    for number in range(3):
        recorder.append(draft(f"x{number}", "request", body + b"%d" % number))
    recorder.append(frame(b"whole"))
    recorder.flush(20)
    store.run(
        lambda connection: connection.execute("UPDATE records SET data = zeroblob(length(data)) WHERE key & 255 = 3")
    )

    kept = [record.draft for record in store.records()]

    assert [each.data for each in kept] == [body + b"0", body + b"1", b"", b"whole"]
    assert "damaged" in (kept[2].malformed or "")
    store.close()


def test_what_stood_against_a_body_that_was_deleted_meanwhile_is_kept_by_itself(tmp_path: Path) -> None:
    store = Store.open(tmp_path / "tui-host.db")
    recorder = Recorder(store, Redactor(), capture="c1")
    body = json.dumps(list(range(5000))).encode()
    recorder.append(draft("x1", "request", body))
    recorder.flush(20)
    other = sqlite3.connect(tmp_path / "tui-host.db", isolation_level=None)
    for statement in ("PRAGMA foreign_keys = ON", "DELETE FROM records", "DELETE FROM places", "DELETE FROM captures"):
        other.execute(statement)
    other.close()

    recorder.append(draft("x2", "request", body + b"2"))
    recorder.append(frame(b"after it"))

    assert recorder.flush(20)
    assert [record.draft.data for record in store.records()] == [body + b"2", b"after it"]
    assert store.notices == []
    store.close()


def test_a_record_inside_an_answer_is_found_by_its_number(tmp_path: Path) -> None:
    store = Store.open(tmp_path / "tui-host.db")
    recorder = Recorder(store, Redactor(), capture="c1")
    drafts = [draft("x1", "request", b"{}"), draft("x1", "response")]
    for number in range(2500):
        drafts.append(draft("x1", "chunk", b"data: %d\n\n" % number))
        if number % 100 == 0:
            drafts.append(frame(b"log %d" % number))
    drafts.append(draft("x1", "end", b"{}"))
    for each in drafts:
        recorder.append(each)
    recorder.flush(20)

    assert store.read("SELECT count(*) FROM records")[0][0] == 1 + 3 + 25, "a request, three runs, the frames between"
    assert [record.draft for record in store.records(capture="c1")] == drafts
    for seq in (1, 2, 3, 4, 1000, 1026, 1500, 2527, len(drafts)):
        record = store.record("c1", seq)
        assert record is not None
        assert (record.seq, record.draft) == (seq, drafts[seq - 1])
    assert store.record("c1", len(drafts) + 1) is None
    assert [record.seq for record in store.records(capture="c1", after=1500, until_seq=1510)] == list(range(1501, 1511))
    assert [record.seq for record in store.records(capture="c1", after=1500, limit=3)] == [1501, 1502, 1503]
    assert [record.draft for record in store.records(session=SESSION)] == [
        each for each in drafts if each.wire == "llm"
    ]
    store.close()


def test_an_answer_with_a_secret_in_it_keeps_its_marks(tmp_path: Path) -> None:
    store = Store.open(tmp_path / "tui-host.db")
    recorder = Recorder(store, Redactor([("KEY", "sk-canary-0123456789")]), capture="c1")
    for each in (
        draft("x1", "response"),
        draft("x1", "chunk", b"one"),
        draft("x1", "chunk", b"two sk-canary-0123456789"),
        replace(draft("x1", "chunk", b"three"), encoding="gzip"),
        draft("x1", "end", b"{}"),
    ):
        recorder.append(each)
    recorder.flush(20)

    kept = [record.draft for record in store.records()]

    assert [each.data for each in kept] == [b"", b"one", "two ⟨secret:KEY⟩".encode(), b"three", b"{}"]
    assert [each.encoding for each in kept] == [None, None, None, "gzip", None]
    assert [len(each.redacted) for each in kept] == [0, 0, 1, 0, 0]
    store.close()


numbers = st.integers(-(2**40), 2**40)


@pytest.mark.exhaustive
@given(
    st.lists(
        st.builds(
            Piece,
            key=st.integers(1, 2**50),
            time_ns=numbers,
            mono_ns=numbers,
            kind=st.sampled_from(KINDS),
            encoding=st.sampled_from((None, "gzip")),
            head=st.none() | st.text("[]a", min_size=1, max_size=5),
            data=st.binary(max_size=20),
        ),
        min_size=1,
        max_size=6,
    )
)
def test_any_run_comes_back_as_it_was(run: list[Piece]) -> None:
    first = replace(run[0], encoding="gzip", data=pack_run(run))

    assert list(unpack_run(first)) == run


def test_a_body_that_is_too_large_to_be_packed_against_another_stands_by_itself() -> None:
    data = bytes(GREAT + 1)
    with closing(sqlite3.connect(":memory:")) as connection:
        packer = Packer(connection)
        for key in (1, 2):
            packed = packer.pack_request(key, SESSION, data)
            assert (packed.base, packed.size) == (None, len(data))
            assert len(packed.data) < len(data) // 100
