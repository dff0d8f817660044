"""The chain of a call, with the bytes of each step, in all dialects and in tool protocols of plain text."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.capture.codings import undone
from tests.chat.bench import Answers, Bench, says
from tests.chat.conftest import Make
from tests.chat.test_turn_dialects import asked, each_dialect
from tests.llm.protocols.answers import PLAIN, call
from tests.llm.recorded.case import TEXT, WEATHER, Recorded
from tui_host.answers.call_chain import chain_of
from tui_host.answers.chain_page import chain_page
from tui_host.answers.chain_steps import CallChain, CallStep
from tui_host.answers.recorded_wires import RecordedWires
from tui_host.answers.steps import made
from tui_host.capture.http.exchange import fold_exchanges
from tui_host.settings.schema import Provider, Template


def providers(dialect: str) -> dict[str, Provider]:
    return {name: Provider(name=name, base_url=Template(text=""), dialect=dialect) for name in ("p", "demo")}


def chain(at: Bench, call: str = "1.1.1", dialect: str = "openai") -> CallChain:
    made_chain = made(chain_of(RecordedWires(at.records, providers(dialect)), call))
    assert made_chain is not None
    return made_chain


def steps(of: CallChain, happened: str) -> Sequence[CallStep]:
    return [step for step in of.steps if step.happened == happened]


def stand_in_links(at: Bench, step: CallStep, relation: str) -> bool:
    """Whether a step's pieces are the bytes at their places, within those that the links of a relation name."""
    exchanges = fold_exchanges(at.records)
    whole, named = b"", ""
    for link in at.links():
        if link.relation == relation and link.call == "1.1.1":
            whole = undone(exchanges["c1", link.span.exchange or ""], link.span.side)[0]
            named += "".join(piece.decode() for piece in link.span.pieces(whole))
    pieces = [(piece.text, whole[piece.start : piece.end].decode()) for piece in step.pieces]
    return bool(pieces) and all(text == kept and text in named for text, kept in pieces)


@each_dialect
async def test_the_steps_show_the_bytes_that_are_kept(recorded: Recorded, tmp_path: Path) -> None:
    at, _, _ = await asked(recorded, tmp_path, recorded.thinking.body, recorded.text.body)
    of = chain(at, dialect=recorded.dialect)

    (asks,), (tells,) = steps(of, "asked"), steps(of, "told")
    assert stand_in_links(at, asks, "asked")
    assert stand_in_links(at, tells, "told")
    assert json.loads(asks.value) == json.loads(WEATHER[1])
    assert "21 C" in tells.value
    assert tells.place
    assert TEXT in steps(of, "said")[0].value
    assert steps(of, "decided")[0].state == "as asked"


@pytest.mark.parametrize("protocol", PLAIN)
async def test_a_call_in_words_has_a_chain_too(bench: Make, protocol: str) -> None:
    words = call(protocol)
    async with bench.hearing(says(words), says("It is 11."), yes=True, protocol=protocol) as at:
        await at.ask("what is 6 + 5?")
    of = chain(at)

    (asks,), (tells,) = steps(of, "asked"), steps(of, "told")
    assert stand_in_links(at, asks, "asked")
    assert stand_in_links(at, tells, "told")
    assert (of.server, of.tool, steps(of, "said")[0].value) == ("math", "add", "It is 11.")
    assert steps(of, "decided")[0].state == "as asked"


async def test_an_edit_and_a_rejection_say_what_was_changed_and_why_nothing_was_sent(bench: Make) -> None:
    at = bench(
        approver=Answers(
            lambda question: (
                question.approve(edited=b'{"a":5,"b":2}')
                if question.request.tool.name == "add"
                else question.reject("too many")
            )
        )
    )
    await at.ask('call math.add {"a": 1, "b": 2}\ncall math.multiply {"a":3,"b":4}')
    edited, rejected = chain(at), chain(at, "1.1.2")

    (decided,) = steps(edited, "decided")
    assert (decided.row, decided.state) == ("you", "edited a 1 -> 5")
    assert [(step.happened, step.value) for step in rejected.steps if not step.row] == [("sent", "not sent: rejected")]
    assert steps(rejected, "told")[0].state.startswith("told otherwise")

    wires = RecordedWires(at.records, providers("openai"))
    sheet = made(chain_page(wires, next(row for row in wires.ladder.rows if row.kind == "response")))
    assert [(line.key, line.opened, len(line.children)) for line in sheet.lines] == [
        ("1.1.1", True, len(edited.steps)),
        ("1.1.2", False, len(rejected.steps)),
    ]
