"""Compares runs of the same question with several models and tool protocols: costs of each run, and differences.

Pure values and counts. Bytes and times come from the capture; calls, answers and errors from the turn's result.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
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
    """A model with a tool protocol; as text `PROVIDER/MODEL:PROTOCOL`."""

    model: ModelRef
    protocol: str

    @override
    def __str__(self) -> str:
        return f"{self.model}:{self.protocol}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Figures:
    """Traffic of a run to and from the model.

    Attributes:
        requests: Number of requests, including refused attempts.
        sent: Bytes of request bodies.
        received: Bytes of response bodies.
        tools: Bytes of the vendor's tool lists in the requests.
        injected: Bytes added by the tool protocol, by purpose.
        cut: Bytes left out of the responses: text that a model made up behind its call.
        seconds: From the first request to the last record, tools and pauses included; None without a request.
        model_seconds: Time with a request in flight.
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
        """All bytes added by the tool protocol."""
        return sum(self.injected.values())


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """A turn of a column.

    Attributes:
        session: The session's id.
        result: How the turn ended.
        figures: Traffic of the run.
        notes: The host's notes during the run: corrections, retries, cuts.
        misfits: Schema errors by call id; no entry where unknown.
    """

    session: str
    result: TurnResult
    figures: Figures
    notes: tuple[NoteItem, ...] = ()
    misfits: Mapping[str, Sequence[str]]

    @property
    def made(self) -> list[Outcome]:
        """The calls of existing tools whose arguments are an object."""
        return [outcome for outcome in self.result.outcomes if outcome.request is not None]

    def misfits_of(self, outcome: Outcome) -> Sequence[str] | None:
        """Return a call's schema errors, None if unknown."""
        return self.misfits.get(outcome.call.id)


@dataclass(frozen=True, slots=True, kw_only=True)
class Chosen:
    """How often a tool was chosen.

    Attributes:
        server: The tool's server, empty for an unknown tool.
        tool: The tool's own name, or the name that the model wrote.
        runs: Number of runs with a call.
        calls: Number of calls.
    """

    server: str
    tool: str
    runs: int
    calls: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Varying:
    """An argument that differs between runs.

    Attributes:
        call: Number of the call among the tool's calls in a run, from 1.
        values: Values as JSON with numbers of runs, the most frequent first; None where left out.
    """

    server: str
    tool: str
    call: int
    argument: str
    values: tuple[tuple[str | None, int], ...]


def figures_of(records: Iterable[Record], session: str) -> Figures:
    """Measure a session's only turn.

    Args:
        records: The capture's records since the turn began, in order; may include further sessions.
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
    """Return the bytes of a request that list tools, if its dialect has a place for them."""
    head = exchange.request_head
    spoken = dialect_at(head.url) if head is not None and head.url is not None else None
    outline = spoken.outline(exchange.body("request")) if spoken is not None else None
    return sum(part.size for part in outline.parts if part.kind == "tools") if outline is not None else 0


def _lasted(exchange: Exchange) -> int:
    request, end = exchange.request, exchange.end
    return lasted(request.mono_ns, end.mono_ns) or 0 if request is not None and end is not None else 0


def _linked(records: Iterable[Record]) -> tuple[Mapping[str, int], int]:
    """Return injected bytes by purpose, and the number of cut bytes."""
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
    """Count how often each tool was chosen, in order of appearance."""
    calls = Counter((outcome.server, outcome.tool) for run in runs for outcome in run.result.outcomes)
    within = Counter(
        name for run in runs for name in {(outcome.server, outcome.tool) for outcome in run.result.outcomes}
    )
    return [
        Chosen(server=server, tool=tool, runs=within[server, tool], calls=count)
        for (server, tool), count in calls.items()
    ]


def varying(runs: Sequence[Run]) -> list[Varying]:
    """Find arguments that differ between runs, comparing each tool's first calls, second calls, and so on."""
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
    """Count the runs for each different answer, the most frequent first; None means no answer."""
    return _counted(run.result.answer for run in runs)


def _counted(keys: Iterable[_Key]) -> tuple[tuple[_Key, int], ...]:
    return tuple(Counter(keys).most_common())


def unfit(runs: Sequence[Run]) -> list[tuple[Outcome, str]]:
    """List each schema error with its call."""
    return [(outcome, words) for run in runs for outcome in run.made for words in run.misfits_of(outcome) or ()]


def spread(runs: Sequence[Run], figure: Callable[[Run], _Number | None]) -> tuple[_Number, _Number, _Number] | None:
    """Return minimum, lower median and maximum of a figure; None if no run has a value."""
    values = sorted(value for run in runs if (value := figure(run)) is not None)
    return (values[0], values[(len(values) - 1) // 2], values[-1]) if values else None


def column_to_json(column: Column, runs: Sequence[Run]) -> dict[str, JSON]:
    """Return a column in the form of `compare --json`."""
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
        "calls": list(_calls_to_json(run)),
        "notes": [{"what": note.what, "remedy": note.remedy} for note in run.notes],
        "error": None if result.error is None else result.error.to_json(),
    }


def _calls_to_json(run: Run) -> Iterator[dict[str, JSON]]:
    for outcome in run.result.outcomes:
        misfits = run.misfits_of(outcome)
        yield {**outcome.to_json(), "schema_errors": None if misfits is None else list(misfits)}
