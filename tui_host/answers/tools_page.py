"""What tools cost: for each tool of a turn or a session, how often it was offered and called, its tokens, and its changes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, TypeAlias

from tui_host.answers.call_chain import UNSENT
from tui_host.answers.changed_words import changed_words, marked
from tui_host.answers.request_weights import RequestWeight, ToolWeight, calls_of, requests_of, weigh
from tui_host.answers.sheet import Sheet, SheetLine
from tui_host.answers.token_prices import money
from tui_host.capture.json.narrowing import text_or_empty
from tui_host.capture.json.reading import read_object
from tui_host.capture.visible import decode, line

if TYPE_CHECKING:
    from tui_host.answers.section import Section
    from tui_host.answers.steps import Steps
    from tui_host.answers.wires import Wires

EMPTY = (
    "What each tool costs stands here once a request lists tools: its tokens, in how many requests, and how often it was "
    "called. Tools that a tool protocol writes into the prompt count too, where its list can be told apart."
)
_Offer: TypeAlias = tuple[RequestWeight, ToolWeight]
"""A request that offers a tool, and the tool in it."""
_WORDS = 60
_MOST = 20
"""The most changed words of a definition that are shown."""


def tools_page(wires: Wires, section: Section) -> Steps[Sheet]:
    """Make the page `Tools` of a heading: each tool, the most expensive first."""
    weighed = yield from weigh(wires, requests_of(wires, section))
    calls = yield from calls_of(wires, section)
    unsent = _unsent(wires, section)
    offers: dict[tuple[str, str], list[_Offer]] = {}
    for request in weighed:
        for tool in request.tools:
            offers.setdefault((tool.server, tool.tool), []).append((request.weight, tool))
    if not offers:
        return Sheet(what=f"tools of {section.place}", lines=(), empty=EMPTY)
    in_all = {name: sum(tool.tokens for _, tool in offered) for name, offered in offers.items()}
    whole, sent = sum(in_all.values()), sum(request.weight.estimate for request in weighed)
    costs: dict[tuple[str, str], float] = {}  # of a tool, its share of what the input of its requests cost
    for name, offered in offers.items():
        priced = [(weight.input_cost, weight, tool) for weight, tool in offered if weight.input_cost is not None]
        if priced:
            costs[name] = sum(cost * tool.tokens / max(weight.estimate, 1) for cost, weight, tool in priced)
    unused = [name for name in offers if not calls[name]]
    paid = f", ~{money(sum(costs.values()))} by your prices" if costs else ""
    share = f", {100 * whole / sent:.0f} % of what was sent" if sent else ""
    never = f" · {len(unused)} never called: ~{sum(in_all[name] for name in unused):,}" if unused else ""
    lines: list[SheetLine] = []
    for name in sorted(offers, key=lambda name: -in_all[name]):
        cost = (f"~{money(costs[name])}" if name in costs else "",) * bool(costs)
        lines.append(_line(name, offers[name], cost, calls[name], unsent.get(name, Counter())))
    requests = f"{len(weighed)} request{'' if len(weighed) == 1 else 's'}"
    columns = f"columns: in all, {'money, ' if costs else ''}in a request, requests, calls"
    what = f"tools of {section.place}: {len(offers)} in {requests}"
    return Sheet(what=what, notes=[f"~{whole:,} tokens in all{paid}{share}{never}", columns], lines=lines)


def _unsent(wires: Wires, section: Section) -> dict[tuple[str, str], Counter[str]]:
    """Count the calls that did not reach their servers, by server and tool, and by what was decided."""
    unsent: dict[tuple[str, str], Counter[str]] = {}
    for row in section.rows(wires.ladder):
        record = wires.record((row.capture, row.seq)) if row.kind == "decision" else None
        verdict = text_or_empty(read_object(record.data).get("decision")) if record is not None else ""
        if verdict in UNSENT:
            unsent.setdefault((row.peer, row.tool), Counter())[verdict] += 1
    return unsent


def _line(
    name: tuple[str, str], offered: Sequence[_Offer], cost: tuple[str, ...], calls: int, unsent: Counter[str]
) -> SheetLine:
    changes = tuple(_changes(offered))
    marks = [*(f"{count:,} {verdict}" for verdict, count in unsent.items()), "changed" if changes else ""]
    if unsent:
        marks.insert(0, f"{calls:,} asked")
    elif not calls:
        marks.insert(0, "never called")
    in_all, sent = sum(tool.tokens for _, tool in offered), max(0, calls - sum(unsent.values()))
    title = ".".join(filter(None, name))
    return SheetLine(
        key=title,
        label=line(title, 120),
        figures=(f"~{in_all:,}", *cost, f"~{offered[-1][1].tokens:,}", f"{len(offered):,}", f"{sent:,}"),
        mark=", ".join(filter(None, marks)),
        style="what",
        opened=bool(changes),
        children=changes,
    )


def _changes(offered: Sequence[_Offer]) -> Iterator[SheetLine]:
    """Yield the changed words of the definition, each with the first request that has them."""
    before = offered[0][1]
    for weight, tool in offered:
        if tool is not before and tool.name == before.name and tool.definition != before.definition:
            for place, words in enumerate(changed_words(decode(before.definition), decode(tool.definition))):
                if place < _MOST:
                    changed = marked(line(words.gone, _WORDS), line(words.come, _WORDS))
                    yield SheetLine(
                        key=f"{weight.request}.{place}",
                        label=f"{weight.request}  …{line(words.before, _WORDS)}{changed}{line(words.after, _WORDS)}…",
                        style="new",
                        target=weight.row,
                    )
        before = tool
