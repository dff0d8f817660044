"""Sessions and what a person marked in them: listed, found, owned by one process, exported, and deleted for good."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from tests.capture.drafts import SESSION, everything_in, frame
from tests.capture.kept_forms import fill
from tests.capture.stores import FIRST, SECOND, THIRD, kept, other_process, record, save, settle
from tui_host.capture.link import offered_link
from tui_host.capture.record import Place, Record
from tui_host.capture.recorder import Recorder
from tui_host.capture.redact.redaction import Redactor
from tui_host.capture.store.frame_choices import choose_frame, frame_choices
from tui_host.capture.store.imported_records import Intake
from tui_host.capture.store.row_marks import RowMarks
from tui_host.capture.store.store import Store
from tui_host.errors import TuiHostError


def test_sessions_with_a_turn_and_those_of_taps_are_listed_the_last_changed_first(store: Store) -> None:
    save(store, FIRST, updated=5_000_000_000)
    save(store, SECOND, updated=9_000_000_000, turns=3)
    save(store, THIRD, turns=0)
    save(store, "of a tap", turns=0, source="tap")
    settle(store)

    assert [info.id for info in store.sessions.list()] == [SECOND, FIRST, "of a tap"]
    info = store.sessions.list()[0]
    assert (info.turns, info.source, info.model, info.protocol) == (3, "chat", "demo/openai", "native")
    assert info.updated == "1970-01-01T00:00:09.000000Z"
    assert info.live


def test_a_session_is_found_by_id_unique_prefix_and_last(store: Store) -> None:
    save(store, FIRST, updated=9)
    save(store, THIRD, updated=5)
    save(store, SECOND, turns=0)
    settle(store)

    assert store.find_session(FIRST).id == FIRST
    assert store.find_session("20261122").id == THIRD
    assert store.find_session("last").id == FIRST
    intake = Intake(store, "c", Redactor())
    intake.add(replace(frame(session=THIRD), capture="c", seq=1, time_ns=1, mono_ns=1))
    intake.close()
    assert store.find_session("last").id == THIRD  # it came here last
    assert store.find_session(SECOND).id == SECOND


def test_a_name_that_fits_none_or_several_is_told_with_the_nearest(store: Store) -> None:
    save(store, FIRST)
    save(store, SECOND)
    settle(store)

    with pytest.raises(TuiHostError, match=FIRST):
        store.find_session("20261121")
    with pytest.raises(TuiHostError, match=SECOND):
        store.find_session("20261121-134502-bbbbx")
    with pytest.raises(TuiHostError, match="no such session"):
        store.find_session("")


def test_messages_items_and_draft_come_back_as_they_were_saved(store: Store) -> None:
    save(store, FIRST, turns=2)
    store.sessions.save_item(FIRST, 0, '{"item":"user","text":"工具"}')
    store.sessions.save_item(FIRST, 1, '{"item":"answer","text":"to"}')
    store.sessions.save_item(FIRST, 1, '{"item":"answer","text":"to be"}')
    settle(store)

    assert store.sessions.messages(FIRST) == ['{"turn": 1}', '{"turn": 2}']
    assert store.sessions.item_texts(FIRST) == ['{"item":"user","text":"工具"}', '{"item":"answer","text":"to be"}']
    assert store.sessions.draft(FIRST) == "unsent"


def test_a_lone_surrogate_in_a_message_is_kept_in_words(store: Store) -> None:
    store.sessions.save_message(FIRST, 0, turn=1, text='{"text": "\ud800"}', time_ns=1)
    settle(store)

    assert store.sessions.messages(FIRST) == ['{"text": "\\ud800"}']


def test_a_session_has_one_owner_while_that_process_lives(store: Store) -> None:
    with other_process(store.path, FIRST):
        assert not store.sessions.claim(FIRST)
        assert store.find_session(FIRST).live
        with pytest.raises(TuiHostError, match="another process"):
            store.sessions.delete(FIRST)

    assert not store.find_session(FIRST).live
    assert store.sessions.claim(FIRST)
    assert store.find_session(FIRST).live
    store.sessions.release(FIRST)
    settle(store)
    assert not store.find_session(FIRST).live


def record_two_sessions(store: Store) -> Recorder:
    """One capture: two sessions on `math`, the first alone on `time`, nobody on `idle`."""
    drafts = (
        frame(b"1 math initialize"),
        frame(b"2 idle initialize", connection="idle#3"),
        frame(b"3 time initialize", connection="time#2"),
        frame(b"4 first asks", session=FIRST, turn=1),
        frame(b"5 math progress"),
        frame(b"6 first again", session=FIRST, turn=1, connection="time#2"),
        frame(b"7 second asks", session=SECOND, turn=1),
        frame(b"8 math log for second"),
        frame(b"9 second done", session=SECOND, turn=1),
        frame(b"10 math between turns"),
        frame(b"11 first asks on", session=FIRST, turn=2),
        frame(b"12 math after all"),
    )
    return record(store, drafts)


def exported(store: Store, session: str) -> list[tuple[bytes, bool]]:
    return [(record.data, is_preamble) for record, is_preamble in store.session_records(session)]


def test_an_export_begins_with_the_start_of_each_connection_used_and_leaves_other_sessions_out(store: Store) -> None:
    record_two_sessions(store)

    assert exported(store, FIRST) == [
        (b"1 math initialize", True),
        (b"3 time initialize", True),
        (b"4 first asks", False),
        (b"5 math progress", False),
        (b"6 first again", False),
        (b"10 math between turns", False),
        (b"11 first asks on", False),
    ]
    assert exported(store, SECOND) == [
        (b"1 math initialize", True),
        (b"7 second asks", False),
        (b"8 math log for second", False),
        (b"9 second done", False),
    ]


def test_a_connection_that_was_only_offered_is_used_and_keeps_its_beginning(store: Store) -> None:
    place = Place(session=FIRST, turn=1, step=1)
    offered = Record(wire="host", kind="link", place=place, connection="math#1", data=offered_link("x1"))
    used = [frame(b"1 math initialize"), frame(b"2 idle initialize", connection="idle#3"), offered]
    record(store, [*used, frame(b"4 second calls", session=SECOND), frame(b"5 math afterwards")])

    assert exported(store, FIRST) == [(b"1 math initialize", True), (offered.data, False)]
    store.sessions.delete(SECOND)
    assert exported(store, FIRST) == [(b"1 math initialize", True), (offered.data, False)]


def test_a_session_over_two_captures_has_the_preambles_of_both(store: Store) -> None:
    for capture in ("c1", "c2"):
        name = capture.encode()
        record(store, [frame(b"start " + name), frame(b"call " + name, session=FIRST)], capture=capture)

    assert exported(store, FIRST) == [
        (b"start c1", True),
        (b"start c2", True),
        (b"call c1", False),
        (b"call c2", False),
    ]


def test_deleting_a_session_leaves_nothing_of_it_in_any_file(store: Store, tmp_path: Path) -> None:
    canaries = (frame(b"canary-record-%d " % number * 40, session=FIRST) for number in range(200))
    others = (frame(b"other-record-%d" % number, session=SECOND, connection="time#2") for number in range(200))
    record(store, [draft for pair in zip(canaries, others, strict=True) for draft in pair])
    save(store, SECOND)
    save(store, FIRST)
    store.sessions.save_message(FIRST, 5, turn=1, text='{"text": "canary-message"}', time_ns=1)
    store.sessions.save_item(FIRST, 0, '{"text": "canary-item"}')
    settle(store)
    assert everything_in(tmp_path).count(b"canary") > 1000

    assert store.sessions.delete(FIRST)

    files = everything_in(tmp_path)
    assert b"canary" not in files
    assert FIRST.encode() not in files
    assert [info.id for info in store.sessions.list()] == [SECOND]
    assert len(list(store.session_records(SECOND))) == 200


@pytest.mark.parametrize("is_open", [True, False])
def test_deleting_takes_along_what_no_other_used_but_the_beginning_of_open_connections(
    store: Store, *, is_open: bool
) -> None:
    recorder = record_two_sessions(store)
    if not is_open:
        recorder.close()

    store.sessions.delete(FIRST)

    begun = [b"1 math initialize", b"2 idle initialize"] + [b"3 time initialize"] * is_open
    assert kept(store) == [*begun, b"7 second asks", b"8 math log for second", b"9 second done", b"12 math after all"]


def test_marks_and_notes_are_kept_in_the_order_of_marking_and_go_with_their_session(tmp_path: Path) -> None:
    path = tmp_path / "tui-host.db"
    fill(path)
    store = Store.open(path)
    store.redactor = Redactor([("KEY", "hunter2-hunter2")])
    marks = RowMarks(store, SESSION)
    for seq in (4, 9, 7):
        marks.toggle(("capture-1", seq))
    marks.write(("capture-1", 4), "why hunter2-hunter2?")
    marks.toggle(("capture-1", 9))
    RowMarks(store, "another").toggle(("capture-1", 4))
    assert store.close()

    store = Store.open(path)
    marks = RowMarks(store, SESSION)
    assert marks.newest_first == [("capture-1", 7), ("capture-1", 4)]
    assert marks.note(("capture-1", 4)) == "why ⟨secret:KEY⟩?"
    assert (marks.note(("capture-1", 7)), marks.note(("capture-1", 9))) == ("", None)
    store.sessions.delete(SESSION)
    assert store.read("SELECT session FROM marks") == [("another",)]
    assert store.close()


def test_what_a_person_decided_on_a_frame_is_kept_until_it_is_forgotten_or_its_capture_goes(store: Store) -> None:
    record(store, [frame(b"1", session=FIRST)]).close()
    save(store, FIRST)
    for call, joined in (("a", True), ("b", False), ("c", True), ("c", None), ("b", True)):
        choose_frame(store, call, ("c1", 1), is_joined=joined)
    choose_frame(store, "a", ("c2", 7), is_joined=True)
    settle(store)
    assert [(choice.call, choice.frame, choice.is_joined) for choice in frame_choices(store, ("c2", "c1"))] == [
        ("a", ("c2", 7), True),
        ("a", ("c1", 1), True),
        ("b", ("c1", 1), True),
    ]
    store.sessions.delete(FIRST)
    assert [choice.frame for choice in frame_choices(store, ("c2", "c1"))] == [("c2", 7)]


def test_what_a_tap_found_out_stays_where_it_is_saved_again_without(store: Store) -> None:
    save(store, FIRST, source="tap")
    store.sessions.save_facts(FIRST, '{"host":"claude-code"}')
    save(store, FIRST, source="tap", updated=7)
    settle(store)
    assert (store.find_session(FIRST).facts, store.find_session(FIRST).updated_ns) == ('{"host":"claude-code"}', 7)


def test_without_a_store_marks_last_as_long_as_they_are_held() -> None:
    marks = RowMarks(None, SESSION)
    marks.write(("c", 1), "here")
    assert (marks.newest_first, marks.note(("c", 1)), marks.revision) == ([("c", 1)], "here", 1)
    marks.toggle(("c", 1))
    assert not marks.newest_first
