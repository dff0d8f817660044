"""Compares runs of the same question with several models and tool protocols: cost of each run, and differences between runs.

Computes values and counts only. Bytes and times are those of the pages Bill and Time; calls, answers and errors come from the turn.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeVar

from typing_extensions import override

from tui_host.answers.bill_page import Bill, bill_of
from tui_host.answers.outlines import marks_of
from tui_host.answers.request_weights import RequestWeight, requests_of, total_of
from tui_host.answers.section import Section
from tui_host.answers.steps import made
from tui_host.answers.time_page import time_of
from tui_host.chat.call_arguments import canonical
from tui_host.errors import JSON

if TYPE_CHECKING:
    from tui_host.answers.wires import Wires
    from tui_host.chat.conversation import NoteItem
    from tui_host.chat.turn_result import Outcome, TurnResult
    from tui_host.settings.schema import ModelRef

_Key = TypeVar("_Key")
_Number = TypeVar("_Number", int, float)
_MODEL = frozenset(("first byte", "streaming"))


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """A model with a tool protocol to compare; as text `PROVIDER/MODEL:PROTOCOL`."""

    model: ModelRef
    protocol: str

    @override
    def __str__(self) -> str:
        return f"{self.model}:{self.protocol}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Figures:
    """Amount and duration of the traffic between a run and its model.

    Attributes:
        bill: What all requests weigh, as the page `Bill` has it; includes attempts that the provider refused.
        requests: Number of these.
        received: Bytes of response bodies.
        cut: Bytes left out of the responses: text that the model invented after its call.
        seconds: From the turn's first byte to its last, including tools and pauses; None if no request was sent.
        model_seconds: Total time in which a request was waiting for its response.
    """

    bill: RequestWeight = field(default_factory=lambda: total_of(()))
    requests: int = 0
    received: int = 0
    cut: int = 0
    seconds: float | None = None
    model_seconds: float | None = None

    @property
    def injected_total(self) -> int:
        """Total bytes added by the tool protocol."""
        return sum(self.bill.put_in.values())


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """A run: a turn that asked the question with the model and tool protocol of a column.

    Attributes:
        session: The session's id.
        result: How the turn ended.
        figures: Traffic of the run.
        notes: The host's notes during the run: corrections, retries, cuts.
    """

    session: str
    result: TurnResult
    figures: Figures
    notes: tuple[NoteItem, ...] = ()

    @property
    def made(self) -> list[Outcome]:
        """The calls that name an existing tool and whose arguments are a JSON object."""
        return [outcome for outcome in self.result.outcomes if outcome.request is not None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Chosen:
    """Counts how often the runs called a tool.

    Attributes:
        server: The tool's server, empty for an unknown tool.
        tool: The tool's own name, or the name that the model wrote.
        runs: Number of runs that called the tool.
        calls: Number of calls in all runs.
    """

    server: str
    tool: str
    runs: int
    calls: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Varying:
    """An argument whose value differs between runs.

    Attributes:
        call: Which call of the tool within a run, counted from 1.
        values: Each value as JSON with its number of runs, the most frequent first; None if the argument was left out.
    """

    server: str
    tool: str
    call: int
    argument: str
    values: tuple[tuple[str | None, int], ...]


def figures_of(wires: Wires) -> Figures:
    """Measure the traffic of a session's only turn."""
    session = Section(is_session=True)
    rows = requests_of(wires, session)
    bill, time = made(bill_of(wires, rows)), time_of(wires, session)
    responses = [row for row in wires.ladder.rows if row.lane == "llm" and row.kind == "response"]
    cuts = (mark.span.size for row in responses for mark in marks_of(wires, row) if mark.relation == "cut")
    spent = time.shares if time is not None and rows else ()
    waits = [interval for share in spent if share.spender in _MODEL for interval in share.intervals]
    return Figures(
        bill=bill.total if isinstance(bill, Bill) else total_of(()),
        requests=len(rows),
        received=sum(row.size for row in responses),
        cut=sum(cuts),
        seconds=time.milliseconds / 1000 if time is not None and rows else None,
        model_seconds=sum(interval.milliseconds for interval in waits) / 1000 if rows else None,
    )


def chosen(runs: Sequence[Run]) -> list[Chosen]:
    """Count how often the runs called each tool, in order of first appearance."""
    calls = Counter((outcome.server, outcome.tool) for run in runs for outcome in run.result.outcomes)
    within = Counter(
        name for run in runs for name in {(outcome.server, outcome.tool) for outcome in run.result.outcomes}
    )
    return [
        Chosen(server=server, tool=tool, runs=within[server, tool], calls=count)
        for (server, tool), count in calls.items()
    ]


def varying(runs: Sequence[Run]) -> list[Varying]:
    """Find arguments that differ between runs, comparing the first calls of each tool, then the second calls, and so on."""
    asked: dict[tuple[str, str, int], list[Mapping[str, JSON]]] = {}
    for run in runs:
        seen: Counter[tuple[str, str]] = Counter()
        for outcome in run.made:
            seen[outcome.server, outcome.tool] += 1
            if isinstance(outcome.asked, Mapping):
                key = (outcome.server, outcome.tool, seen[outcome.server, outcome.tool])
                asked.setdefault(key, []).append(outcome.asked)
    return [
        Varying(server=server, tool=tool, call=number, argument=name, values=values)
        for (server, tool, number), given in asked.items()
        for name in dict.fromkeys(name for arguments in given for name in arguments)
        if len(values := _counted(_value(arguments, name) for arguments in given)) > 1
    ]


def _value(arguments: Mapping[str, JSON], name: str) -> str | None:
    return canonical(arguments[name]).decode() if name in arguments else None


def answers(runs: Sequence[Run]) -> tuple[tuple[str | None, int], ...]:
    """Count the runs for each different answer, the most frequent first; None stands for runs without an answer."""
    return _counted(run.result.answer for run in runs)


def _counted(keys: Iterable[_Key]) -> tuple[tuple[_Key, int], ...]:
    return tuple(Counter(keys).most_common())


def unfit(runs: Sequence[Run]) -> list[tuple[Outcome, str]]:
    """Return each schema error together with the call that has it."""
    return [(outcome, words) for run in runs for outcome in run.made for words in outcome.misfits or ()]


def spread(runs: Sequence[Run], figure: Callable[[Run], _Number | None]) -> tuple[_Number, _Number, _Number] | None:
    """Return minimum, lower median and maximum of a figure over the runs; None if no run has a value."""
    values = sorted(value for run in runs if (value := figure(run)) is not None)
    return (values[0], values[(len(values) - 1) // 2], values[-1]) if values else None


def column_to_json(column: Column, runs: Sequence[Run]) -> dict[str, JSON]:
    """Return a column in the JSON form of `compare --json`."""
    return {
        "model": str(column.model),
        "protocol": column.protocol,
        "runs": [_run_to_json(run) for run in runs],
        "tools": [
            {"server": entry.server, "tool": entry.tool, "runs": entry.runs, "calls": entry.calls}
            for entry in chosen(runs)
        ],
        "varying": [
            {
                "server": entry.server,
                "tool": entry.tool,
                "call": entry.call,
                "argument": entry.argument,
                "values": [{"json": value, "runs": count} for value, count in entry.values],
            }
            for entry in varying(runs)
        ],
        "schema_errors": len(unfit(runs)),
        "answers": [{"answer": answer, "runs": count} for answer, count in answers(runs)],
    }


def _run_to_json(run: Run) -> dict[str, JSON]:
    result, figures = run.result, run.figures
    return {
        "session": run.session,
        "answer": result.answer,
        "stop": result.stop,
        "requests": figures.requests,
        "steps": result.steps,
        "bytes": {
            "sent": figures.bill.size,
            "received": figures.received,
            "tools": figures.bill.tools,
            "injected": figures.injected_total,
            "injected_for": dict(figures.bill.put_in),
            "cut": figures.cut,
        },
        "usage": result.usage_json(),
        "money": figures.bill.cost,
        "seconds": {"all": figures.seconds, "model": figures.model_seconds},
        "calls": [outcome.to_json() for outcome in result.outcomes],
        "notes": [{"what": note.what, "remedy": note.remedy} for note in run.notes],
        "error": None if result.error is None else result.error.to_json(),
    }
