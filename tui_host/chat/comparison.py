"""The same question asked of several models through several tool protocols: what each run took, and where they differ.

Values and counts alone. Bytes and times come from the capture; calls, answers and errors from how the turn ended.
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
    from tui_host.chat.call_outcome import Outcome
    from tui_host.chat.conversation import NoteItem
    from tui_host.chat.turn_result import TurnResult
    from tui_host.settings.schema import ModelRef

_Key = TypeVar("_Key")
_Number = TypeVar("_Number", int, float)


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """Who is asked, and how; as text `PROVIDER/MODEL:PROTOCOL`."""

    model: ModelRef
    protocol: str

    @override
    def __str__(self) -> str:
        return f"{self.model}:{self.protocol}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Figures:
    """What a run took on the wire to the model.

    Attributes:
        requests: How many went out, each attempt that was refused too.
        sent: Bytes of their bodies.
        received: Bytes of the responses' bodies.
        tools: Bytes of the requests that are the vendor's own list of tools.
        injected: Bytes that the tool protocol put into them, by what they are for.
        cut: Bytes of the responses that are left out: what a model made up behind its call.
        seconds: From the first request to the last record, tools and pauses included; None without a request.
        model_seconds: Those of them in which a request was on its way or answered.
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
        """All that the tool protocol put in."""
        return sum(self.injected.values())


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """One turn of one column.

    Attributes:
        session: Its session's id.
        result: How the turn ended.
        figures: What it took.
        notes: What the host had to say meanwhile: corrections, retries, what was cut.
        misfits: By a call's id what of its arguments does not fit the tool's schema; no entry where that is not known.
    """

    session: str
    result: TurnResult
    figures: Figures
    notes: tuple[NoteItem, ...] = ()
    misfits: Mapping[str, Sequence[str]]

    @property
    def made(self) -> list[Outcome]:
        """The calls whose arguments are an object, of tools that there are."""
        return [outcome for outcome in self.result.outcomes if outcome.request is not None]

    def misfits_of(self, outcome: Outcome) -> Sequence[str] | None:
        """What of a call's arguments does not fit; None if that is not known."""
        return self.misfits.get(outcome.call.id)


@dataclass(frozen=True, slots=True, kw_only=True)
class Chosen:
    """How often a tool was chosen.

    Attributes:
        server: Its server, empty where there is no such tool.
        tool: Its own name, or what the model wrote.
        runs: In how many runs.
        calls: How often altogether.
    """

    server: str
    tool: str
    runs: int
    calls: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Varying:
    """An argument that was not the same in every run.

    Attributes:
        call: Which call of this tool in a run, from 1.
        values: What it was, as JSON, and in how many runs, the most frequent first; None where it was left out.
    """

    server: str
    tool: str
    call: int
    argument: str
    values: tuple[tuple[str | None, int], ...]


def figures_of(records: Iterable[Record], session: str) -> Figures:
    """The figures of a session's one turn.

    Args:
        records: Those of the capture since the turn began, in order; of other sessions too.
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
    """Bytes of a request that list tools, where its dialect has a place for them."""
    head = exchange.request_head
    spoken = dialect_at(head.url) if head is not None and head.url is not None else None
    outline = spoken.outline(exchange.body("request")) if spoken is not None else None
    return sum(part.size for part in outline.parts if part.kind == "tools") if outline is not None else 0


def _lasted(exchange: Exchange) -> int:
    request, end = exchange.request, exchange.end
    return lasted(request.mono_ns, end.mono_ns) or 0 if request is not None and end is not None else 0


def _linked(records: Iterable[Record]) -> tuple[Mapping[str, int], int]:
    """Bytes that were put in, by what for, and bytes that were left out."""
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
    """How often each tool was chosen, in the order in which they came up."""
    calls = Counter((outcome.server, outcome.tool) for run in runs for outcome in run.result.outcomes)
    within = Counter(name for run in runs for name in {(each.server, each.tool) for each in run.result.outcomes})
    return [
        Chosen(server=server, tool=tool, runs=within[server, tool], calls=count)
        for (server, tool), count in calls.items()
    ]


def varying(runs: Sequence[Run]) -> list[Varying]:
    """The arguments that differ between runs: the first call of a tool beside its first in the others, and so on."""
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
    """Each different answer, and in how many runs it came, the most frequent first; None where there was none."""
    return _counted(run.result.answer for run in runs)


def _counted(keys: Iterable[_Key]) -> tuple[tuple[_Key, int], ...]:
    return tuple(Counter(keys).most_common())


def unfit(runs: Sequence[Run]) -> list[tuple[Outcome, str]]:
    """Each complaint of a tool's schema about the arguments of a call."""
    return [(outcome, words) for run in runs for outcome in run.made for words in run.misfits_of(outcome) or ()]


def spread(runs: Sequence[Run], figure: Callable[[Run], _Number | None]) -> tuple[_Number, _Number, _Number] | None:
    """The least, the middle and the most of a figure; None if no run has it. Of an even number the lower middle."""
    values = sorted(value for run in runs if (value := figure(run)) is not None)
    return (values[0], values[(len(values) - 1) // 2], values[-1]) if values else None


def column_to_json(column: Column, runs: Sequence[Run]) -> dict[str, JSON]:
    """A column as `compare --json` tells it."""
    return {
        "model": str(column.model),
        "protocol": column.protocol,
        "runs": [_run_to_json(run) for run in runs],
        "tools": [
            {"server": each.server, "tool": each.tool, "runs": each.runs, "calls": each.calls} for each in chosen(runs)
        ],
        "varying": [
            {
                "server": each.server,
                "tool": each.tool,
                "call": each.call,
                "argument": each.argument,
                "values": [{"json": value, "runs": count} for value, count in each.values],
            }
            for each in varying(runs)
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
