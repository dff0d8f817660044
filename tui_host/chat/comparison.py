"""Compares runs of the same question with several models and tool protocols: cost of each run, and differences between runs.

Computes values and counts only. Bytes and times are those of the pages Bill and Time; calls, answers and errors come from the turn.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from typing_extensions import override

from tui_host.answers.outlines import marks_of
from tui_host.answers.request_weights import RequestWeight, requests_of, total_counted, weigh
from tui_host.answers.time_page import time_of
from tui_host.answers.wires import Section
from tui_host.chat.call_arguments import canonical
from tui_host.errors import JSON

if TYPE_CHECKING:
    from tui_host.answers.wires import Wires
    from tui_host.chat.conversation import NoteItem
    from tui_host.chat.turn_result import TurnResult
    from tui_host.settings.schema import ModelRef

_SPENT_ON_MODEL = frozenset(("first byte", "streaming"))


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparedModel:
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

    bill: RequestWeight = field(default_factory=lambda: total_counted(())[0])
    requests: int = 0
    received: int = 0
    cut: int = 0
    seconds: float | None = None
    model_seconds: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparedRun:
    """A turn that asked the question with a model and a tool protocol, and the host's notes during it."""

    session: str
    result: TurnResult
    figures: Figures
    notes: tuple[NoteItem, ...] = ()

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
                "tools": sum(tool.size for tool in figures.bill.tools),
                "injected": sum(figures.bill.put_in.values()),
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


def figures_of(wires: Wires) -> Figures:
    """Measure the traffic of a session's only turn."""
    session = Section(is_session=True)
    rows = requests_of(wires, session)
    weights, time = weigh(wires, rows), time_of(wires, session)
    responses = [row for row in wires.ladder.rows if row.lane == "llm" and row.kind == "response"]
    cuts = [mark.span.size for row in responses for mark in marks_of(wires, row) if mark.relation == "cut"]
    seconds = model_seconds = None
    if rows:
        waits = time.intervals if time is not None else ()
        of_model = (wait for wait in waits if wait.spender in _SPENT_ON_MODEL)
        model_seconds = sum((wait.end_ns - wait.start_ns) / 1e6 for wait in of_model) / 1000
        seconds = time.nanoseconds / 1e9 if time is not None else None
    return Figures(
        bill=total_counted(weights)[0],
        requests=len(rows),
        received=sum(row.size for row in responses),
        cut=sum(cuts),
        seconds=seconds,
        model_seconds=model_seconds,
    )


def comparison_to_json(column: ComparedModel, runs: Sequence[ComparedRun]) -> dict[str, JSON]:
    """Return a column of `compare --json`: its runs, and what they have in common."""
    called = [[(outcome.server, outcome.tool) for outcome in run.result.outcomes] for run in runs]
    within = Counter(name for names in called for name in set(names))
    calls = Counter(name for names in called for name in names)
    misfits = (outcome.misfits or () for run in runs for outcome in run.result.outcomes)
    answers = Counter(run.result.answer for run in runs).most_common()
    # Arguments that differ between runs: the first calls of each tool are compared, then the second calls, and so on.
    asked: dict[tuple[str, str, int], list[Mapping[str, JSON]]] = {}
    for run in runs:
        seen: Counter[tuple[str, str]] = Counter()
        for outcome in run.result.outcomes:
            if outcome.request is not None and isinstance(outcome.asked, Mapping):
                seen[outcome.server, outcome.tool] += 1
                key = (outcome.server, outcome.tool, seen[outcome.server, outcome.tool])
                asked.setdefault(key, []).append(outcome.asked)
    varying: list[JSON] = []
    for (server, tool, number), given in asked.items():
        for name in dict.fromkeys(name for arguments in given for name in arguments):
            values = Counter(canonical(call[name]).decode() if name in call else None for call in given).most_common()
            if len(values) > 1:
                texts = [{"json": value, "runs": count} for value, count in values]
                varying.append({"server": server, "tool": tool, "call": number, "argument": name, "values": texts})
    return {
        "model": str(column.model),
        "protocol": column.protocol,
        "runs": [run.to_json() for run in runs],
        "tools": [
            {"server": server, "tool": tool, "runs": within[server, tool], "calls": count}
            for (server, tool), count in calls.items()
        ],
        "varying": varying,
        "schema_errors": sum(map(len, misfits)),
        "answers": [{"answer": answer, "runs": count} for answer, count in answers],
    }
