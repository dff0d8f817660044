"""A turn with a tool in every dialect: over a socket, with a server's result, and each link at the bytes that it names."""

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from tests.chat.bench import Answers, Bench, chain, made, text_output
from tests.kit.peer import head, peer
from tests.llm.recorded import anthropic
from tests.llm.recorded.asks import EVERY
from tests.llm.recorded.case import TEXT, THOUGHT, WEATHER, Recorded
from tui_host.capture.ladder.ladder import Ladder
from tui_host.chat.conversation import AnswerItem, CallItem, SummaryItem, UserItem
from tui_host.chat.policy import Approver, Policy
from tui_host.chat.queued_messages import Queued
from tui_host.chat.stored_messages import message_from_text, message_to_text
from tui_host.chat.turn_result import TurnResult
from tui_host.errors import JSON
from tui_host.llm.dialects.table import dialect
from tui_host.llm.messages import Ask, Thinking
from tui_host.llm.outgoing import Target
from tui_host.llm.schema_adaptation import adapt
from tui_host.settings.model_options import Options
from tui_host.settings.schema import ModelRef

OBJECT: JSON = {"type": "object"}
each_dialect = pytest.mark.parametrize("recorded", EVERY.values(), ids=EVERY)


def heard(recorded: Recorded, body: bytes) -> list[bytes]:
    """An answer on the wire; the tool is one that is offered."""
    kind = "application/x-ndjson" if recorded.is_in_lines else "text/event-stream"
    called = body.replace(WEATHER[0].encode(), b"math__add")
    return [head(kind=kind), called[:50], called[50:]]


async def asked(
    recorded: Recorded,
    tmp_path: Path,
    *answers: bytes,
    options: Options | None = None,
    approver: Approver | None = None,
    schema: JSON = OBJECT,
    queued: Sequence[Queued] = (),
) -> tuple[Bench, Sequence[bytes], str | None]:
    async with peer(*(heard(recorded, body) for body in answers)) as there:
        at = made(there.url, tmp_path, policy=Policy((), allow_all=approver is None), approver=approver)
        at.speaking(recorded.dialect)
        at.session.model = ModelRef(provider="demo", model="m")
        at.session.options = options or Options()
        at.session.queued[:] = queued
        at.pool.offered[0] = replace(at.pool.offered[0], schema=schema, fingerprint="add", description="Adds.")
        at.pool.gives = text_output("21 C")
        result = await at.ask("weather?")
        await at.services.client.aclose()
    return at, there.bodies, result.answer


@each_dialect
async def test_a_tool_is_asked_for_run_told_and_linked_at_the_very_bytes(recorded: Recorded, tmp_path: Path) -> None:
    at, bodies, answer = await asked(recorded, tmp_path, recorded.thinking.body, recorded.text.body)
    assert (answer, at.pool.sent) == (TEXT, [("math.add", WEATHER[1].encode())])
    assert b"21 C" in bodies[1]
    echoes = [echo.replace(WEATHER[0].encode(), b"math__add") for echo in recorded.thinking.echoes]
    assert not [echo for echo in echoes if echo not in bodies[1]]
    assert bodies[1].startswith(bodies[0].rstrip(b"]}"))
    (called,), (told,) = at.linked("asked"), at.linked("told")
    assert (b"math__add" in called, THOUGHT.encode() in called) == (True, False)
    assert isinstance(json.loads(told), dict)
    assert (b"21 C" in told, b"weather?" in told) == (True, False)
    steps = chain(at, dialect=recorded.dialect)
    assert ("Paris" in steps["asked"].value, "21 C" in steps["told"].value, TEXT in steps["said"].value) == (True,) * 3
    assert (bool(steps["asked"].pieces), bool(steps["told"].pieces)) == (True, True)
    assert steps["decided"].state == "unchanged"
    # What is kept of an answer is sent as if it had never been away.
    kept = [message_from_text(message_to_text(message)) for message in at.session.messages]
    messages = tuple(message for message in kept if message is not None)
    asks = [Ask(model="m", messages=each) for each in (messages, tuple(at.session.messages))]
    again, first = (dialect(recorded.dialect).writer(ask, Target(provider="demo")).outgoing() for ask in asks)
    assert (again, len(messages)) == (first, len(tuple(at.session.messages)))
    assert THOUGHT in [part.text for part in messages[1].parts if isinstance(part, Thinking)]


@each_dialect
async def test_what_is_said_for_the_next_step_stands_behind_its_results(recorded: Recorded, tmp_path: Path) -> None:
    queued = [Queued(text="in °F", joins_step=True), Queued(text="later"), Queued(text="please", joins_step=True)]
    at, bodies, answer = await asked(recorded, tmp_path, recorded.thinking.body, recorded.text.body, queued=queued)
    written = json.loads(bodies[1])
    *_, results, said = next(written[name] for name in ("messages", "input", "contents") if name in written)
    if recorded.dialect == "anthropic":
        assert [block["type"] for block in said["content"]] == ["tool_result", "text", "text"]
        results = said
    assert (said["role"], "21 C" in json.dumps(results)) == ("user", True)
    words = json.dumps(said, ensure_ascii=False)
    assert words.index("in °F") < words.index("please")
    assert b"later" not in bodies[1]
    assert (answer, at.session.queued) == (TEXT, [Queued(text="later")])
    assert [item.text for item in at.items(UserItem)] == ["weather?", "in °F", "please"]
    assert [type(item) for item in at.session.conversation][-4:-1] == [UserItem, UserItem, AnswerItem]
    (told,) = at.linked("told")
    assert (b"21 C" in told, b"please" in told) == (True, False)


@each_dialect
async def test_an_edited_call_stays_as_written_and_its_result_says_what_ran(recorded: Recorded, tmp_path: Path) -> None:
    answers = (recorded.thinking.body, recorded.text.body)
    unedited, _, _ = await asked(recorded, tmp_path, *answers)
    edits = Answers(lambda question: question.approve(edited=b'{"city":"Lyon"}'))
    at, bodies, _ = await asked(recorded, tmp_path, *answers, approver=edits)
    assert at.pool.sent == [("math.add", b'{"city":"Lyon"}')]
    assert at.told() == ['edited by the user: ran with {"city":"Lyon"}\n21 C']
    said = json.dumps(at.told()[0])[1:-1].encode()
    assert (bodies[1].count(said), bodies[1].replace(said, b"21 C")) == (1, unedited.requests()[1])
    assert at.items(CallItem)[0].result == "21 C"


async def test_properties_in_another_script_are_renamed_for_the_vendor_and_named_back(tmp_path: Path) -> None:
    schema: JSON = {"type": "object", "properties": {"城市": {"type": "string", "description": "哪个城市"}}}
    (name,) = adapt(schema, dialect("anthropic").writer.rules).names
    recorded = EVERY["anthropic"]
    called = recorded.tools.body.replace(rb"{\"cit", b"{").replace(rb"y\":", rf"\"{name}\":".encode())
    at, bodies, _ = await asked(recorded, tmp_path, called, recorded.text.body, schema=schema)
    assert at.pool.sent == [("math.add", '{"城市":"Paris"}'.encode())]
    (tool,) = [tool for tool in json.loads(bodies[0])["tools"] if tool["name"] == "math__add"]
    assert tool["input_schema"]["properties"] == {name: {"type": "string", "description": "城市: 哪个城市"}}
    (link,) = [link for link in at.links() if link.relation == "adapted"][:1]
    assert link.words == "adapted for anthropic: renamed properties"
    assert json.loads(link.span.pieces(bodies[0])[0]) == tool
    assert name.encode() in bodies[1], "the model's own call stays as it wrote it"


async def test_an_answer_that_its_provider_paused_goes_on_from_all_of_it(tmp_path: Path) -> None:
    search: dict[str, JSON] = {"type": "server_tool_use", "id": "srv_1", "name": "web_search", "input": {"query": "x"}}
    paused = anthropic.began() + anthropic.opened(0, search) + anthropic.closed(0) + anthropic.finished("pause_turn")
    recorded = EVERY["anthropic"]
    at, bodies, answer = await asked(recorded, tmp_path, paused + anthropic.STOP, recorded.text.body)
    assert answer == TEXT
    assert json.loads(bodies[1])["messages"][1:] == [{"role": "assistant", "content": [search]}]
    assert at.notes() == [
        "demo ran its own web_search: x / ",
        "the provider paused (pause_turn); asked it to continue / ",
    ]
    (link,) = [link for link in at.links() if link.relation == "vendor"]
    assert b"content_block_stop" in b"".join(link.span.pieces(paused)), "then all of it was there"
    ladder = Ladder()
    ladder.feed(at.records)
    (row,) = [row for row in ladder.rows if row.kind == "vendor"]
    assert (row.lane, row.words, row.turn, row.step) == ("llm", "ran its own web_search: x", 1, 1)


@each_dialect
async def test_what_was_reported_of_tokens_and_time_is_told_to_everybody(recorded: Recorded, tmp_path: Path) -> None:
    at, _, _ = await asked(recorded, tmp_path, recorded.usage.body)
    used = recorded.usage.usage
    (summary,) = at.items(SummaryItem)
    assert used is not None
    assert (summary.tokens_in, summary.tokens_cached) == (used.input_total, used.input_cached)
    assert (summary.tokens_out, summary.tokens_thinking) == (used.output_total, used.reasoning)
    told = TurnResult(turn=1, usage=[used, used]).usage_json()
    assert list(told)[:2] == ["input", "output"]
    for key, name in {"cached": "input_cached", "cache_written": "cache_written", "writing": "writing"}.items():
        reported = getattr(used, name)
        assert told.get(key) == (None if reported is None else round(2 * reported, 9))


@pytest.mark.parametrize(("name", "room", "count"), [("ollama", 126, 1), ("ollama", 200, 0), ("openai", 126, 0)])
async def test_a_prompt_that_fills_a_window_is_doubted_once(name: str, room: int, count: int, tmp_path: Path) -> None:
    options = Options(others={"num_ctx": room})
    answers = (EVERY[name].thinking.body, EVERY[name].usage.body)
    at, _, _ = await asked(EVERY[name], tmp_path, *answers, options=options)
    assert len(at.notes()) == count
    for note in at.notes():
        what, _, remedy = note.partition(" / ")
        assert what == "the prompt filled 120 of 126 tokens: the server may have cut it silently"
        assert "options.num_ctx" in remedy
