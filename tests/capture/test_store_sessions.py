"""Sessions and what a person marked in them: listed, found, owned by one process, exported, deleted for good, and pruned."""

import json
from dataclasses import asdict, replace
from pathlib import Path

import pytest

from tests.capture.drafts import SESSION, FixedClock, everything_in, frame
from tests.capture.stores import FIRST, SECOND, THIRD, another, keep_session, kept, record, save, settle
from tests.capture.test_store import fill
from tui_host.capture.link import offered_link
from tui_host.capture.record import Place, Record
from tui_host.capture.recorder import Recorder
from tui_host.capture.redact.redaction import Redactor
from tui_host.capture.session_summary import Parent, SessionInfo, SharedPart
from tui_host.capture.store.deletion import delete_session, prune, used_bytes
from tui_host.capture.store.imported_records import Intake
from tui_host.capture.store.notes_of_people import RowMarks, choose_frame, frame_choices
from tui_host.capture.store.search import search_chats
from tui_host.capture.store.store import Store
from tui_host.errors import TuiHostError


def test_sessions_are_listed_the_last_changed_first_and_found_by_id_unique_prefix_and_last(store: Store) -> None:
    save(store, FIRST, updated=9_000_000_000, turns=3)
    save(store, THIRD, updated=5_000_000_000)
    save(store, SECOND, turns=0)
    save(store, "of a tap", turns=0, source="tap")
    settle(store)
    info, *others = store.sessions.list()
    assert [other.id for other in others] == [THIRD, "of a tap"], "a draft alone is no session yet"
    assert (info.id, info.turns, info.source, info.model, info.protocol) == (FIRST, 3, "chat", "demo/openai", "native")
    assert (info.updated_ns, info.live, info.imported) == (9_000_000_000, True, False)
    names = (FIRST, "20261122", "last", SECOND)
    assert [store.sessions.find(name).id for name in names] == [FIRST, THIRD, FIRST, SECOND]
    for name, words in (("2026112", f"{FIRST}, {THIRD}"), ("20261121-134501-aaaax", FIRST), ("", "no such session")):
        with pytest.raises(TuiHostError, match=words):
            store.sessions.find(name)
    intake = Intake(store, "c", Redactor())
    intake.append(replace(frame(session=THIRD), capture="c", seq=1, time_ns=1, mono_ns=1))
    intake.close()
    last = store.sessions.find("last")
    assert (last.id, last.imported) == (THIRD, True), "it came here last"


def test_messages_items_draft_and_facts_come_back_as_they_were_saved(store: Store) -> None:
    save(store, FIRST, turns=2)
    store.sessions.save_item(FIRST, 0, '{"item":"user","text":"工具"}')
    store.sessions.save_item(FIRST, 1, '{"item":"answer","text":"to"}')
    store.sessions.save_item(FIRST, 1, '{"item":"answer","text":"to be"}')
    store.sessions.save_message(FIRST, 2, turn=2, text='{"text": "\ud800"}', time_ns=1)
    store.sessions.save(SessionInfo(FIRST, "", "tap", facts='{"host":"claude-code"}', draft="unsent"))
    save(store, FIRST, turns=0, updated=7)
    settle(store)
    assert store.sessions.messages(FIRST) == ['{"turn": 1}', '{"turn": 2}', '{"text": "\\ud800"}']
    assert store.session_items(FIRST) == ['{"item":"user","text":"工具"}', '{"item":"answer","text":"to be"}']
    info = store.sessions.find(FIRST)
    assert (info.draft, info.facts, info.updated_ns) == ("unsent", '{"host":"claude-code"}', 7)


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


def exported(store: Store, session: str) -> tuple[list[bytes], list[bytes]]:
    """What came before a session on the connections that it used, and the rest, in the order of exports."""
    records = list(store.session_records(session))
    before = [record.data for record, is_preamble in records if is_preamble]
    rest = [record.data for record, is_preamble in records if not is_preamble]
    assert [record.data for record, _ in records] == before + rest
    return before, rest


def test_an_export_begins_with_the_start_of_each_connection_used_and_leaves_other_sessions_out(store: Store) -> None:
    record_two_sessions(store)
    for capture in ("c2", "c3"):
        name = capture.encode()
        record(store, [frame(b"start " + name), frame(b"call " + name, session=THIRD)], capture=capture)
    first = [b"4 first asks", b"5 math progress", b"6 first again", b"10 math between turns", b"11 first asks on"]
    assert exported(store, FIRST) == ([b"1 math initialize", b"3 time initialize"], first)
    second = [b"7 second asks", b"8 math log for second", b"9 second done"]
    assert exported(store, SECOND) == ([b"1 math initialize"], second)
    assert exported(store, THIRD) == ([b"start c2", b"start c3"], [b"call c2", b"call c3"])


def test_a_connection_that_was_only_offered_is_used_and_keeps_its_beginning(store: Store) -> None:
    place = Place(session=FIRST, turn=1, step=1)
    offered = Record(wire="host", kind="link", place=place, connection="math#1", data=offered_link("x1"))
    used = [frame(b"1 math initialize"), frame(b"2 idle initialize", connection="idle#3"), offered]
    record(store, [*used, frame(b"4 second calls", session=SECOND), frame(b"5 math afterwards")])
    assert exported(store, FIRST) == ([b"1 math initialize"], [offered.data])
    delete_session(store, SECOND)
    assert exported(store, FIRST) == ([b"1 math initialize"], [offered.data])


@pytest.mark.parametrize("is_open", [True, False])
def test_deleting_takes_what_no_other_used_but_the_start_of_open_connections(store: Store, *, is_open: bool) -> None:
    recorder = record_two_sessions(store)
    if not is_open:
        recorder.close()
    delete_session(store, FIRST)
    begun = [b"1 math initialize", b"2 idle initialize"] + [b"3 time initialize"] * is_open
    assert kept(store) == [*begun, b"7 second asks", b"8 math log for second", b"9 second done", b"12 math after all"]


def test_marks_and_notes_are_kept_in_the_order_of_marking_and_go_with_their_session(tmp_path: Path) -> None:
    path = tmp_path / "tui-host.db"
    fill(path)
    store = Store.open(path)
    store.redactor = Redactor([("KEY", "hunter2-hunter2")])
    marks = RowMarks(store, SESSION)
    for seq, note in ((4, ""), (9, ""), (7, ""), (9, None)):
        marks.write(("capture-1", seq), note)
    marks.write(("capture-1", 4), "why hunter2-hunter2?")
    RowMarks(store, "another").write(("capture-1", 4), "")
    assert store.close()
    store = Store.open(path)
    marks = RowMarks(store, SESSION)
    assert [*reversed(marks.notes)] == [("capture-1", 7), ("capture-1", 4)]
    assert [marks.notes.get(("capture-1", seq)) for seq in (4, 7, 9)] == ["why ⟨secret:KEY⟩?", "", None]
    delete_session(store, SESSION)
    assert store.read("SELECT session FROM marks") == [("another",)]
    assert store.close()
    marks = RowMarks(None, SESSION)  # nothing is kept here
    marks.write(("c", 1), "here")
    assert (marks.notes, marks.revision) == ({("c", 1): "here"}, 1)
    marks.write(("c", 1), None)
    assert not marks.notes


def test_what_a_person_decided_on_a_frame_is_kept_until_its_capture_goes(store: Store) -> None:
    record(store, [frame(b"1", session=FIRST)]).close()
    save(store, FIRST)
    for call, joined in (("a", True), ("b", False), ("b", True), ("c", False)):
        choose_frame(store, call, ("c1", 1), is_joined=joined)
    choose_frame(store, "a", ("c2", 7), is_joined=True)
    settle(store)
    of_second = {("a", "c2", 7): True}
    of_first = {("a", "c1", 1): True, ("b", "c1", 1): True, ("c", "c1", 1): False}
    assert frame_choices(store, ("c2", "c1")) == of_second | of_first
    delete_session(store, FIRST)
    assert frame_choices(store, ("c2", "c1")) == of_second


# What is old or too much goes, the oldest first, for good; what is in use never does.


NOW = 1_795_268_701_000_000_000


def listed(store: Store) -> list[str]:
    return sorted(info.id for info in store.sessions.list())


def test_what_did_not_change_for_long_goes_with_captures_of_no_session(store: Store, tmp_path: Path) -> None:
    recorder = Recorder(store, Redactor(), capture="idle", clock=FixedClock(wall_ns=NOW - 100_000_000_000))
    for number in range(2500):
        recorder.append(frame(b"never used", connection=f"math#{number % 2}"))
    recorder.close()
    keep_session(store, FIRST, NOW - 50_000_000_000, words=b"canary-old")
    store.sessions.save_message(FIRST, 5, turn=0, text='{"text": "canary-old"}', time_ns=1)
    store.sessions.save_item(FIRST, 0, '{"text": "canary-old"}')
    keep_session(store, SECOND, NOW, words=b"canary-new")
    store.run(lambda connection: connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall())
    before = store.path.stat().st_size
    pruned = prune(store, before_ns=NOW - 10_000_000_000)
    assert [(old.thing, old.name) for old in pruned.gone] == [("capture", "idle"), ("session", FIRST)]
    assert pruned.freed > 10_000
    assert pruned.is_whole
    assert listed(store) == [SECOND]
    files = everything_in(tmp_path)
    assert b"canary-old" not in files
    assert FIRST.encode() not in files
    assert list(store.records(capture="idle")) == []
    assert len(list(store.session_records(SECOND))) == 201, "with the one of its connection before"
    assert store.read("SELECT id FROM captures") == [(f"of {SECOND}",)]
    assert store.read("PRAGMA foreign_key_check") == []
    assert (store.path.stat().st_size < before, store.read("PRAGMA freelist_count")) == (True, [(0,)])


def test_the_oldest_go_until_the_rest_takes_no_more_as_was_told_before(store: Store) -> None:
    for number, session in enumerate((SECOND, FIRST, THIRD)):
        keep_session(store, session, NOW + number, words=b"words")
    size = used_bytes(store)
    would_go = prune(store, max_bytes=size - 1000, dry=True)
    assert ([old.name for old in would_go.gone], would_go.freed > 5000) == ([SECOND], True)
    assert (used_bytes(store), listed(store)) == (size, [FIRST, SECOND, THIRD])
    assert [old.name for old in prune(store, max_bytes=size - 1000).gone] == [SECOND]
    assert listed(store) == [FIRST, THIRD]
    assert used_bytes(store) <= size - 1000
    answers = iter((False, True))
    assert [old.name for old in prune(store, max_bytes=0, stopped=lambda: next(answers)).gone] == [FIRST]
    assert listed(store) == [THIRD], "it was stopped between one and the next"


def test_what_a_running_process_writes_stays_however_old(store: Store) -> None:
    save(store, SECOND, updated=1)
    Recorder(store, Redactor(), capture="mine", clock=FixedClock(wall_ns=1)).append(frame(b"mine"))
    settle(store)
    with another(store.path, FIRST):
        assert prune(store, before_ns=NOW, max_bytes=0).gone == []
    assert [old.name for old in prune(store, before_ns=NOW).gone] == [FIRST]
    assert (listed(store), kept(store, capture="mine")) == ([SECOND], [b"mine"])


def branch_off(store: Store, name: str, turn: int, *shared: SharedPart, updated: int) -> None:
    """Save a branch behind a turn, with one message of its own."""
    facts = json.dumps(asdict(Parent(parent=shared[-1].session, parent_title="title", parent_turn=turn, shared=shared)))
    store.sessions.save(SessionInfo(name, "title", "chat", 1, updated, 0, "demo/openai", "native", facts=facts))
    store.sessions.save_message(name, shared[-1].messages, turn=turn + 1, text=f'{{"own": "{name}"}}', time_ns=updated)
    store.sessions.save_item(name, shared[-1].items, f'{{"own": "{name}"}}')


def test_a_branch_has_what_it_shares_with_older_sessions_and_nothing_that_came_there_later(store: Store) -> None:
    save(store, FIRST, turns=3)
    for number in range(4):
        store.sessions.save_item(FIRST, number, f'{{"turn": {number}}}')
    branch_off(store, SECOND, 2, SharedPart(FIRST, 2, 2, 3), updated=2)
    branch_off(store, THIRD, 3, SharedPart(FIRST, 2, 2, 3), SharedPart(SECOND, 3, 3, 4), updated=3)
    store.sessions.save_message(SECOND, 3, turn=4, text='{"text": "later"}', time_ns=2)
    record(
        store,
        (
            frame(b"start"),
            frame(b"first asks", session=FIRST, turn=2),
            frame(b"log between turns"),
            frame(b"first asks on", session=FIRST, turn=3),
            frame(b"log in the later turn"),
            frame(b"first done", session=FIRST, turn=3),
            frame(b"second asks", session=SECOND, turn=3),
            frame(b"third asks", session=THIRD, turn=4),
        ),
    )
    settle(store)

    second, third = f'{{"own": "{SECOND}"}}', f'{{"own": "{THIRD}"}}'
    assert store.sessions.messages(THIRD) == ['{"turn": 1}', '{"turn": 2}', second, third]
    assert store.sessions.messages(THIRD, before=3) == ['{"turn": 1}', '{"turn": 2}', second]
    assert store.session_items(THIRD) == ['{"turn": 0}', '{"turn": 1}', '{"turn": 2}', second, third]
    assert store.session_items(THIRD, beginning='{"own', most=1) == [second]
    assert exported(store, THIRD) == ([b"start"], [b"first asks", b"log between turns", b"second asks", b"third asks"])
    parent = store.sessions.find(THIRD).parent
    assert parent is not None
    assert (parent.parent, parent.words()) == (SECOND, "branch of «title» at turn 3")
    found = [[match.session.id for match in search_chats(store, words)] for words in ("title", THIRD, "later")]
    assert found == [[FIRST], [THIRD], [SECOND]], "what is shared is found in the first alone"


def test_a_session_whose_turns_branches_share_is_deleted_behind_them(store: Store) -> None:
    save(store, FIRST, turns=3, updated=1)
    branch_off(store, SECOND, 2, SharedPart(FIRST, 2, 2, 0), updated=5)
    branch_off(store, THIRD, 1, SharedPart(FIRST, 1, 1, 0), updated=9)
    for session in (FIRST, SECOND, THIRD):
        store.sessions.release(session)
    settle(store)
    with pytest.raises(TuiHostError, match=f"2 branches share its turns: {SECOND}, {THIRD}.*delete them first"):
        delete_session(store, FIRST)
    for is_dry in (True, False):
        assert [old.name for old in prune(store, before_ns=6, dry=is_dry).gone] == [SECOND]
    assert store.sessions.messages(THIRD) == ['{"turn": 1}', f'{{"own": "{THIRD}"}}']
    assert [old.name for old in prune(store, before_ns=10).gone] == [THIRD, FIRST]
