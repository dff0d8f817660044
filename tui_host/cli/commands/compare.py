"""`compare`: asks several models the same question, through several tool protocols, and prints the results side by side.

Turns run one after the other, round by round with `--repeat`: time is a figure, and turns in parallel would share servers and
processors. All turns have the same host, servers and rules. Nobody is asked: a call that no rule and no flag allows is refused, and
the option that allows it is named.

The form of `--json` stands in `docs/usage.md`.
"""

from __future__ import annotations

import json
import shutil
from argparse import Namespace
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from tui_host.capture.visible import tool_name
from tui_host.cli import diagnostics, options, output
from tui_host.cli.hosting import print_value, run_async, running, say, say_unkept, unconnected
from tui_host.errors import JSON, SettingsError, TuiHostError
from tui_host.host.host import Host

if TYPE_CHECKING:
    from tui_host.chat.comparison import Chosen, Column, Run, Varying
    from tui_host.chat.turn_result import Outcome
    from tui_host.cli.hosting import Interruption
    from tui_host.settings.schema import Settings

_SHOWN_ANSWERS = 3
_ARGUMENT_CHARACTERS = 300
_CELLS = 100  # of a line, if standard output is no terminal
_CALL_TEXTS = ("calls", "tools chosen", "decisions", "arguments vary", "schema errors")
_TEXTS = ("session", "sessions", "injected for", *_CALL_TEXTS, "notes", "error", "answer")
"""Names of the rows that hold text, not figures."""


def add(parser: options.CommandParser) -> None:
    """Add the options."""
    parser.description = "Put the same question to several models or tool protocols, one after the other, and compare costs, tool calls and answers."
    options.json_too(parser)
    parser.add_argument(
        "--with",
        dest="columns",
        action="append",
        required=True,
        type=options.name_of,
        metavar="PROVIDER/MODEL[:PROTOCOL]",
        help="a model to ask, and the tool protocol to use; repeatable",
    )
    parser.option("--repeat", "N", "ask each model N times, and compare", options.count_of, default=1)
    options.turn(parser)


def run(args: Namespace, settings: Settings) -> int:
    """Ask each model, print the comparison, and return the exit code."""
    from tui_host.cli.turn import question, reporting

    comparing = _CompareRun(args, settings)

    def compare() -> int:
        columns = columns_of(args.columns, settings)
        return run_async(comparing.run, columns, question(args.text, "compare"))

    return reporting(compare, lambda _, error: comparing.tell(error))


# What to compare.


def columns_of(words: Sequence[str], settings: Settings) -> list[Column]:
    """Parse and check the columns; the configured tool protocol is the default. Raises SettingsError with all mistakes."""
    from tui_host.cli.turn import check_model
    from tui_host.settings.mistakes import Report, shown

    report = Report()
    columns: list[Column] = []
    for word in words:
        where = f"--with {shown(word)}"
        try:
            column = _column(word, settings, where)
            check_model(settings, column.model, where=where, chosen=where)
        except SettingsError as error:
            report.mistakes += [error, *error.more]
            continue
        if column in columns:
            report.mistake(f"{shown(str(column))} is given twice", "--with", "use --repeat N to ask several times")
        columns.append(column)
    report.raise_if_any()
    return columns


def _column(word: str, settings: Settings, where: str) -> Column:
    from tui_host.chat.comparison import Column
    from tui_host.settings.mistakes import closest, nearest, shown
    from tui_host.settings.schema import PROTOCOLS, ModelRef

    head, colon, tail = word.rpartition(":")
    model, protocol = (head, tail) if colon and tail in PROTOCOLS else (word, settings.protocol)
    name, slash, rest = model.partition("/")
    provider = settings.providers.get(name)
    if provider is None:
        raise SettingsError(f'no provider "{shown(name)}"', where, nearest(name, tuple(settings.providers)))
    if not slash or not rest:
        example = f"{name}/{provider.default_model or 'MODEL'}:{protocol}"
        raise SettingsError("expected PROVIDER/MODEL:PROTOCOL", where, f"write {example}")
    known, colon, unknown = rest.rpartition(":")
    close = closest(unknown, PROTOCOLS) if colon else None
    if provider.embedded and known in provider.models:
        raise SettingsError(f'no tool protocol "{shown(unknown)}"', where, nearest(unknown, PROTOCOLS))
    if provider.embedded and rest not in provider.models:
        raise SettingsError(f'{name} has no model "{shown(rest)}"', where, nearest(rest, provider.models))
    if close is not None:
        taken = f'"{shown(unknown)}" is no tool protocol, so it is taken as part of the model\'s name'
        diagnostics.tell(f"{where}: did you mean the tool protocol {close}? {taken}")
    return Column(model=ModelRef(provider=name, model=rest), protocol=protocol)


class _CompareRun:
    """A single run of `compare`, from the host's start to its end."""

    def __init__(self, args: Namespace, settings: Settings) -> None:
        from tui_host.chat.policy import Refuse

        self._args = args
        self._host = Host(settings, source="ask", record=not args.no_record, allow_all=args.yes)
        self._host.approver = Refuse()  # turns would otherwise wait for a person, and time is a figure
        self._question = ""
        self._runs: dict[Column, list[Run]] = {}
        self._is_told = False

    async def run(self, columns: Sequence[Column], text: str) -> int:
        """Run all turns, print the comparison, and return the exit code."""
        from tui_host.cli.turn import exit_code, refusals, unmatched_flags

        host, self._question = self._host, text
        self._runs = {column: [] for column in columns}
        async with running(host) as interruption:
            try:
                await self._take_turns(interruption)
            except TuiHostError as error:
                self.tell(error)
                raise
            self.tell()
            results = [run.result for runs in self._runs.values() for run in runs]
            for words in (*unconnected(host), *unmatched_flags(host), *refusals(results)):
                say(host, words)
        if not self._args.no_record:
            say_unkept(host)
        is_whole = len(results) == len(self._runs) * self._args.repeat
        if interruption.code is not None and not is_whole:
            return interruption.code
        return exit_code(results, interruption) if is_whole else diagnostics.FAILED

    async def _take_turns(self, interruption: Interruption) -> None:
        """Run the turns one after the other, until a signal arrives."""
        from tui_host.chat.conversation import title_of
        from tui_host.cli.turn import take_turn
        from tui_host.host.turn_measurements import TurnMeter

        host, meter = self._host, TurnMeter(self._host)
        offered: frozenset[tuple[str, str, str]] | None = None
        turns = [column for _ in range(self._args.repeat) for column in self._runs]
        for number, column in enumerate(turns, start=1):
            if interruption.code is not None:
                return
            if len(turns) > 1:
                diagnostics.tell(f"{number} of {len(turns)}: {column}")
            session = host.sessions.new(model=column.model)
            session.protocol = column.protocol
            # Titles are stored, so no secret may stand in them.
            session.title = title_of(f"compare: {session.redact(self._question)}")

            def note(words: str, column: Column = column) -> None:
                say(host, f"{column}: {words}")

            result = await take_turn(host, session, self._question, interruption, note)
            if result is None:
                return
            self._runs[column].append(await meter.run(session, result))
            tools = () if host.pool is None else host.pool.tools()
            now = frozenset((tool.server, tool.name, tool.fingerprint) for tool in tools)
            if offered is not None and now != offered:
                note("the servers' tools have changed since the previous turn")
            offered = now

    def tell(self, error: TuiHostError | None = None) -> None:
        """Print the results so far, unless already printed."""
        from tui_host.chat.comparison import column_to_json
        from tui_host.cli.columns import laid_out

        if self._is_told:
            return
        self._is_told = True
        if self._args.json:
            value: dict[str, JSON] = {
                "question": self._question,
                "repeat": self._args.repeat,
                "columns": [column_to_json(column, runs) for column, runs in self._runs.items()],
                "error": None if error is None else error.to_json(),
            }
            print_value(self._host, value)
        elif any(self._runs.values()):
            rows = [rows_of(runs, self._args.repeat) for runs in self._runs.values()]
            texts = [{name: self._host.redacted(text) for name, text in column.items()} for column in rows]
            width = shutil.get_terminal_size((_CELLS, 24)).columns
            output.text("\n".join(laid_out([str(column) for column in self._runs], texts, width, _TEXTS)))


# The comparison in words.


def rows_of(runs: Sequence[Run], repeat: int) -> dict[str, str]:
    """Return the rows of a column: figures and texts by row name. `repeat` is the number of runs asked for."""
    if not runs:
        return {"ended": "not asked"}
    rows = dict(_figures(runs, repeat))
    rows |= _of_one_run(runs[0]) if repeat == 1 else _of_several_runs(runs)
    notes = [f"{note.what} ({note.remedy})" if note.remedy else note.what for run in runs for note in run.notes]
    errors = [str(run.result.error) for run in runs if run.result.error is not None]
    for name, words in (("notes", notes), ("error", errors)):
        if words:
            rows[name] = _counted(words)
    rows["answer"] = _answers(runs)
    return rows


def _figures(runs: Sequence[Run], repeat: int) -> Iterator[tuple[str, str]]:
    from tui_host.answers.token_prices import money

    bytes_sent = sum(run.figures.bill.size for run in runs)

    def share(figure: Callable[[Run], int]) -> str:
        part = sum(map(figure, runs))
        return f"{_spread(runs, figure, unit=' B')} · {part / bytes_sent:.0%} of sent" if part else "nothing"

    yield ("session" if repeat == 1 else "sessions"), "\n".join(run.session for run in runs)
    ends = Counter(run.result.stop for run in runs)
    yield "ended", ", ".join(f"{end} {count} of {repeat}" if repeat > 1 else end for end, count in ends.items())
    yield "requests", _spread(runs, lambda run: run.figures.requests)
    yield "steps", _spread(runs, lambda run: run.result.steps)
    tokens_in = _spread(runs, lambda run: run.result.tokens("input_total"), unit=" tok")
    tokens_out = _spread(runs, lambda run: run.result.tokens("output_total"), unit=" tok")
    yield "sent", " · ".join(filter(None, (_spread(runs, lambda run: run.figures.bill.size, unit=" B"), tokens_in)))
    yield "received", " · ".join(filter(None, (_spread(runs, lambda run: run.figures.received, unit=" B"), tokens_out)))
    yield "tools", share(lambda run: run.figures.bill.tools)
    yield "injected", share(lambda run: run.figures.injected_total)
    if cost := _spread(runs, lambda run: run.figures.bill.cost, money):
        yield "by your prices", cost
    if any(run.figures.cut for run in runs):
        yield "left out", _spread(runs, lambda run: run.figures.cut, unit=" B")
    yield "time", _spread(runs, lambda run: run.figures.seconds, "{:.2f}".format, " s")
    yield "of it, model", _spread(runs, lambda run: run.figures.model_seconds, "{:.2f}".format, " s")


def _spread(
    runs: Sequence[Run],
    figure: Callable[[Run], float | None],
    form: Callable[[float], str] = "{:,}".format,
    unit: str = "",
) -> str:
    """Format a figure of several runs: the median, followed by the range."""
    from tui_host.chat.comparison import spread

    figures = spread(runs, figure)
    if figures is None:
        return ""
    least, middle, most = map(form, figures)
    return f"{middle}{unit}" if least == most else f"{middle}{unit} ({least}–{most})"


def _of_one_run(run: Run) -> dict[str, str]:
    """Name what was injected, and each call with the decision on it and its faults."""
    calls: list[str] = []
    for outcome in run.result.outcomes:
        calls.append(f"{_tool(outcome)} {_cut(outcome.asked)} · {_decision(outcome)}")
        calls += [f"  schema error: {misfit}" for misfit in outcome.misfits or ()]
        if outcome.fault or outcome.is_error:
            calls.append(f"  failed: {outcome.fault}" if outcome.fault else "  failed")
    injected = [f"{size:8,} {words}" for words, size in run.figures.bill.put_in.items()]
    rows = {"injected for": "\n".join(injected)} if injected else {}
    return {**rows, "calls": "\n".join(calls) or "none"}


def _of_several_runs(runs: Sequence[Run]) -> dict[str, str]:
    """Describe which calls all runs have in common, and which differ."""
    from tui_host.chat.comparison import chosen, unfit, varying

    tools: list[str] = []
    for entry in chosen(runs):
        more = f", {entry.calls} calls" if entry.calls != entry.runs else ""
        tools.append(f"{_tool(entry)}  {entry.runs} of {len(runs)} runs{more}")
    if not tools:
        return {"tools chosen": "none"}
    vary: list[str] = []
    for entry in varying(runs):
        values = (f"{'left out' if value is None else _cut(value)} in {count}" for value, count in entry.values)
        vary.append(f"{_tool(entry)} #{entry.call} {entry.argument}: {', '.join(values)}")
    return {
        "tools chosen": "\n".join(tools),
        "decisions": _counted(_decision(outcome) for run in runs for outcome in run.result.outcomes),
        "arguments vary": "\n".join(vary) or "no",
        "schema errors": _counted(f"{_tool(outcome)} {words}" for outcome, words in unfit(runs)) or "none",
    }


def _answers(runs: Sequence[Run]) -> str:
    from tui_host.chat.comparison import answers

    different = answers(runs)
    if len(runs) == 1:
        return different[0][0] or "none"
    shown = [f"{count} of {len(runs)}: {answer or 'none'}" for answer, count in different[:_SHOWN_ANSWERS]]
    more = len(different) - _SHOWN_ANSWERS
    return "\n".join([*shown, f"and {more} more"] if more > 0 else shown)


def _tool(called: Outcome | Chosen | Varying) -> str:
    return tool_name(called.server, called.tool)


def _decision(outcome: Outcome) -> str:
    return outcome.decision.words if outcome.decision is not None else "not decided"


def _counted(sentences: Iterable[str]) -> str:
    """Return each different sentence once, with the number of times it occurs."""
    counts = Counter(sentences).items()
    return "\n".join(sentence if count == 1 else f"{count} × {sentence}" for sentence, count in counts)


def _cut(value: JSON) -> str:
    """Format a call's arguments, or the model's text if it is not JSON."""
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return text if len(text) <= _ARGUMENT_CHARACTERS else f"{text[: _ARGUMENT_CHARACTERS - 1]}…"
