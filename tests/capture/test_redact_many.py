"""Of many credentials, one after the other, none is kept because others came before its record was looked through."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.capture.drafts import everything_in
from tui_host.capture.record import Draft, Head
from tui_host.capture.recorder import Recorder
from tui_host.capture.redact.by_value import LEARNED_MOST
from tui_host.capture.redact.login_exchanges import without_credentials
from tui_host.capture.redact.redaction import Redactor
from tui_host.capture.store.pending_records import AT_ONCE, Slot, finish_all
from tui_host.capture.store.store import Store

KEYS = [f"sk-of-somebody-{number:08d}" for number in range(LEARNED_MOST + 16)]


class Nobody:
    """A source whom nothing is told."""

    def take(self) -> list[Slot]:
        return []

    def settled(self, seq: int, fault: str) -> None:
        del seq, fault

    def refused(self) -> None:
        pass


def asking(key: str) -> Draft:
    return Draft(wire="llm", kind="request", head=Head(method="POST", headers=(("Authorization", f"Bearer {key}"),)))


def answers(key: str) -> list[Draft]:
    return [
        Draft(wire="llm", kind="response", head=Head(status=200, headers=(("X-Debug", key),))),
        Draft(wire="llm", kind="chunk", data=b'{"you": "%s"}' % key.encode()),
        Draft(wire="llm", kind="chunk", malformed=f"it ends with {key}"),
    ]


@pytest.mark.parametrize("more", [0, pytest.param(AT_ONCE, marks=pytest.mark.exhaustive)], ids=["", "of many bytes"])
def test_a_record_is_looked_through_for_what_was_known_when_it_came(more: int) -> None:
    redactor = Redactor()
    slots: list[Slot] = []
    for key in KEYS:
        head = asking(key).head
        assert head is not None
        redactor.learn(head)
        slots += [Slot("c", 1, 0, 0, draft, Nobody(), redactor, more) for draft in answers(key)]
    finish_all(slots)

    mark = "⟨secret:authorization⟩"
    expected = [Draft(wire=each.wire, kind=each.kind, head=each.head) for each in answers(mark)]
    for at, slot in enumerate(slots):
        kept = slot.draft
        assert (kept.head, kept.malformed) == (expected[at % 3].head, f"it ends with {mark}" if at % 3 == 2 else None)
        assert kept.data == (f'{{"you": "{mark}"}}'.encode() if at % 3 == 1 else b"")
        assert slot.redactor is None


@pytest.mark.exhaustive
def test_what_one_of_many_hosts_is_told_of_its_key_is_in_no_file_of_the_data_folder(tmp_path: Path) -> None:
    store = Store.open(tmp_path / "tui-host.db")
    recorder = Recorder(store, Redactor(), capture="c")
    for key in KEYS:
        for draft in (asking(key), *answers(key)):
            recorder.append(draft)
    assert recorder.close(50)
    store.close()
    kept = everything_in(tmp_path)
    assert b"sk-of-somebody" not in kept


def test_a_host_s_key_is_known_also_where_its_request_has_those_of_forty_servers() -> None:
    redactor = Redactor()
    head = asking(KEYS[0]).head
    assert head is not None
    redactor.learn(head)
    tools = [
        {"type": "mcp", "server_url": "https://a/", "authorization": f"tool-key-{number}-abc"} for number in range(40)
    ]
    body = json.dumps({"tools": tools}).encode()
    without_credentials(Draft(wire="llm", kind="request", head=head, data=body), redactor.learn_value)
    kept = redactor.draft(Draft(wire="llm", kind="chunk", data=f"no such key: {KEYS[0]}".encode()))
    assert KEYS[0].encode() not in kept.data


def test_what_is_known_again_by_the_name_that_it_was_given_goes_by_that() -> None:
    redactor = Redactor()
    head = asking(KEYS[0]).head
    assert head is not None
    redactor.learn(head)
    slot = Slot("c", 1, 0, 0, answers(KEYS[0])[1], Nobody(), redactor)
    redactor.add("API_KEY", KEYS[0])
    finish_all([slot])
    assert slot.draft.data == '{"you": "⟨secret:API_KEY⟩"}'.encode()
