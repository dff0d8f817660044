"""The page `Chain`: the steps of a call, each with its bytes and whether the value is still the same."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from tui_host.answers.call_chain import CallChain, chain_of
from tui_host.answers.sheet import Sheet, SheetLine
from tui_host.capture.visible import line

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

    def order(call: str) -> tuple[int, Sequence[int]]:
        return wires.ladder.rows_of_call(call)[0], [int(part) if part.isdecimal() else 0 for part in call.split(".")]

    chains: list[CallChain] = []
    for call in sorted(row.calls, key=order)[:_MOST_CALLS]:
        chain = yield from chain_of(wires, call)
        chains += [chain] if chain is not None else []
    more = len(row.calls) - _MOST_CALLS
    notes = (KEYS, f"{more} more calls are not shown") if more > 0 else (KEYS,)
    return replace(sheet_of(chains), notes=notes if chains else ())


def sheet_of(chains: Sequence[CallChain]) -> Sheet:
    """Return chains as a page."""
    if len(chains) == 1:
        return Sheet(what=chains[0].title, lines=_lines(chains[0]))
    lines = [
        SheetLine(key=chain.call, label=chain.title, style="heading", children=_lines(chain), opened=chain is chains[0])
        for chain in chains
    ]
    return Sheet(what=f"chains of {len(chains)} calls" if chains else "chain", lines=lines, empty=EMPTY)


def _lines(chain: CallChain) -> tuple[SheetLine, ...]:
    lines: list[SheetLine] = []
    count = 0
    for place, step in enumerate(chain.steps):
        is_main = step.happened not in {"during", "again"}
        count += is_main
        time = "" if step.milliseconds is None else f"{step.milliseconds / 1000:.2f}"
        words = "  ".join(line(part, 400) for part in (step.row, step.place, step.value) if part)
        words += f"  · {line(step.state, 400)}" if step.state else ""
        words += "".join(f"  · {line(repeat, 200)}" for repeat in step.repeats)
        pieces = [
            SheetLine(
                key=f"{number}",
                label=f"{piece.part:<11}bytes {piece.start:,} to {piece.end:,}  {line(piece.text, 120)}",
                style="note" if piece.part == "cut" else "",
                text=lambda piece=piece: piece.text,
                target=step.target,
            )
            for number, piece in enumerate(step.pieces)
        ]
        step_line = SheetLine(
            key=f"{place}",
            label=f"{count if is_main else ' '} {step.happened:<8} {time:>7}  {words}"[:_LABEL],
            style="note" if not step.row or step.happened == "during" else "what",
            text=pieces[0].text if len(pieces) == 1 else None,
            children=tuple(pieces) if len(pieces) > 1 else (),
            target=step.target,
        )
        lines.append(step_line)
    return tuple(lines)
