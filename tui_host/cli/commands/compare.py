"""`compare`: asks several models the same question, through several tool protocols, and prints the results side by side.

Turns run one after the other, with the same servers and rules: time is a figure, and turns in parallel would share processors.
Nobody is asked. The form of `--json` stands in `docs/usage.md`.
"""

from __future__ import annotations

import json
from argparse import Namespace
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, TypeAlias

from tui_host.answers.sheet import money
from tui_host.capture.visible import tool_name
from tui_host.chat.comparison import ComparedModel, ComparedRun, comparison_to_json
from tui_host.chat.conversation import title_of
from tui_host.chat.policy import Refuse
from tui_host.cli import diagnostics, hosting, options, output
from tui_host.errors import JSON, SettingsError, TuiHostError
from tui_host.host.host import Host
from tui_host.settings.mistakes import Report, shown
from tui_host.settings.schema import PROTOCOLS
from tui_host.settings.tables import read_model

if TYPE_CHECKING:
    from tui_host.settings.schema import Settings

_Figure: TypeAlias = Callable[[ComparedRun], float | None]
_SECONDS, _SIZE, _TOKENS, _PLAIN = "{:.2f} s".format, "{:,} B".format, "{:,} tok".format, "{:,}".format
_FIGURES: Mapping[str, tuple[_Figure, Callable[[float], str]]] = {
    "requests": (lambda run: run.figures.requests, _PLAIN),
    "steps": (lambda run: run.result.steps, _PLAIN),
    "sent": (lambda run: run.figures.bill.size, _SIZE),
    "input": (lambda run: run.result.tokens("input_total"), _TOKENS),
    "received": (lambda run: run.figures.received, _SIZE),
    "output": (lambda run: run.result.tokens("output_total"), _TOKENS),
    "tools": (lambda run: sum(tool.size for tool in run.figures.bill.tools), _SIZE),
    "injected": (lambda run: sum(run.figures.bill.put_in.values()), _SIZE),
    "by your prices": (lambda run: run.figures.bill.cost, money),
    "left out": (lambda run: run.figures.cut or None, _SIZE),
    "time": (lambda run: run.figures.seconds, _SECONDS),
    "of it, model": (lambda run: run.figures.model_seconds, _SECONDS),
}
"""The figures of a column, in the order of their lines, each with its form."""
_ARGUMENT_CHARACTERS = 300


def add(parser: options.CommandParser) -> None:
    """Add the options."""
    parser.description = "Put the same question to several models or tool protocols, one after the other, and compare costs, tool calls and answers."
    parser.flag("--json", options.AS_JSON)
    words = "a model to ask, and the tool protocol to use"
    parser.option("--with", "PROVIDER/MODEL[:PROTOCOL]", words, options.name_of, dest="columns", repeats=True)
    parser.option("--repeat", "N", "ask each model N times, and compare", options.count_of, default=1)
    options.turn(parser)


def run(args: Namespace, settings: Settings) -> int:
    """Ask each model, print the comparison, and return the exit code."""
    host = Host(settings, source="ask", record=not args.no_record, allow_all=args.yes)
    host.approver = Refuse()  # turns would otherwise wait for a person, and time is a figure
    comparing = _CompareRun(args, settings, host)
    return hosting.reporting(comparing.run, lambda result: comparing.tell(result.error))


@dataclass(slots=True)
class _CompareRun:
    args: Namespace
    settings: Settings
    host: Host
    question: str = ""
    runs: dict[ComparedModel, list[ComparedRun]] = field(default_factory=dict[ComparedModel, list[ComparedRun]])
    is_told: bool = False

    def run(self) -> int:
        """Check what to compare, run all turns, print the comparison, and return the exit code."""
        settings, report, columns = self.settings, Report(), list[ComparedModel]()
        for word in self.args.columns:
            head, _, tail = word.rpartition(":")
            name, protocol = (head, tail) if tail in PROTOCOLS else (word, settings.protocol)
            mistake = partial(report.mistake, f"--with {shown(word)}")
            model = read_model(name, settings, mistake, mistake)
            if model is not None:
                columns.append(ComparedModel(model=model, protocol=protocol))
        report.raise_if_any()
        for column in columns:
            hosting.check_model(settings, column.model, where=f"--with {column}", chosen=f"--with {column}")
        if not columns:
            raise SettingsError("no model to ask", "compare", "add --with PROVIDER/MODEL")
        if len({*columns}) < len(columns):
            raise SettingsError("a model is given twice", "--with", "use --repeat N to ask several times")
        self.question = hosting.question(self.args.text, "compare")
        self.runs = {column: [] for column in columns}
        code = hosting.run_host(self.host, self._take_turns)
        self.tell()  # if a signal came before the first turn
        return code

    async def _take_turns(self, interruption: hosting.Interruption) -> int:
        from tui_host.host.turn_measurements import measured  # brings anyio

        host = self.host
        turns = [column for _ in range(self.args.repeat) for column in self.runs]
        for number, column in enumerate(turns, start=1):
            if interruption.code is not None:
                break
            if len(turns) > 1:
                diagnostics.tell(f"{number} of {len(turns)}: {column}")
            session = host.sessions.new(model=column.model)
            session.protocol = column.protocol
            # Titles are stored, so no secret may stand in them.
            session.title = title_of(f"compare: {session.redact(self.question)}")
            result = await hosting.take_turn(host, session, self.question, interruption)
            if result is None:
                break
            self.runs[column].append(await measured(host, session, result))
        self.tell()
        results = [run.result for runs in self.runs.values() for run in runs]
        hosting.say_asides(host, results)
        if len(results) < len(turns):
            return interruption.code or diagnostics.FAILED
        return hosting.exit_code(results, interruption)

    def tell(self, error: TuiHostError | None = None) -> None:
        """Print the results so far, unless already printed."""
        if self.is_told:
            return
        self.is_told = True
        if self.args.json:
            value: dict[str, JSON] = {
                "question": self.question,
                "repeat": self.args.repeat,
                "columns": [comparison_to_json(column, runs) for column, runs in self.runs.items()],
                "error": None if error is None else error.to_json(),
            }
            hosting.print_value(self.host, value)
            return
        runs = {column: runs for column, runs in self.runs.items() if runs}
        figures = [_figures(runs) for runs in runs.values()]
        rows = [(name, *(column[name] for column in figures)) for name in (figures[0] if figures else ())]
        if rows:
            output.text(output.table([("", *map(str, runs)), *(row for row in rows if any(row[1:]))]))
        for column, texts in ((column, _texts(runs)) for column, runs in runs.items()):
            output.text(f"\n{column}")
            for name, text in texts.items():
                if text:
                    output.text(f"  {name}: {self.host.redactor.text(text).replace(chr(10), chr(10) + '    ')}")


def _figures(runs: Sequence[ComparedRun]) -> dict[str, str]:
    """Return the lower median of each figure with its extremes, or the only value; empty where no run has one."""
    figures = {"ended": _counted(run.result.stop for run in runs).replace("\n", ", ")}
    for name, (figure, form) in _FIGURES.items():
        values = sorted(value for run in runs if (value := figure(run)) is not None)
        figures[name] = ""
        if values:
            least, middle, most = (form(value) for value in (values[0], values[(len(values) - 1) // 2], values[-1]))
            figures[name] = middle if least == most else f"{middle} ({least} to {most})"
    return figures


def _texts(runs: Sequence[ComparedRun]) -> dict[str, str]:
    """Return the texts of a column by name: each different one once, with the number of times it occurs."""
    injected = [f"{count:8,} {words}" for run in runs for words, count in run.figures.bill.put_in.items()]
    calls: list[str] = []  # each with the decision on it, and its faults in lines of their own
    for outcome in (outcome for run in runs for outcome in run.result.outcomes):
        text = json.dumps(outcome.asked, ensure_ascii=False, separators=(",", ":"))[:_ARGUMENT_CHARACTERS]
        decision = "not decided" if outcome.decision is None else outcome.decision.words
        lines = [f"{tool_name(outcome.server, outcome.tool)} {text} · {decision}"]
        lines += [f"  schema error: {misfit}" for misfit in outcome.misfits or ()]
        if outcome.fault or outcome.is_error:
            lines.append(f"  failed {outcome.fault}".rstrip())
        calls.append("\n".join(lines))
    return {
        "sessions": "\n".join(run.session for run in runs),
        "injected for": _counted(injected),
        "calls": _counted(calls) or "none",
        "notes": _counted(hosting.note_words(note) for run in runs for note in run.notes),
        "error": _counted(str(run.result.error) for run in runs if run.result.error is not None),
        "answer": _counted(run.result.answer or "none" for run in runs),
    }


def _counted(texts: Iterable[str]) -> str:
    counts = Counter(texts).items()
    return "\n".join(text if count == 1 else f"{count} × {text}" for text, count in counts)
