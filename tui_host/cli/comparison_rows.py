"""What `compare` tells a person of one column, in named rows."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from tui_host.capture.visible import tool_name
from tui_host.chat.comparison import Run, answers, chosen, spread, unfit, varying
from tui_host.cli.command_turn import note_words

if TYPE_CHECKING:
    from tui_host.chat.call_outcome import Outcome
    from tui_host.errors import JSON

MOST_ANSWERS = 3
"""Different answers that are shown."""
MOST_ARGUMENTS = 300
"""Characters of a call's arguments that are shown."""


def rows_of(runs: Sequence[Run], repeat: int) -> dict[str, str]:
    """The rows of one column.

    Args:
        runs: Those that were made.
        repeat: How many should be.
    """
    if not runs:
        return {"ended": "not asked"}
    found = dict(_figures(runs, repeat))
    if repeat == 1:
        found["calls"] = "\n".join(_calls(runs[0])) or "none"
    else:
        found |= _repeated(runs)
    notes = [note_words(note) for run in runs for note in run.notes]
    errors = [str(run.result.error) for run in runs if run.result.error is not None]
    found |= {name: "\n".join(_times(words)) for name, words in (("notes", notes), ("error", errors)) if words}
    found["answer"] = _answers(runs)
    return found


def _figures(runs: Sequence[Run], repeat: int) -> Iterator[tuple[str, str]]:
    yield ("session" if repeat == 1 else "sessions"), "\n".join(run.session for run in runs)
    ends = Counter(run.result.stop for run in runs)
    yield "ended", ", ".join(ends) if repeat == 1 else ", ".join(f"{end} {ends[end]} of {repeat}" for end in ends)
    yield "requests", _spread(runs, lambda run: run.figures.requests)
    yield "steps", _spread(runs, lambda run: run.result.steps)
    tokens_in = _spread(runs, lambda run: run.result.tokens("input_total"), " tok")
    tokens_out = _spread(runs, lambda run: run.result.tokens("output_total"), " tok")
    yield "sent", _joined(_spread(runs, lambda run: run.figures.sent, " B"), tokens_in)
    yield "received", _joined(_spread(runs, lambda run: run.figures.received, " B"), tokens_out)
    yield "tool lists", _share(runs, lambda run: run.figures.tools)
    injected = [f"{size:8,} {words}" for words, size in runs[0].figures.injected.items()] if repeat == 1 else []
    yield "injected", "\n".join([_share(runs, lambda run: run.figures.injected_total), *injected])
    if any(run.figures.cut for run in runs):
        yield "left out", _spread(runs, lambda run: run.figures.cut, " B")
    yield "time", _seconds(runs, lambda run: run.figures.seconds)
    yield "of it, model", _seconds(runs, lambda run: run.figures.model_seconds)


def _joined(*words: str) -> str:
    return " · ".join(each for each in words if each)


def _spread(runs: Sequence[Run], figure: Callable[[Run], int | None], unit: str = "") -> str:
    """A figure of several runs: the middle one, and how far they are apart."""
    found = spread(runs, figure)
    if found is None:
        return ""
    least, middle, most = found
    return f"{middle:,}{unit}" if least == most else f"{middle:,}{unit} ({least:,}–{most:,})"


def _share(runs: Sequence[Run], figure: Callable[[Run], int]) -> str:
    """Bytes, and how much of what was sent they are."""
    part, whole = sum(map(figure, runs)), sum(run.figures.sent for run in runs)
    return f"{_spread(runs, figure, ' B')} · {part / whole:.0%} of sent" if part else "nothing"


def _seconds(runs: Sequence[Run], figure: Callable[[Run], float | None]) -> str:
    found = spread(runs, figure)
    if found is None:
        return ""
    least, middle, most = found
    return f"{middle:.2f} s" if len(runs) == 1 else f"{middle:.2f} s ({least:.2f}–{most:.2f})"


def _calls(run: Run) -> Iterator[str]:
    """Each call with its decision, and what of it was wrong."""
    for outcome in run.result.outcomes:
        decision = outcome.decision
        words = decision.words if decision is not None else "not decided"
        yield f"{tool_name(outcome.server, outcome.tool)} {_short(outcome.asked)} · {words}"
        yield from (f"  does not fit: {each}" for each in run.misfits_of(outcome) or ())
        if outcome.fault or outcome.is_error:
            yield f"  failed{f': {outcome.fault}' if outcome.fault else ''}"


def _repeated(runs: Sequence[Run]) -> Mapping[str, str]:
    """What the calls of several runs have in common, and what not."""
    tools = [
        f"{tool_name(each.server, each.tool)}  {each.runs} of {len(runs)} runs"
        + (f", {each.calls} calls" if each.calls != each.runs else "")
        for each in chosen(runs)
    ]
    vary = [
        f"{tool_name(each.server, each.tool)} #{each.call} {each.argument}: "
        + ", ".join(f"{_cut(value) if value is not None else 'left out'} in {count}" for value, count in each.values)
        for each in varying(runs)
    ]
    wrong = [f"{tool_name(outcome.server, outcome.tool)} {words}" for outcome, words in unfit(runs)]
    found = {"tools chosen": "\n".join(tools) or "none"}
    if tools:
        decided = [_decided(outcome) for run in runs for outcome in run.result.outcomes]
        found |= {
            "decisions": "\n".join(_times(decided)),
            "arguments vary": "\n".join(vary) or "no",
            "schema errors": "\n".join(_times(wrong)) or "none",
        }
    return found


def _decided(outcome: Outcome) -> str:
    return outcome.decision.words if outcome.decision is not None else "not decided"


def _times(words: Iterable[str]) -> Iterator[str]:
    """Each sentence once, with how often it was said."""
    for each, count in Counter(words).items():
        yield each if count == 1 else f"{count} × {each}"


def _answers(runs: Sequence[Run]) -> str:
    different = answers(runs)
    if len(runs) == 1:
        return different[0][0] or "none"
    shown = [f"{count} of {len(runs)}: {answer or 'none'}" for answer, count in different[:MOST_ANSWERS]]
    more = len(different) - MOST_ANSWERS
    return "\n".join([*shown, *([f"and {more} more"] if more > 0 else [])])


def _short(value: JSON) -> str:
    """A call's arguments, or what the model wrote where it is no JSON."""
    if isinstance(value, str):
        return _cut(value)
    return _cut(json.dumps(value, ensure_ascii=False, separators=(",", ":")))


def _cut(text: str) -> str:
    return text if len(text) <= MOST_ARGUMENTS else f"{text[: MOST_ARGUMENTS - 1]}…"
