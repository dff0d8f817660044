"""Requests that are read one after the other: what is known again says what it would say if it were read for the first time."""

from __future__ import annotations

import pytest

from tests.infer.forms import FORMS
from tests.kit.bodies import Answer, Call, Entry, Results, User
from tui_host.infer.conversations.request_messages import RequestReader
from tui_host.llm.dialects.table import dialect_at


@pytest.mark.parametrize("name", FORMS)
def test_a_request_says_the_same_whatever_was_read_before_it(name: str) -> None:
    form = FORMS[name]
    dialect = dialect_at(form.url)
    assert dialect is not None
    call = Call("id-1", "math__add", {"a": 1, "b": 2})
    other = Call("id-2", "math__add", {"a": 3, "b": 4})
    talk: list[Entry] = [User("one?"), Answer("", [call]), Results([(call, "3")]), Answer("three"), User("and four?")]
    talk += [Answer("Let me see.", [other]), Results([(other, "7 é\n")]), Answer("seven")]
    bodies = [form.request(talk[:count]) for count in (1, 3, 5, 7)]
    bodies += [form.request([User("two?"), *talk[1:3]]), bodies[2], bodies[2].replace(b"{", b"{ ", 1), b"[", b"{}"]
    bodies += [bodies[3][:-1] + b',"messages":[{"role":"user","content":"once more"}]}', bodies[3]]
    hearing = RequestReader()
    for body in bodies:
        assert hearing.read(dialect, body) == RequestReader().read(dialect, body)
    last = hearing.read(dialect, bodies[-1])
    whole = RequestReader().read(dialect, bodies[-1])
    for message in last.messages:
        for piece in message.of("text"):
            assert bodies[-1][piece.start : piece.end].decode().startswith('"')
    assert [message.role for message in whole.messages] == ["user", "model"] * 3 + ["user"]
