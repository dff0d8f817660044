"""Objects that hold an exchange whose bodies a logger cut: each is one exchange, and what is cut of it is called so."""

from __future__ import annotations

import json

import pytest

from tests.capture.captured import WHOLE
from tests.opening.test_imports_cut import ASKED, bodies, reading_of
from tests.opening.test_imports_cut_streams import ends, pieces_of
from tui_host.capture.http.exchange_end import CUT
from tui_host.errors import JSON

BODY, ANSWER = json.dumps(ASKED), json.dumps(WHOLE)
STREAM = "".join(f"data: {piece}\n\n" for piece in pieces_of())


def exchanges(*pairs: tuple[JSON, JSON], **more: JSON) -> str:
    """A line for each pair of a request and its answer."""
    lines = [{"ts": "2026-11-20T14:02:07Z", **more, "request": asked, "response": said} for asked, said in pairs]
    return "".join(f"{json.dumps(line)}\n" for line in lines)


@pytest.mark.parametrize("said", [ANSWER, STREAM, ANSWER[:95], STREAM[:70], STREAM[:30]])
def test_a_request_that_is_cut_stands_before_the_answer_beside_it(said: str) -> None:
    reading, found = reading_of(exchanges((BODY[:300], said), (BODY[:200], said)))
    assert [each.draft.malformed for each in found if each.draft.kind == "request"] == [CUT, CUT]
    assert bodies(found, "request") == [BODY[:300].encode(), BODY[:200].encode()]
    assert [data.strip() for data in bodies(found, "chunk")] == [said.strip().encode()] * 2
    asked = [each.draft.exchange for each in found if each.draft.kind == "request"]
    assert [each.draft.exchange for each in found if each.draft.kind == "chunk"] == asked
    assert len(set(asked)) == 2
    assert "first in line 1: shown up to there" in reading.notes.told[0]


def test_an_answer_that_is_cut_is_no_text_of_the_models() -> None:
    _, found = reading_of(exchanges((BODY, ANSWER[:95]), (ASKED, ANSWER[:95])))
    assert [each.strip() for each in bodies(found, "chunk")] == [ANSWER[:95].encode()] * 2
    assert ends(found) == [CUT, CUT]


@pytest.mark.parametrize("url", ["https://api.anthropic.com/v1/messages", "http://127.0.0.1:8000/"])
def test_the_address_in_an_object_tells_what_a_request_is_that_is_cut_before_it_shows(url: str) -> None:
    asked = json.dumps({"max_tokens": 9, "system": "x" * 400, "messages": [], "model": "m"})[:200]
    is_told = url.endswith("messages")
    answer = json.dumps({"type": "message", "role": "assistant", "content": []})
    _, found = reading_of(exchanges((asked, answer), url=url))
    assert bodies(found, "request") == [asked.encode() if is_told else b""]


def test_what_shows_how_a_body_begins_beside_it_is_no_other_body() -> None:
    for names in (("request", "preview"), ("preview", "request")):
        both: dict[str, JSON] = dict(
            zip(names, (ASKED, BODY[:120]) if names[0] == "request" else (BODY[:120], ASKED), strict=True)
        )
        reading, found = reading_of(f"{json.dumps({**both, 'response': WHOLE, 'response_text': ANSWER[:60]})}\n")
        assert [json.loads(data) for data in (*bodies(found, "request"), *bodies(found, "chunk"))] == [ASKED, WHOLE]
        assert not reading.notes.told


def test_a_text_that_is_cut_and_of_no_wire_is_no_request() -> None:
    line = json.dumps({"level": "info", "data": '{"user": "me", "what": {"a": ["b'})
    reading, found = reading_of(f"{line}\n> {BODY}\n")
    assert bodies(found, "request") == [BODY.encode()]
    assert reading.notes.words == "lines that are of neither wire (1, first line 1)"
