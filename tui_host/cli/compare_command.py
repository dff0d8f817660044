"""`compare`: asks several models the same question, through several tool protocols, and prints the results side by side.

Turns run one after the other, round by round with `--repeat`: time is a figure, and turns in parallel would share servers and
processors. All turns have the same host, servers and rules. Nobody is asked: a call that no rule and no flag allows is refused, and
the option that allows it is named.

`--json` prints `{"question", "repeat", "columns": [{"model", "protocol", "runs": [{"session", "answer", "stop", "requests",
"steps", "bytes": {"sent", "received", "tools", "injected", "injected_for", "cut"}, "usage", "money", "seconds":
{"all", "model"}, "calls", "notes", "error"}], "tools": [{"server", "tool", "runs", "calls"}], "varying": [{"server", "tool",
"call", "argument", "values": [{"json", "runs"}]}], "schema_errors", "answers": [{"answer", "runs"}]}], "error"}`. An entry of
`calls` is as in `ask`; its `schema_errors` are null if unknown. `json` is an argument's value as JSON text, null where left out.
Bytes and `money` (by configured prices, else null) are those of the page Bill: `tools` are the tools' definitions, `injected` was added
to prompts by the tool protocol; `cut` was made up by the model behind a call.
"""

from __future__ import annotations

import json
import shutil
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

import anyio

from tui_host.answers.token_prices import money
from tui_host.capture.visible import tool_name
from tui_host.chat.comparison import Column, Run, answers, chosen, column_to_json, spread, unfit, varying
from tui_host.chat.conversation import title_of
from tui_host.chat.policy import Refuse
from tui_host.cli import command_turn, diagnostics
from tui_host.cli import standard_output as output
from tui_host.cli.columns import laid_out
from tui_host.cli.command_host import Interruption, running
from tui_host.cli.command_turn import note_words
from tui_host.errors import JSON, SettingsError, TuiHostError
from tui_host.host.host import Host
from tui_host.host.turn_measurements import TurnMeter
from tui_host.settings.mistakes import Report, closest, nearest, shown
from tui_host.settings.schema import PROTOCOLS, ModelRef

if TYPE_CHECKING:
    from tui_host.chat.turn_result import Outcome
    from tui_host.cli.arguments import Arguments
    from tui_host.settings.schema import Settings


MOST_ANSWERS = 3
"""Largest number of different answers to show."""
MOST_ARGUMENTS = 300
"""Largest number of characters of a call's arguments to show."""


def rows_of(runs: Sequence[Run], repeat: int) -> dict[str, str]:
    """Return the rows of a column: figures and texts by row name. `repeat` is the number of runs asked for."""
    if not runs:
        return {"ended": "not asked"}
    rows = dict(_figures(runs, repeat))
    if repeat == 1:
        if injected := runs[0].figures.bill.put_in:
            rows["injected for"] = "\n".join(f"{size:8,} {words}" for words, size in injected.items())
        rows["calls"] = "\n".join(_calls(runs[0])) or "none"
    else:
        rows |= _repeated(runs)
    notes = [note_words(note) for run in runs for note in run.notes]
    errors = [str(run.result.error) for run in runs if run.result.error is not None]
    rows |= {name: "\n".join(_times(words)) for name, words in (("notes", notes), ("error", errors)) if words}
    rows["answer"] = _answers(runs)
    return rows


def _figures(runs: Sequence[Run], repeat: int) -> Iterator[tuple[str, str]]:
    yield ("session" if repeat == 1 else "sessions"), "\n".join(run.session for run in runs)
    ends = Counter(run.result.stop for run in runs)
    yield "ended", ", ".join(ends) if repeat == 1 else ", ".join(f"{end} {ends[end]} of {repeat}" for end in ends)
    yield "requests", _spread(runs, lambda run: run.figures.requests)
    yield "steps", _spread(runs, lambda run: run.result.steps)
    tokens_in = _spread(runs, lambda run: run.result.tokens("input_total"), " tok")
    tokens_out = _spread(runs, lambda run: run.result.tokens("output_total"), " tok")
    yield "sent", _joined(_spread(runs, lambda run: run.figures.bill.size, " B"), tokens_in)
    yield "received", _joined(_spread(runs, lambda run: run.figures.received, " B"), tokens_out)
    yield "tools", _share(runs, lambda run: run.figures.bill.tools)
    yield "injected", _share(runs, lambda run: run.figures.injected_total)
    if paid := spread(runs, lambda run: run.figures.bill.cost):
        least, middle, most = map(money, paid)
        yield "by your prices", middle if least == most else f"{middle} ({least}–{most})"
    if any(run.figures.cut for run in runs):
        yield "left out", _spread(runs, lambda run: run.figures.cut, " B")
    yield "time", _seconds(runs, lambda run: run.figures.seconds)
    yield "of it, model", _seconds(runs, lambda run: run.figures.model_seconds)


def _joined(*words: str) -> str:
    return " · ".join(word for word in words if word)


def _spread(runs: Sequence[Run], figure: Callable[[Run], int | None], unit: str = "") -> str:
    """Format a figure of several runs: the median, followed by the range."""
    figures = spread(runs, figure)
    if figures is None:
        return ""
    least, middle, most = figures
    return f"{middle:,}{unit}" if least == most else f"{middle:,}{unit} ({least:,}–{most:,})"


def _share(runs: Sequence[Run], figure: Callable[[Run], int]) -> str:
    """Format a number of bytes with its share of all bytes sent."""
    part, whole = sum(map(figure, runs)), sum(run.figures.bill.size for run in runs)
    return f"{_spread(runs, figure, ' B')} · {part / whole:.0%} of sent" if part else "nothing"


def _seconds(runs: Sequence[Run], figure: Callable[[Run], float | None]) -> str:
    figures = spread(runs, figure)
    if figures is None:
        return ""
    least, middle, most = figures
    return f"{middle:.2f} s" if len(runs) == 1 else f"{middle:.2f} s ({least:.2f}–{most:.2f})"


def _calls(run: Run) -> Iterator[str]:
    """Describe each call with the decision on it and its faults."""
    for outcome in run.result.outcomes:
        decision = outcome.decision
        words = decision.words if decision is not None else "not decided"
        yield f"{tool_name(outcome.server, outcome.tool)} {_short(outcome.asked)} · {words}"
        yield from (f"  schema error: {misfit}" for misfit in outcome.misfits or ())
        if outcome.fault or outcome.is_error:
            yield f"  failed{f': {outcome.fault}' if outcome.fault else ''}"


def _repeated(runs: Sequence[Run]) -> Mapping[str, str]:
    """Describe which calls all runs have in common, and which differ."""
    tools = [
        f"{tool_name(entry.server, entry.tool)}  {entry.runs} of {len(runs)} runs"
        + (f", {entry.calls} calls" if entry.calls != entry.runs else "")
        for entry in chosen(runs)
    ]
    vary = [
        f"{tool_name(entry.server, entry.tool)} #{entry.call} {entry.argument}: "
        + ", ".join(f"{_cut(value) if value is not None else 'left out'} in {count}" for value, count in entry.values)
        for entry in varying(runs)
    ]
    wrong = [f"{tool_name(outcome.server, outcome.tool)} {words}" for outcome, words in unfit(runs)]
    rows = {"tools chosen": "\n".join(tools) or "none"}
    if tools:
        decided = [_decided(outcome) for run in runs for outcome in run.result.outcomes]
        rows |= {
            "decisions": "\n".join(_times(decided)),
            "arguments vary": "\n".join(vary) or "no",
            "schema errors": "\n".join(_times(wrong)) or "none",
        }
    return rows


def _decided(outcome: Outcome) -> str:
    return outcome.decision.words if outcome.decision is not None else "not decided"


def _times(words: Iterable[str]) -> Iterator[str]:
    """Yield each different sentence once, with the number of times it occurs."""
    for sentence, count in Counter(words).items():
        yield sentence if count == 1 else f"{count} × {sentence}"


def _answers(runs: Sequence[Run]) -> str:
    different = answers(runs)
    if len(runs) == 1:
        return different[0][0] or "none"
    shown = [f"{count} of {len(runs)}: {answer or 'none'}" for answer, count in different[:MOST_ANSWERS]]
    more = len(different) - MOST_ANSWERS
    return "\n".join([*shown, *([f"and {more} more"] if more > 0 else [])])


def _short(value: JSON) -> str:
    """Format a call's arguments, or the model's text if it is not JSON."""
    if isinstance(value, str):
        return _cut(value)
    return _cut(json.dumps(value, ensure_ascii=False, separators=(",", ":")))


def _cut(text: str) -> str:
    return text if len(text) <= MOST_ARGUMENTS else f"{text[: MOST_ARGUMENTS - 1]}…"


_CALL_TEXTS = ("calls", "tools chosen", "decisions", "arguments vary", "schema errors")
_TEXTS = ("session", "sessions", "injected for", *_CALL_TEXTS, "notes", "error", "answer")
"""Names of the rows that hold text, not figures."""
_WIDTH = 100
"""Line width in cells, for a standard output that is not a terminal."""


def compare(arguments: Arguments, settings: Settings) -> int:
    """Ask each model, print the comparison, and return the exit code."""
    comparing = _CompareRun(arguments, settings)
    try:
        columns = columns_of(arguments.columns, settings)
        for doubt in doubts_about(columns):
            diagnostics.tell(doubt)
        return anyio.run(comparing.run, columns, command_turn.question(arguments.words[0], "compare"))
    except SettingsError:
        raise
    except KeyboardInterrupt:
        comparing.tell()
        return diagnostics.INTERRUPTED
    except TuiHostError as error:
        comparing.tell(error)
        raise


def columns_of(words: Sequence[str], settings: Settings) -> list[Column]:
    """Parse and check the columns, `PROVIDER/MODEL:PROTOCOL`. The configured tool protocol is the default.

    Raises:
        SettingsError: A column is invalid. Contains all mistakes.
    """
    report = Report()
    columns: list[Column] = []
    for word in words:
        try:
            column = _column(word, settings)
            command_turn.check_model(
                settings, column.model, where=f"--with {shown(word)}", chosen=f"--with {shown(word)}"
            )
        except SettingsError as error:
            report.mistakes += [error, *error.more]
            continue
        if column in columns:
            report.mistake(f"{shown(str(column))} is given twice", "--with", "use --repeat N to ask several times")
        columns.append(column)
    report.raise_if_any()
    return columns


def doubts_about(columns: Sequence[Column]) -> Iterator[str]:
    """Yield questions about model names that end almost like the name of a tool protocol."""
    for column in columns:
        _, _, tail = column.model.model.rpartition(":")
        close = closest(tail, PROTOCOLS) if tail != column.model.model else None
        if close is not None:
            yield (
                f"--with {shown(str(column.model))}: did you mean the tool protocol {close}? "
                f'"{shown(tail)}" is no tool protocol, so it is taken as part of the model\'s name'
            )


def _column(word: str, settings: Settings) -> Column:
    head, colon, tail = word.rpartition(":")
    model, protocol = (head, tail) if colon and tail in PROTOCOLS else (word, settings.protocol)
    name, slash, rest = model.partition("/")
    provider = settings.providers.get(name)
    where = f"--with {shown(word)}"
    if provider is None:
        raise SettingsError(f'no provider "{shown(name)}"', where, nearest(name, tuple(settings.providers)))
    if not slash or not rest:
        example = f"{name}/{provider.default_model or 'MODEL'}:{protocol}"
        raise SettingsError("expected PROVIDER/MODEL:PROTOCOL", where, f"write {example}")
    if provider.embedded and rest not in provider.models:
        first, cut, unknown = rest.rpartition(":")
        if cut and first in provider.models:
            raise SettingsError(f'no tool protocol "{shown(unknown)}"', where, nearest(unknown, PROTOCOLS))
        raise SettingsError(f'{name} has no model "{shown(rest)}"', where, nearest(rest, provider.models))
    return Column(model=ModelRef(provider=name, model=rest), protocol=protocol)


class _CompareRun:
    """A single run of `compare`, from the host's start to its end."""

    def __init__(self, arguments: Arguments, settings: Settings) -> None:
        self._arguments = arguments
        self._host = Host(settings, source="ask", record=not arguments.no_record, allow_all=arguments.yes)
        self._question = ""
        self._runs: dict[Column, list[Run]] = {}
        self._is_told = False

    async def run(self, columns: Sequence[Column], text: str) -> int:
        """Run all turns, print the comparison, and return the exit code."""
        host, self._question = self._host, text
        self._runs = {column: [] for column in columns}
        host.approver = Refuse()
        async with running(host) as interruption:
            for notice in host.notices:
                diagnostics.tell(notice)
            try:
                await self._all(text, interruption)
            except TuiHostError as error:
                self.tell(error)
                raise
            self.tell()
            results = [run.result for runs in self._runs.values() for run in runs]
            for words in (*command_turn.unconnected(host), *command_turn.refusals(results)):
                command_turn.say(host, words)
        for words in () if self._arguments.no_record else command_turn.unkept(host):
            command_turn.say(host, words)
        is_whole = len(results) == len(self._runs) * self._arguments.repeat
        if interruption.code is not None and not is_whole:
            return interruption.code
        return command_turn.exit_code(results, interruption) if is_whole else diagnostics.FAILED

    async def _all(self, text: str, interruption: Interruption) -> None:
        """Run the turns one after the other, until a signal arrives."""
        host = self._host
        measuring = TurnMeter(host)
        offered: frozenset[tuple[str, str, str]] | None = None
        for number, column in enumerate(self._turns(), start=1):
            if interruption.code is not None:
                return
            self._say_begun(number, column)
            session = host.sessions.new(model=column.model)
            session.protocol = column.protocol
            session.title = title_of(f"compare: {session.redact(text)}")
            result = await command_turn.take_turn(
                host,
                session,
                text,
                interruption,
                lambda words, column=column: command_turn.say(host, f"{column}: {words}"),
            )
            if result is None:
                return
            self._runs[column].append(await measuring.run(session, result))
            now = (
                frozenset((tool.server, tool.name, tool.fingerprint) for tool in host.pool.tools())
                if host.pool
                else None
            )
            if offered is not None and now != offered:
                command_turn.say(host, f"{column}: the servers' tools have changed since the previous turn")
            offered = now

    def _turns(self) -> Iterator[Column]:
        for _ in range(self._arguments.repeat):
            yield from self._runs

    def _say_begun(self, number: int, column: Column) -> None:
        count = len(self._runs) * self._arguments.repeat
        if count > 1:
            diagnostics.tell(f"{number} of {count}: {column}")

    def tell(self, error: TuiHostError | None = None) -> None:
        """Print the results so far, unless already printed."""
        if self._is_told:
            return
        self._is_told = True
        if self._arguments.json:
            command_turn.value(self._host, self._to_json(error))
        elif any(self._runs.values()):
            rows = [rows_of(runs, self._arguments.repeat) for runs in self._runs.values()]
            texts = [{name: self._host.redacted(text) for name, text in column.items()} for column in rows]
            width = shutil.get_terminal_size((_WIDTH, 24)).columns
            output.text("\n".join(laid_out([str(column) for column in self._runs], texts, width, _TEXTS)))

    def _to_json(self, error: TuiHostError | None) -> dict[str, JSON]:
        return {
            "question": self._question,
            "repeat": self._arguments.repeat,
            "columns": [column_to_json(column, runs) for column, runs in self._runs.items()],
            "error": None if error is None else error.to_json(),
        }
