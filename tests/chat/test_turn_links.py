"""A call is linked by exact bytes, from where it was asked to where its result is told; `bench` looks at every link after each test."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

import anyio
from anyio.abc import ByteStream

from tests.answers.chained import steps_of
from tests.chat.bench import PATIENCE, SECRET, Answers, text_output
from tests.chat.conftest import Make
from tests.llm.peer import head, peer, saying
from tests.llm.streams import DONE, calls, chunk, fragment
from tui_host.capture.ladder.ladder import Ladder
from tui_host.capture.record import Record
from tui_host.chat.policy import Question
from tui_host.host.host import Host
from tui_host.settings.load import Overrides, load

TWO = 'call math.add {"a": 1, "b": 2}\ncall math.multiply {"a":3,"b":4}'


async def test_what_was_edited_rejected_or_invalid_is_linked_as_the_model_asked_it(bench: Make) -> None:
    def answer(question: Question) -> None:
        if question.request.tool.name == "add":
            question.approve(edited=b'{"a":5,"b":5}')
        else:
            question.reject("too many")

    at = bench(approver=Answers(answer))
    await at.ask(TWO)
    await at.ask('raw call math.add {"a": 1,')
    await at.ask("hello")
    decisions = [(decision["tool"], decision["decision"]) for decision in at.decisions()]
    asked = [link.words for link in at.links() if link.relation == "asked"]
    told = [link.words for link in at.links() if link.relation == "told"]
    assert decisions == [("add", "edited"), ("multiply", "rejected"), ("add", "invalid")]
    assert asked == ['{"a": 1, "b": 2}', '{"a":3,"b":4}', '{"a": 1,']
    assert told[0] == 'edited by the user: ran with {"a":5,"b":5}␊10'
    assert told[1].endswith("The user's reason: too many")
    assert told[2].endswith("Nothing was run.")


async def test_spans_count_in_what_is_kept_where_a_secret_was_taken_out(bench: Make) -> None:
    text = f'{{"a": 1, "b": 2, "password": "{SECRET}"}}'
    first = [
        chunk({"content": f"I use {SECRET} for it"}),
        calls(fragment(index=0, wire_id="x", name="math__add", arguments=text)),
        calls(fragment(index=1, wire_id="y", name="math__multiply", arguments='{"a": 1, "b": 2}')),
        DONE,
    ]
    answers = iter([first, [chunk({"content": "done"}), DONE]])

    async def script(stream: ByteStream) -> None:
        await saying(head(), *next(answers))(stream)

    async with peer(script) as there:
        at = bench(yes=True, url=there.url)
        at.pool.gives = text_output(f"the password is {SECRET}, of course")
        await at.ask("go")
    assert at.pool.sent[0][1] == text.replace(": ", ":").replace(", ", ",").encode()
    assert not any(SECRET.encode() in record.draft.data for record in at.records)
    assert len(at.links()) == 4


async def test_a_result_is_told_until_an_answer_has_come(bench: Make) -> None:
    asks = [calls(fragment(index=0, wire_id="x", name="math__add", arguments='{"a":1,"b":2}')), DONE]
    answers = iter(
        [
            [head(), *asks],
            [head("429 Too Many Requests", kind="application/json"), b'{"error":{"message":"slow down"}}'],
            [head(), *asks],
            [head(), chunk({"content": "3 and 3"}), DONE],
        ]
    )

    async def script(stream: ByteStream) -> None:
        await saying(*next(answers))(stream)

    async with peer(script) as there:
        at = bench(yes=True, url=there.url)
        assert (await at.ask("go")).stop == "error"
        result = await at.again()
    assert (result.stop, result.answer) == ("done", "3 and 3")
    told = [(link.call, link.span.exchange) for link in at.links() if link.relation == "told"]
    assert told == [("1.1.1", "x2"), ("1.1.1", "x3"), ("1.3.1", "x4")]
    assert [step.happened for step in steps_of("1.1.1", at.records)] == [
        "asked",
        "decided",
        "told",
        "said",
        "told",
        "said",
        "again",
    ]


async def test_a_chain_runs_across_both_wires_and_the_rows_find_each_other(demo_url: str, tmp_path: Path) -> None:
    """The whole host: the real demo model, a real server, the real store."""
    config = tmp_path / "config.toml"
    config.write_text('[servers.math]\nbundled = "math"\n[limits]\nconnect_wait = 240\n')
    settings = load(Overrides(config=config, data_dir=tmp_path), dict(os.environ))
    host = Host(settings, allow_all=True)
    session = host.sessions.new()
    records: Sequence[Record] = ()
    with anyio.fail_after(90):
        async with anyio.create_task_group() as group:
            group.start_soon(host.serve)
            await host.ready()
            host.send(session, TWO)
            while session.busy:
                await anyio.sleep(0.01)
            assert host.recorder is not None
            assert await anyio.to_thread.run_sync(host.recorder.flush, PATIENCE)
            records = host.recorder.since(0)
            host.stop()
    for call, words in (("1.1.1", "3"), ("1.1.2", "12")):
        steps = {step.happened: step for step in steps_of(call, records)}
        happened = list(steps)
        assert happened == ["asked", "decided", "sent", "answered", "told", "said"], session.conversation.items
        assert steps["told"].value == words
    ladder = Ladder()
    ladder.feed(records)
    rows = {
        (row.kind, row.outward): row.number
        for row in reversed(ladder.rows)
        if row.turn == 1 and (row.lane != "mcp" or "1.1.1" in row.calls)
    }
    sent, answer = rows["frame", True], rows["frame", False]
    assert ladder.partner(sent) == answer
    assert {rows["response", False], rows["decision", False], answer} < set(ladder.relatives(sent))
    response = next(row for row in ladder.rows if row.kind == "response" and row.step == 1)
    assert response.calls == {"1.1.1", "1.1.2"}
    assert response.words == 'asks math.add {"a": 1, "b": 2}, math.multiply {"a":3,"b":4}'
    told = next(row for row in ladder.rows if row.kind == "request" and row.step == 2)
    assert told.number in ladder.relatives(answer)
