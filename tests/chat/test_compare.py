"""What several runs have in common, and where they differ."""

from __future__ import annotations

from tui_host.chat.comparison import ComparedModel, ComparedRun, Figures, comparison_to_json
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
