"""What several runs have in common, and where they differ."""

from __future__ import annotations

from dataclasses import replace

from tui_host.answers.recorded_wires import RecordedWires
from tui_host.capture.http.exchange_end import Ending
from tui_host.capture.link import Link, Relation, Span
from tui_host.capture.record import Head, Kind, Place, Record, Wire
from tui_host.chat.comparison import ComparedModel, ComparedRun, Figures, comparison_to_json, figures_of
from tui_host.chat.conversation import CallItem
from tui_host.chat.policy import CallRequest
from tui_host.chat.turn_result import Outcome, TurnResult
from tui_host.errors import JSON
from tui_host.llm.messages import ToolCall
from tui_host.servers.catalog import Tool
from tui_host.settings.schema import ModelRef

ADD = Tool(server="math", name="add")


def outcome(number: str, server: str, tool: str, asked: JSON) -> Outcome:
    call = ToolCall(id=number, wire_id="", name=tool, arguments="")
    item = CallItem(turn=1, step=1, call=number, server=server, tool=tool, asked="")
    return Outcome(call=call, item=item, server=server, tool=tool, asked=asked)


def made(*asked: JSON, answer: str | None = "done", unknown: str = "") -> ComparedRun:
    """A run that called `math.add` with each of these, and a tool that there is not."""
    outcomes = [outcome(f"c{number}", "math", "add", arguments) for number, arguments in enumerate(asked)]
    for number, made_call in enumerate(outcomes):
        made_call.request = CallRequest(call=f"c{number}", tool=ADD, arguments=b"")
    if unknown:
        outcomes.append(outcome("x", "", unknown, "{broken"))
    result = TurnResult(turn=1, answer=answer, outcomes=outcomes)
    return ComparedRun(session="s", result=result, figures=Figures(requests=len(asked)))


def test_what_runs_have_in_common_and_where_they_differ_is_counted() -> None:
    runs = [
        made({"a": 1, "b": 2}, {"a": 5}),
        made({"a": 1, "b": "2"}, {"a": 5}, answer="b"),
        made({"a": 1}, unknown="math__power", answer=None),
        made({"a": 1, "b": 2}),
    ]
    value = comparison_to_json(ComparedModel(model=ModelRef(provider="p", model="m"), protocol="native"), runs)
    assert value["tools"] == [
        {"server": "math", "tool": "add", "runs": 4, "calls": 6},
        {"server": "", "tool": "math__power", "runs": 1, "calls": 1},
    ]
    values = [{"json": "2", "runs": 2}, {"json": '"2"', "runs": 1}, {"json": None, "runs": 1}]
    assert value["varying"] == [{"server": "math", "tool": "add", "call": 1, "argument": "b", "values": values}]
    answers = (("done", 2), ("b", 1), (None, 1))
    assert value["answers"] == [{"answer": answer, "runs": count} for answer, count in answers]


def test_figures_are_those_of_the_pages_bill_and_time() -> None:
    body = b'{"model":"m","tools":[{"type":"function","function":{"name":"t"}}],"messages":[]}'
    place = Place(session="a", turn=1, step=1)

    def link(relation: Relation, start: int, end: int, *ranges: tuple[int, int]) -> bytes:
        side = "response" if relation == "cut" else "request"
        span = Span(exchange="x1", side=side, start=start, end=end, ranges=ranges)
        return Link(relation=relation, call="", span=span, words="teaches").to_bytes()

    def record(second: float, wire: Wire, kind: Kind, data: bytes, head: Head | None = None) -> Record:
        way = "out" if kind == "request" else "in"
        draft = Record(wire=wire, kind=kind, direction=way, place=place, exchange="x1", head=head, data=data)
        return replace(draft, capture="c", seq=int(second * 10), time_ns=0, mono_ns=int(second * 1e9))

    records = [
        record(1.0, "llm", "request", body, Head(method="POST", url="http://127.0.0.1/v1/chat/completions")),
        record(1.2, "host", "link", link("injected", 0, 10)),
        record(1.3, "host", "link", link("injected", 20, 25)),
        record(1.5, "llm", "response", b"", Head(status=200)),
        record(2.0, "llm", "chunk", b"said"),
        record(3.0, "llm", "end", Ending(size=4, kept=4).to_bytes()),
        record(3.1, "host", "link", link("cut", 0, 100, (0, 2), (90, 100))),
    ]
    figures = figures_of(RecordedWires(records))
    bill = figures.bill
    assert (bill.size, bill.tools, bill.put_in) == (len(body), 43, {"teaches": 15})
    assert (figures.requests, figures.received, figures.cut) == (1, 4, 12)
    assert (figures.seconds, figures.model_seconds) == (2.0, 2.0)
