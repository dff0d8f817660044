"""The rows that a person marked: kept by session, in order, with their notes, and gone with their session."""

from __future__ import annotations

from pathlib import Path

from tests.capture.drafts import SESSION
from tests.capture.kept_forms import fill
from tui_host.capture.redact.redaction import Redactor
from tui_host.capture.store.row_marks import RowMarks
from tui_host.capture.store.store import Store


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


def test_without_a_store_marks_last_as_long_as_they_are_held() -> None:
    marks = RowMarks(None, SESSION)
    marks.write(("c", 1), "here")
    assert (marks.newest_first, marks.note(("c", 1)), marks.revision) == ([("c", 1)], "here", 1)
    marks.toggle(("c", 1))
    assert not marks.newest_first
