"""Compares runs of the same question with several models and tool protocols: cost of each run, and differences between runs.

Computes values and counts only. Bytes and times are those of the pages Bill and Time; calls, answers and errors come from the turn.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
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
_SPENT_ON_MODEL = frozenset(("first byte", "streaming"))


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
    """Amount and duration of the traffic between a run and its model; requests that the provider refused count too.

    `received` and `cut` are bytes of responses, the latter invented after a call. `seconds` runs from the turn's first byte to its
    last, `model_seconds` counts the waits for responses; both are None if no request was sent.
    """

    bill: RequestWeight = field(default_factory=lambda: total_of(()))
    requests: int = 0
    received: int = 0
    cut: int = 0
    seconds: float | None = None
    model_seconds: float | None = None

    @property
    def injected_total(self) -> int:
        return sum(self.bill.put_in.values())


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """A turn that asked the question with the model and tool protocol of a column, and the host's notes during it."""

    session: str
    result: TurnResult
    figures: Figures
    notes: tuple[NoteItem, ...] = ()

    @property
    def made(self) -> list[Outcome]:
        """The calls that name an existing tool and whose arguments are a JSON object."""
        return [outcome for outcome in self.result.outcomes if outcome.request is not None]

    def to_json(self) -> dict[str, JSON]:
        result, figures = self.result, self.figures
        return {
            "session": self.session,
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
            "notes": [{"what": note.what, "remedy": note.remedy} for note in self.notes],
            "error": None if result.error is None else result.error.to_json(),
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Chosen:
    """Counts how many runs called a tool, and how often. The server is empty for an unknown tool."""

    server: str
    tool: str
    runs: int
    calls: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Varying:
    """An argument whose value differs between runs, in the tool's `call`th call: each value as JSON (None: left out), with its runs."""

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
    cuts = [mark.span.size for row in responses for mark in marks_of(wires, row) if mark.relation == "cut"]
    seconds = model_seconds = None
    if rows:
        shares = time.shares if time is not None else ()
        waits = [interval for share in shares if share.spender in _SPENT_ON_MODEL for interval in share.intervals]
        model_seconds = sum(interval.milliseconds for interval in waits) / 1000
        seconds = time.milliseconds / 1000 if time is not None else None
    return Figures(
        bill=bill.total if isinstance(bill, Bill) else total_of(()),
        requests=len(rows),
        received=sum(row.size for row in responses),
        cut=sum(cuts),
        seconds=seconds,
        model_seconds=model_seconds,
    )


def chosen(runs: Sequence[Run]) -> list[Chosen]:
    """Count how often the runs called each tool, in order of first appearance."""
    called = [[(outcome.server, outcome.tool) for outcome in run.result.outcomes] for run in runs]
    calls = Counter(name for names in called for name in names)
    within = Counter(name for names in called for name in set(names))
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
    found: list[Varying] = []
    for (server, tool, number), calls in asked.items():
        for name in dict.fromkeys(name for arguments in calls for name in arguments):
            values = _counted(canonical(call[name]).decode() if name in call else None for call in calls)
            if len(values) > 1:
                found.append(Varying(server=server, tool=tool, call=number, argument=name, values=values))
    return found


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
        "runs": [run.to_json() for run in runs],
        "tools": [asdict(entry) for entry in chosen(runs)],
        "varying": [
            {**asdict(entry), "values": [{"json": value, "runs": count} for value, count in entry.values]}
            for entry in varying(runs)
        ],
        "schema_errors": len(unfit(runs)),
        "answers": [{"answer": answer, "runs": count} for answer, count in answers(runs)],
    }
