"""What several runs have in common, and where they differ."""

from __future__ import annotations

from tui_host.answers.recorded_wires import RecordedWires
from tui_host.capture.http.exchange_end import Ending
from tui_host.capture.link import Link, Relation, Span
from tui_host.capture.record import Draft, Head, Kind, Place, Record, Wire
from tui_host.chat.comparison import Chosen, Figures, Run, Varying, answers, chosen, figures_of, spread, varying
from tui_host.chat.policy import CallRequest
from tui_host.chat.turn_result import Outcome, TurnResult
from tui_host.errors import JSON
from tui_host.llm.messages import ToolCall
from tui_host.servers.catalog import Tool

ADD = Tool(server="math", name="add")


def made(*asked: JSON, answer: str | None = "done", unknown: str = "") -> Run:
    """A run that called `math.add` with each of these, and a tool that there is not."""
    outcomes = [
        Outcome(
            call=ToolCall(id=f"c{number}", wire_id="", name="math__add", arguments=""),
            number=number,
            server="math",
            tool="add",
            asked=arguments,
            request=CallRequest(call=f"c{number}", tool=ADD, arguments=b""),
        )
        for number, arguments in enumerate(asked)
    ]
    if unknown:
        call = ToolCall(id="x", wire_id="", name=unknown, arguments="")
        outcomes.append(Outcome(call=call, number=99, server="", tool=unknown, asked="{broken"))
    result = TurnResult(turn=1, answer=answer, outcomes=outcomes)
    return Run(session="s", result=result, figures=Figures(requests=len(asked)))


def test_how_often_a_tool_was_chosen_counts_runs_and_calls() -> None:
    runs = [made({"a": 1}, {"a": 2}), made(), made({"a": 1}, unknown="math__power")]
    assert chosen(runs) == [
        Chosen(server="math", tool="add", runs=2, calls=3),
        Chosen(server="", tool="math__power", runs=1, calls=1),
    ]


def test_an_argument_varies_where_the_same_call_of_a_tool_has_it_otherwise_in_another_run() -> None:
    runs = [
        made({"a": 1, "b": 2}, {"a": 5}),
        made({"a": 1, "b": "2"}, {"a": 5}),
        made({"a": 1}),
        made({"a": 1, "b": 2}),
    ]
    assert varying(runs) == [
        Varying(server="math", tool="add", call=1, argument="b", values=(("2", 2), ('"2"', 1), (None, 1)))
    ]


def test_answers_are_counted_the_most_frequent_first() -> None:
    runs = [made(answer=answer) for answer in ("a", "b", None, "b")]
    assert answers(runs) == (("b", 2), ("a", 1), (None, 1))


def test_a_figure_is_spread_from_the_least_to_the_most_and_leaves_out_who_has_none() -> None:
    runs = [made(*[{"a": 1}] * count) for count in (4, 1, 2)]
    assert spread(runs, lambda run: run.figures.requests) == (1, 2, 4)
    assert spread(runs, lambda run: run.figures.seconds) is None


def test_figures_are_those_of_the_pages_bill_and_time() -> None:
    body = b'{"model":"m","tools":[{"type":"function","function":{"name":"t"}}],"messages":[]}'
    place = Place(session="a", turn=1, step=1)

    def link(relation: Relation, start: int, end: int, *ranges: tuple[int, int]) -> bytes:
        side = "response" if relation == "cut" else "request"
        span = Span(exchange="x1", side=side, start=start, end=end, ranges=ranges)
        return Link(relation=relation, call="", span=span, words="teaches").to_bytes()

    def record(second: float, wire: Wire, kind: Kind, data: bytes, head: Head | None = None) -> Record:
        way = "out" if kind == "request" else "in"
        draft = Draft(wire=wire, kind=kind, direction=way, place=place, exchange="x1", head=head, data=data)
        return Record(capture="c", seq=int(second * 10), time_ns=0, mono_ns=int(second * 1e9), draft=draft)

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
    assert (bill.size, bill.tools, bill.put_in) == (
        len(body),
        len('{"type":"function","function":{"name":"t"}}'),
        {"teaches": 15},
    )
    assert (figures.requests, figures.received, figures.cut) == (1, 4, 12)
    assert (figures.seconds, figures.model_seconds) == (2.0, 2.0)
