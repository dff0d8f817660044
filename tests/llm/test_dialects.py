"""What every dialect reads and writes, by what its vendor sends: the description's table, a test for each column."""

import json
import os
import random
import re
from itertools import pairwise
from pathlib import Path

import pytest

from tests.llm.recorded.asks import EVERY, NAMES, TOOLS, answered, asks, assistant, loop, told, user, written
from tests.llm.recorded.case import MODEL, PROVIDER, Recorded, events_of, fold_of, means, said
from tui_host.errors import JSON
from tui_host.llm.dialects.table import DIALECTS, dialect
from tui_host.llm.events import ModelEvent, Stopped, UsageReported
from tui_host.llm.fold import Fold
from tui_host.llm.layout import outline_of
from tui_host.llm.messages import Ask, Image, Message, Text, ToolCall, ToolResult
from tui_host.llm.outline import Part, PartKind

GOLDEN = Path(__file__).parent.parent / "golden" / "requests"

each_dialect = pytest.mark.parametrize("recorded", [EVERY[name] for name in DIALECTS], ids=DIALECTS)


@each_dialect
def test_an_answer_says_what_it_says(recorded: Recorded) -> None:
    for what, case in {**recorded.cases(), "whole": recorded.whole}.items():
        assert said(fold_of(recorded.dialect, case.body)) == means(case), what


@each_dialect
@pytest.mark.parametrize(
    "what",
    ["thinking", *(pytest.param(what, marks=pytest.mark.exhaustive) for what in ("text", "parallel", "failing"))],
)
def test_a_stream_means_the_same_cut_at_every_byte(recorded: Recorded, what: str) -> None:
    body = recorded.cases()[what].body
    whole = events_of(recorded.dialect, [body])
    apart = 40  # bytes: fewer than an event has
    for first in range(1, apart + 1):  # each byte is a cut's place in one of the rounds
        places = [0, *range(first, len(body), apart), len(body)]
        assert events_of(recorded.dialect, [body[start:end] for start, end in pairwise(places)]) == whole


ODD: tuple[JSON, ...] = (None, True, 7, -1, 1e300, "x", "", [], {}, [7], [None, {}], {"type": 7}, "\ud83d")


@each_dialect
def test_whatever_stands_where_something_else_is_expected_the_answer_has_an_end(recorded: Recorded) -> None:
    chance = random.Random(5)  # noqa: S311 - for places to try, always the same
    bodies = [case.body for case in (*recorded.cases().values(), recorded.whole)]
    for _ in range(60):
        body = chance.choice(bodies)  # with one value in it, or one name, replaced by an odd one
        place = chance.choice(list(re.finditer(rb'"(?:[^"\\]|\\.)*"|\b\d+|null|true|false|\{\}|\[\]', body)))
        body = body[: place.start()] + json.dumps(chance.choice(ODD)).encode() + body[place.end() :]
        found = events_of(recorded.dialect, [body])
        assert [type(event) for event in found].count(Stopped) == 1
        assert isinstance(found[-1], Stopped)
        assert all(0 <= event.start <= event.end <= len(body) for event in found)
        fold = Fold(provider=PROVIDER, model=MODEL, call_id=str)
        for event in found:
            fold.add(event)
        answer = fold.message(turn=1)
        for name in EVERY:  # what came can be sent back, to whomever
            written(name, Ask(model=MODEL, messages=(user("weather?"), answer, answered(answer))))


@each_dialect
@pytest.mark.parametrize("what", ["text", "parallel"])
def test_a_stream_that_breaks_off_is_cut_until_its_end_has_come(recorded: Recorded, what: str) -> None:
    case = recorded.cases()[what]
    first = case.body.index(b"}\n")
    stops: list[str] = []
    for size in range(first, len(case.body), 2):
        found = events_of(recorded.dialect, [case.body[:size]])
        assert [type(one) for one in found].count(Stopped) == 1
        last = found[-1]
        assert isinstance(last, Stopped)
        stops.append(last.stop)
    cut = stops.count("cut")
    assert stops == ["cut"] * cut + [case.stop] * (len(stops) - cut)
    assert fold_of(recorded.dialect, case.body[: first + 2 * (cut - 1)]).text == case.text


@each_dialect
@pytest.mark.parametrize("what", ["text", "tools", "parallel", "thinking", "usage", "failing", "whole"])
def test_each_event_points_at_the_bytes_that_it_came_from(recorded: Recorded, what: str) -> None:
    body = recorded.whole.body if what == "whole" else recorded.cases()[what].body
    for event in events_of(recorded.dialect, [body]):
        piece = body[event.start : event.end].decode()
        assert not piece.startswith("\n")
        for words in _words_of(event):
            assert words in piece or json.dumps(words, ensure_ascii=False)[1:-1] in piece


def _words_of(event: ModelEvent) -> list[str]:
    if isinstance(event, UsageReported):
        count = event.usage.reasoning or event.usage.output_total  # which one vendor counts in two
        return [] if count is None else [str(count)]
    return [str(getattr(event, name, "")) for name in ("text", "name", "wire_id", "message")]


@each_dialect
def test_what_is_no_answer_is_told(recorded: Recorded) -> None:
    for body, stop, words in (
        (b"", "cut", ""),
        (b"<html>Sign in</html>", "failed", "a page of HTML"),
        (b"hello\n\n", "failed", "no answer can be read"),
        (b'{"hello":1}\n', "failed", "no answer"),
        (b'{"error":{"message":"it broke"}}', "failed", "it broke"),
        (b'{"error":"it broke"}', "failed", "it broke"),
        (b'{"type":"error","error":{"type":"api_error","message":"it broke"}}\n', "failed", "it broke"),
        (b'{"choices', "cut", ""),
    ):
        fold = fold_of(recorded.dialect, body)
        assert (fold.stop, words in fold.failure) == (stop, True), body


@each_dialect
@pytest.mark.parametrize(("provider", "model"), [("other", MODEL), (PROVIDER, "other")])
def test_what_is_demanded_back_goes_to_nobody_else(recorded: Recorded, provider: str, model: str) -> None:
    body = written(recorded.dialect, Ask(model=model, messages=loop(recorded), tools=TOOLS), provider)
    assert not [echo for echo in recorded.thinking.echoes if echo in body]
    assert recorded.thinking.calls[0][0].encode() in body


@each_dialect
def test_ids_of_other_vendors_are_made_fit_and_lead_from_the_result_to_its_call(recorded: Recorded) -> None:
    wire_ids = ("", "call:1/2", "same", "same", "x" * 300)
    calls = tuple(ToolCall(id=f"t1c{n}", wire_id=own, name=f"t{n}", arguments="") for n, own in enumerate(wire_ids))
    results = tuple(ToolResult(call=call, content=(Text(text=call.id),)) for call in calls)
    body = written(recorded.dialect, Ask(model=MODEL, messages=(user("x"), assistant(*calls), told(*results))))
    ids = [part.wire_id for part in _parts(recorded, body, "call")]
    assert [(part.name, part.wire_id) for part in _parts(recorded, body, "result")] == [
        (call.name, wire_id) for call, wire_id in zip(calls, ids, strict=True)
    ]
    assert recorded.dialect != "ollama" or not ids[0]  # which gives ids or does without
    given = [wire_id for wire_id in ids if wire_id]
    assert len(set(given)) == len(given) >= 4
    longest = 256 if recorded.dialect == "gemini" else 64
    assert all(len(wire_id) <= longest and re.fullmatch(r"[\x21-\x7e]+", wire_id) for wire_id in given)
    assert recorded.dialect != "anthropic" or all(re.fullmatch("[A-Za-z0-9_-]+", wire_id) for wire_id in ids)


@each_dialect
def test_an_image_that_its_service_would_refuse_is_told_of_in_its_place(recorded: Recorded) -> None:
    odd = Image(media_type="image/svg+xml", data="PHN2Zy8+")
    asked = Message(role="user", parts=(Text(text="and this?"), odd))
    messages = *loop(recorded, odd), assistant(Text(text="Here.")), asked
    body = written(recorded.dialect, Ask(model=MODEL, messages=messages))
    assert b"PHN2Zy8+" not in body
    assert body.count(b"(an image of the type image/svg+xml, which this model's API does not take)") == 2
    assert not _parts(recorded, body, "image")


def _parts(recorded: Recorded, body: bytes, kind: PartKind) -> list[Part]:
    outline = outline_of(body, NAMES)
    assert outline is not None
    return [part for part in outline.walk() if part.kind == kind]


@each_dialect
def test_a_request_is_read_as_what_it_was_written_from(recorded: Recorded) -> None:
    body = written(recorded.dialect, Ask(model=MODEL, messages=loop(recorded), tools=TOOLS))
    outline = outline_of(body, NAMES)
    assert outline is not None
    assert [(part.name, part.origin) for part in outline.walk() if part.kind == "tool"] == [
        (tool.name, tool.server) for tool in TOOLS
    ]
    (call,) = _parts(recorded, body, "call")
    (result,) = _parts(recorded, body, "result")
    assert (call.name, call.origin, "Paris" in call.preview) == ("get_weather", "model", True)
    assert (result.name, result.origin, result.preview) == ("get_weather", "weather", "20 C")
    assert len(_parts(recorded, body, "thinking")) >= 1
    for part in outline.walk():
        json.loads(outline.bytes_of(part))
        assert part.tokens > 0
        assert all(part.start <= child.start < child.end <= part.end for child in part.children)


@each_dialect
@pytest.mark.parametrize("name", ["first", "tools", "loop", "images", "errors", "whole"])
def test_a_request_is_these_bytes(recorded: Recorded, name: str) -> None:
    body = written(recorded.dialect, asks(recorded)[name])
    golden = GOLDEN / f"{recorded.dialect}-{name}.json"
    if os.environ.get("UPDATE_REQUESTS"):
        golden.parent.mkdir(exist_ok=True)
        golden.write_bytes(body + b"\n")
    assert body == golden.read_bytes().rstrip(b"\n")


@each_dialect
def test_models_and_refusals_are_read(recorded: Recorded) -> None:
    spoken = dialect(recorded.dialect)
    assert tuple(spoken.models(recorded.models)) == ("model-a", "model-b")
    assert [spoken.models(body) for body in (b"", b"7", b"<html>", b'{"data":null}', b'{"models":[7]}')] == [{}] * 5
    error = spoken.error(404, (), recorded.refusal)
    assert "no such model" in error.what
    assert error.status == 404
