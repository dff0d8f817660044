"""`compare`: the same question to several models, through several tool protocols, side by side.

The turns are run one after the other, and round after round where each is repeated: time is one of the figures, and two turns at
once would share servers and processors. All have the same host, servers and rules. Nobody is asked: what no rule and no flag
allows is refused, and the option that allows it is told.

`--json` prints `{"question", "repeat", "columns": [{"model", "protocol", "runs": [{"session", "answer", "stop", "requests",
"steps", "bytes": {"sent", "received", "tools", "injected", "injected_for", "cut"}, "usage", "seconds":
{"all", "model"}, "calls", "notes", "error"}], "tools": [{"server", "tool", "runs", "calls"}], "varying": [{"server", "tool",
"call", "argument", "values": [{"json", "runs"}]}], "schema_errors", "answers": [{"answer", "runs"}]}], "error"}`. An entry of
`calls` is one of `ask`, with its `schema_errors`, null where they are not known. `json` is an argument's value as JSON text, null
where it was left out. Bytes are those of bodies, as they were recorded; `tools` those of the vendor's own lists of tools,
`injected` those that the tool protocol put into prompts, `cut` those that the model made up behind a call.
"""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

import anyio

from tui_host.chat.comparison import Column, Run, column_to_json
from tui_host.chat.conversation import title_of
from tui_host.chat.policy import Refuse
from tui_host.cli import command_turn as asking
from tui_host.cli import diagnostics
from tui_host.cli import standard_output as output
from tui_host.cli.columns import laid_out
from tui_host.cli.command_host import Interruption, running
from tui_host.cli.comparison_rows import rows_of
from tui_host.errors import JSON, SettingsError, TuiHostError
from tui_host.host.host import Host
from tui_host.host.turn_measurements import Measuring
from tui_host.settings.mistakes import Report, closest, nearest, shown
from tui_host.settings.schema import PROTOCOLS, ModelRef

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tui_host.cli.arguments import Arguments
    from tui_host.settings.schema import Settings

_WIDTH = 100
"""Cells of a line where standard output is no terminal."""


def compare(arguments: Arguments, settings: Settings) -> int:
    """Ask each, tell what each took, and say by the exit code how it went."""
    comparing = _Comparing(arguments, settings)
    try:
        columns = columns_of(arguments.columns, settings)
        for doubt in doubts_about(columns):
            diagnostics.tell(doubt)
        return anyio.run(comparing.run, columns, asking.question(arguments.words[0], "compare"))
    except SettingsError:
        raise
    except KeyboardInterrupt:
        comparing.tell()
        return diagnostics.INTERRUPTED
    except TuiHostError as error:
        comparing.tell(error)
        raise


def columns_of(words: Sequence[str], settings: Settings) -> list[Column]:
    """Who is to be asked, and how, once each of them can be.

    Args:
        words: As typed, `PROVIDER/MODEL:PROTOCOL`; the last colon counts, if a tool protocol's name follows. Without one it is the
            configured tool protocol.
        settings: What is configured.

    Raises:
        SettingsError: With every mistake.
    """
    report = Report()
    columns: list[Column] = []
    for word in words:
        try:
            column = _column(word, settings)
            asking.check_model(settings, column.model, where=f"--with {shown(word)}", chosen=f"--with {shown(word)}")
        except SettingsError as error:
            report.mistakes += [error, *error.more]
            continue
        if column in columns:
            report.mistake(f"{shown(str(column))} stands twice", "--with", "--repeat N asks each several times")
        columns.append(column)
    report.raise_if_any()
    return columns


def doubts_about(columns: Sequence[Column]) -> Iterator[str]:
    """What is taken as it stands and may be meant otherwise: a model whose name ends almost as if a tool protocol were meant."""
    for column in columns:
        _, _, tail = column.model.model.rpartition(":")
        close = closest(tail, PROTOCOLS) if tail != column.model.model else None
        if close is not None:
            yield (
                f"--with {shown(str(column.model))}: is the tool protocol {close} meant? "
                f'There is none named "{shown(tail)}", so it is taken for a part of the model\'s name'
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


class _Comparing:
    """One `compare`, from its host's start to its end."""

    def __init__(self, arguments: Arguments, settings: Settings) -> None:
        self._arguments = arguments
        self._host = Host(settings, source="ask", record=not arguments.no_record, allow_all=arguments.yes)
        self._question = ""
        self._runs: dict[Column, list[Run]] = {}
        self._is_told = False

    async def run(self, columns: Sequence[Column], text: str) -> int:
        """Take all turns to their ends, and tell what they took; returns the exit code."""
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
            for words in (*asking.unconnected(host), *asking.refusals(results)):
                asking.say(host, words)
        for words in () if self._arguments.no_record else asking.unkept(host):
            asking.say(host, words)
        is_whole = len(results) == len(self._runs) * self._arguments.repeat
        if interruption.code is not None and not is_whole:
            return interruption.code
        return asking.exit_code(results, interruption) if is_whole else diagnostics.FAILED

    async def _all(self, text: str, interruption: Interruption) -> None:
        """One turn after the other, until a signal comes."""
        host = self._host
        measuring = Measuring(host)
        offered: frozenset[tuple[str, str, str]] | None = None
        for number, column in enumerate(self._turns(), start=1):
            if interruption.code is not None:
                return
            self._say_begun(number, column)
            session = host.sessions.new(model=column.model)
            session.protocol = column.protocol
            session.title = title_of(f"compare: {session.redact(text)}")
            result = await asking.take_turn(
                host, session, text, interruption, lambda words, column=column: asking.say(host, f"{column}: {words}")
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
                asking.say(host, f"{column}: the servers' tools are not those of the turn before")
            offered = now

    def _turns(self) -> Iterator[Column]:
        for _ in range(self._arguments.repeat):
            yield from self._runs

    def _say_begun(self, number: int, column: Column) -> None:
        count = len(self._runs) * self._arguments.repeat
        if count > 1:
            diagnostics.tell(f"{number} of {count}: {column}")

    def tell(self, error: TuiHostError | None = None) -> None:
        """What came of it so far, once."""
        if self._is_told:
            return
        self._is_told = True
        if self._arguments.json:
            asking.value(self._host, self._to_json(error))
        elif any(self._runs.values()):
            rows = [rows_of(runs, self._arguments.repeat) for runs in self._runs.values()]
            texts = [{name: self._host.redacted(text) for name, text in column.items()} for column in rows]
            width = shutil.get_terminal_size((_WIDTH, 24)).columns
            output.text("\n".join(laid_out([str(column) for column in self._runs], texts, width)))

    def _to_json(self, error: TuiHostError | None) -> dict[str, JSON]:
        return {
            "question": self._question,
            "repeat": self._arguments.repeat,
            "columns": [column_to_json(column, runs) for column, runs in self._runs.items()],
            "error": None if error is None else error.to_json(),
        }
