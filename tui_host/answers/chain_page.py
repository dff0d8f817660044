"""The page `Chain`: the steps of a call, each with its bytes and whether the value is still the same."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from tui_host.answers.call_chain import chain_of
from tui_host.answers.chain_steps import CallChain, CallStep, StepPiece
from tui_host.answers.sheet import Sheet, SheetLine, Style
from tui_host.capture.short_units import short_time
from tui_host.capture.visible import line, tool_called

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tui_host.answers.steps import Steps
    from tui_host.answers.wires import Wires
    from tui_host.capture.ladder.row import Row

EMPTY = "The steps of a call stand here: what the model asked, who decided, what was sent, answered, told and said."
KEYS = "enter shows the bytes of a step, o goes to its row"
_MOST_CALLS = 50
_LABEL = 900


def chain_page(wires: Wires, row: Row) -> Steps[Sheet]:
    """Make the page of a row: the chain of its call, or of each of its calls, the first one open."""
    chains: list[CallChain] = []
    calls = sorted(row.calls, key=lambda call: (wires.ladder.rows_of_call(call)[0], _numbers(call)))
    for call in calls[:_MOST_CALLS]:
        chain = yield from chain_of(wires, call)
        chains += [chain] if chain is not None else []
    sheet = sheet_of(chains)
    more = len(calls) - _MOST_CALLS
    notes = (KEYS, f"{more} more calls are not shown") if more > 0 else (KEYS,)
    return replace(sheet, notes=notes if chains else ())


def sheet_of(chains: Sequence[CallChain]) -> Sheet:
    """Return chains as a page."""
    if not chains:
        return Sheet(what="chain", lines=(), empty=EMPTY)
    if len(chains) == 1:
        return Sheet(what=title_of(chains[0]), lines=_lines(chains[0]))
    lines = [
        SheetLine(
            key=chain.call, label=title_of(chain), style="heading", children=_lines(chain), opened=chain is chains[0]
        )
        for chain in chains
    ]
    return Sheet(what=f"chains of {len(chains)} calls", lines=lines)


def title_of(chain: CallChain) -> str:
    """Return the call in a line: `lab.lookup  call 1.1.2 = lab #4, connection 1  19.3 s, of it you 11.2 s`."""
    row = f" = {chain.row}" if chain.row else ""
    connection = f", connection {chain.connection}" if chain.connection else ""
    waited = f", of it {short_time(chain.waited)} until decided" if chain.waited >= 100 else ""
    name = line(tool_called(chain.server, chain.tool), 200)
    return f"{name}  call {line(chain.call, 60)}{row}{connection}  {short_time(chain.milliseconds)}{waited}"


def _numbers(call: str) -> Sequence[int]:
    return [int(part) if part.isdecimal() else 0 for part in call.split(".")]


def _lines(chain: CallChain) -> tuple[SheetLine, ...]:
    lines: list[SheetLine] = []
    number = 0
    for place, step in enumerate(chain.steps):
        is_main = step.happened not in {"during", "again"}
        number += is_main
        lines.append(_line(f"{number}" if is_main else " ", step, place))
    return tuple(lines)


def _line(number: str, step: CallStep, place: int) -> SheetLine:
    time = "" if step.milliseconds is None else f"{step.milliseconds / 1000:.2f}"
    words = "  ".join(line(part, 400) for part in (step.row, step.place, step.value) if part)
    state = f"  · {line(step.state, 400)}" if step.state else ""
    repeats = "".join(f"  · {line(words, 200)}" for words in step.repeats)
    label = f"{number} {step.happened:<8} {time:>7}  {words}{state}{repeats}"
    several = step.pieces if len(step.pieces) > 1 else ()
    style: Style = "note" if not step.row or step.happened == "during" else "what"
    return SheetLine(
        key=f"{place}",
        label=label[:_LABEL],
        style=style,
        text=(lambda: step.pieces[0].text) if len(step.pieces) == 1 else None,
        children=tuple(_piece(number, piece, step.target) for number, piece in enumerate(several)),
        target=step.target,
    )


def _piece(number: int, piece: StepPiece, target: tuple[str, int] | None) -> SheetLine:
    return SheetLine(
        key=str(number),
        label=f"{piece.part:<11}bytes {piece.start:,} to {piece.end:,}  {line(piece.text, 120)}",
        style="note" if piece.part == "cut" else "",
        text=lambda: piece.text,
        target=target,
    )
