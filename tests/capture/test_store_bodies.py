"""Bodies and answers are kept small and come back byte for byte, whatever became of what they stand against."""

from __future__ import annotations

import json
import sqlite3
from dataclasses import replace
from pathlib import Path

from tests.bench.recording import Traffic
from tests.capture.drafts import SESSION, frame, llm, unstamped
from tests.capture.stores import kept, record
from tui_host.capture.redact.redaction import Redactor
from tui_host.capture.store.deletion import delete_session
from tui_host.capture.store.store import Store

BODY = json.dumps(list(range(5000))).encode()


def test_a_long_conversation_takes_a_small_part_of_its_bytes_and_any_body_comes_back(tmp_path: Path) -> None:
    store = Store.open(tmp_path / "tui-host.db")
    drafts = list(Traffic("other calls between", 60).records())
    record(store, drafts).close()
    store.close()

    size = (tmp_path / "tui-host.db").stat().st_size
    assert size < sum(len(each.data) for each in drafts) / 10, "60 turns; the bench has 200"
    store = Store.open_to_read(tmp_path / "tui-host.db")
    assert unstamped(store.records(capture="c1")) == drafts
    for seq, each in enumerate(drafts, 1):
        if each.kind == "request":
            found = store.record("c1", seq)
            assert found is not None
            assert unstamped([found]) == [each]
    store.close()


def test_an_answer_that_ends_while_it_is_read_is_read_to_its_end(store: Store) -> None:
    recorder = record(store, [llm("request", "x", BODY), *(llm("chunk", "x", b"%d" % number) for number in range(300))])
    following, exporting = store.records(capture="c1"), store.session_records(SESSION)
    first = [next(following).seq for _ in range(3)] + [next(exporting)[0].seq for _ in range(3)]
    for draft in (llm("end", "x"), llm("request", "x2", BODY)):
        recorder.append(draft)
    assert recorder.flush()
    assert first + [each.seq for each in following] == [1, 2, 3, 1, 2, 3, *range(4, 304)]
    assert [each.seq for each, _ in exporting] == [*range(4, 302)]


def test_nothing_of_one_session_stands_against_another(store: Store) -> None:
    record(
        store, [llm("request", f"x{number}", BODY, session=("one", "two")[number % 2]) for number in range(6)]
    ).close()

    delete_session(store, "one")

    assert kept(store) == [BODY] * 3
    assert store.read("PRAGMA foreign_key_check") == []


def test_a_body_whose_bytes_are_damaged_says_so_and_the_others_are_read(store: Store) -> None:
    record(store, [*(llm("request", f"x{number}", BODY + b"%d" % number) for number in range(3)), frame(b"whole")])
    store.run(
        lambda connection: connection.execute("UPDATE records SET data = zeroblob(length(data)) WHERE key & 255 = 3")
    )

    drafts = unstamped(store.records())

    assert [each.data for each in drafts] == [BODY + b"0", BODY + b"1", b"", b"whole"]
    assert "damaged" in (drafts[2].malformed or "")


def test_what_stood_against_a_body_that_was_deleted_meanwhile_is_kept_by_itself(store: Store) -> None:
    recorder = record(store, [llm("request", "x1", BODY)])
    other = sqlite3.connect(store.path, isolation_level=None)
    for table in ("records", "places", "captures"):
        other.execute(f"DELETE FROM {table}")  # noqa: S608 - ours
    other.close()

    recorder.append(llm("request", "x2", BODY + b"2"))
    recorder.append(frame(b"after it"))

    assert recorder.flush(20)
    assert kept(store) == [BODY + b"2", b"after it"]
    assert store.notices == []


def test_a_record_inside_an_answer_is_found_by_its_number(store: Store) -> None:
    drafts = [llm("request", "x1", b"{}"), llm("response", "x1")]
    for number in range(2500):
        drafts.append(llm("chunk", "x1", b"data: %d\n\n" % number))
        if number % 100 == 0:
            drafts.append(frame(b"log %d" % number))
    drafts.append(llm("end", "x1", b"{}"))
    record(store, drafts)

    assert unstamped(store.records(capture="c1")) == drafts
    for seq in (1, 2, 3, 4, 1000, 1026, 1500, 2527, len(drafts)):
        found = store.record("c1", seq)
        assert found is not None
        assert (found.seq, unstamped([found])) == (seq, [drafts[seq - 1]])
    assert store.record("c1", len(drafts) + 1) is None
    assert [each.seq for each in store.records(capture="c1", after=1500, until_seq=1510)] == list(range(1501, 1511))
    assert [each.seq for each in store.records(capture="c1", after=1500, limit=3)] == [1501, 1502, 1503]
    of_session = unstamped(each for each, _ in store.session_records(SESSION))
    assert of_session == [each for each in drafts if each.wire == "llm"]


def test_an_answer_with_a_secret_in_it_keeps_its_marks(store: Store) -> None:
    pieces = [b"one", b"two sk-canary-0123456789"]
    chunks = [*(llm("chunk", "x1", piece) for piece in pieces), replace(llm("chunk", "x1", b"three"), encoding="gzip")]
    record(store, [*chunks, llm("end", "x1", b"{}")], redactor=Redactor([("KEY", "sk-canary-0123456789")]))

    found = unstamped(store.records())

    assert [each.data for each in found] == [b"one", "two ⟨secret:KEY⟩".encode(), b"three", b"{}"]
    assert [each.encoding for each in found] == [None, None, "gzip", None]
    assert [len(each.redacted) for each in found] == [0, 1, 0, 0]
