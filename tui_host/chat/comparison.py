"""Compares runs of the same question with several models and tool protocols: cost of each run, and differences between runs.

Computes values and counts only. Bytes and times come from the capture; calls, answers and errors from the turn.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

from typing_extensions import override

from tui_host.capture.chain import read_link
from tui_host.capture.http.exchange import Exchange, fold_exchanges
from tui_host.capture.record import lasted
from tui_host.chat.call_arguments import canonical
from tui_host.errors import JSON
from tui_host.llm.dialects.dialect_table import dialect_at

if TYPE_CHECKING:
    from tui_host.capture.record import Record
    from tui_host.chat.conversation import NoteItem
    from tui_host.chat.turn_result import Outcome, TurnResult
    from tui_host.settings.schema import ModelRef

_Key = TypeVar("_Key")
_Number = TypeVar("_Number", int, float)


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
        requests: Number of requests, including attempts that the provider refused.
        sent: Bytes of request bodies.
        received: Bytes of response bodies.
        tools: Bytes of the vendor's tool lists in the requests.
        injected: Bytes added by the tool protocol, by purpose.
        cut: Bytes left out of the responses: text that the model invented after its call.
        seconds: From the first request to the last record, including tools and pauses; None if no request was sent.
        model_seconds: Total time in which a request was waiting for its response.
    """

    requests: int = 0
    sent: int = 0
    received: int = 0
    tools: int = 0
    injected: Mapping[str, int]
    cut: int = 0
    seconds: float | None = None
    model_seconds: float | None = None

    @property
    def injected_total(self) -> int:
        """Total bytes added by the tool protocol."""
        return sum(self.injected.values())


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


def figures_of(records: Iterable[Record], session: str) -> Figures:
    """Measure the traffic of a session's only turn.

    Args:
        records: The capture's records since the turn began, in order; may include records of other sessions.
        session: The session's id.
    """
    mine = [record for record in records if record.draft.place.session == session]
    exchanges = fold_exchanges(record for record in mine if record.draft.wire == "llm")
    injected, cut = _linked(mine)
    began = [exchange.request.mono_ns for exchange in exchanges.values() if exchange.request is not None]
    return Figures(
        requests=len(began),
        sent=sum(len(exchange.body("request")) for exchange in exchanges.values()),
        received=sum(map(_came, exchanges.values())),
        tools=sum(map(_tools, exchanges.values())),
        injected=injected,
        cut=cut,
        seconds=(lasted(began[0], mine[-1].mono_ns) or 0) / 1e9 if began else None,
        model_seconds=sum(map(_lasted, exchanges.values())) / 1e9 if began else None,
    )


def _came(exchange: Exchange) -> int:
    ending = exchange.ending
    return len(exchange.body()) if ending is None else max(ending.size, len(exchange.body()))


def _tools(exchange: Exchange) -> int:
    """Return the number of bytes in a request that list tools; 0 if the dialect has no tool list."""
    head = exchange.request_head
    spoken = dialect_at(head.url) if head is not None and head.url is not None else None
    outline = spoken.outline(exchange.body("request")) if spoken is not None else None
    return sum(part.size for part in outline.parts if part.kind == "tools") if outline is not None else 0


def _lasted(exchange: Exchange) -> int:
    request, end = exchange.request, exchange.end
    return lasted(request.mono_ns, end.mono_ns) or 0 if request is not None and end is not None else 0


def _linked(records: Iterable[Record]) -> tuple[Mapping[str, int], int]:
    """Return the bytes added by the tool protocol, by purpose, and the number of cut bytes."""
    injected: Counter[str] = Counter()
    cut = 0
    for record in records:
        link = read_link(record.draft.data) if record.draft.kind == "link" else None
        if link is None or link.relation not in {"injected", "cut"}:
            continue
        span = link.span
        size = sum(end - start for start, end in span.ranges or ((span.start, span.end or span.start),))
        if link.relation == "cut":
            cut += size
        else:
            injected[link.words] += size
    return dict(injected), cut


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
            "sent": figures.sent,
            "received": figures.received,
            "tools": figures.tools,
            "injected": figures.injected_total,
            "injected_for": dict(figures.injected),
            "cut": figures.cut,
        },
        "usage": result.usage_json(),
        "seconds": {"all": figures.seconds, "model": figures.model_seconds},
        "calls": [outcome.to_json() for outcome in result.outcomes],
        "notes": [{"what": note.what, "remedy": note.remedy} for note in run.notes],
        "error": None if result.error is None else result.error.to_json(),
    }
