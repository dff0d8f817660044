"""Files as large as people have them: what one more record costs does not grow with those before it, whatever repeats in them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.opening.captured import ASK, CHAT, PIECE
from tests.opening.imports import exported, written
from tests.steps import steps
from tui_host.capture.redact.redaction import Redactor
from tui_host.capture.store.store import Store
from tui_host.opening import importing
from tui_host.opening.importing import import_files

ANSWER = json.dumps({"jsonrpc": "2.0", "id": 1, "result": {}})
LOGS = {
    "calls of one id that nobody answers": [f">>> {json.dumps(ASK)}"],
    "calls of one id, each answered": [f">>> {json.dumps(ASK)}", f"<<< {ANSWER}"],
    "requests that say the same": [json.dumps(CHAT)],
    "exchanges that say the same": [json.dumps(CHAT), f"data: {json.dumps(PIECE)}", "data: [DONE]"],
}


@pytest.mark.exhaustive
@pytest.mark.parametrize("name", LOGS)
def test_twice_as_long_a_log_takes_twice_as_many_steps_however_its_records_are_alike(tmp_path: Path, name: str) -> None:
    def taken(size: int) -> int:
        store = Store.open(tmp_path / f"{size}" / "tui-host.db")
        log = written(tmp_path, f"{size}.log", "\n".join(LOGS[name] * (size // len(LOGS[name]))))
        found = steps(lambda: import_files(store, [log], Redactor()))
        store.close()
        return found

    taken(30)  # what is read once in a process's life
    assert taken(900) < 2.3 * taken(450)


def test_a_chat_that_tells_the_beginning_alone_ends_with_a_line_that_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = Store.open(tmp_path / "tui-host.db")
    asked = [json.dumps({"model": "m", "messages": [{"role": "user", "content": f"question {i}"}]}) for i in range(9)]
    log = written(tmp_path, "model.log", "\n".join(asked))
    own = written(tmp_path, "own.jsonl", exported(store, import_files(store, [log], Redactor()).id))
    for path in (log, own):
        whole = import_files(store, [path], Redactor())
        monkeypatch.setattr(importing, "JOINED_LIMIT", 4 * len(asked[0]))
        part = import_files(store, [path], Redactor())
        monkeypatch.undo()
        before, after = ([json.loads(text) for text in store.sessions.item_texts(each.id)] for each in (whole, part))
        assert after[-1]["item"] == "note"
        assert "The chat tells the first" in after[-1]["what"]
        assert sum(item["item"] == "user" for item in before) == 9
        assert 0 < sum(item["item"] == "user" for item in after) < 9
        assert (whole.notices, part.notices) == ((), (importing.TOLD_IN_PART,))
    store.close()
