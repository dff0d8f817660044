"""What tools cost: for each tool of a turn or a session, how often it was offered and called, its tokens, and its changes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tui_host.answers.chain_steps import UNSENT
from tui_host.answers.changed_words import ChangedWords, changed_words, marked
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
_WORDS = 60
_MOST = 20
"""The most changed words of a definition that are shown."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolChange:
    """A change of a tool's definition between two requests."""

    request: str  # the first request with the new definition: `LLM 3`
    row: tuple[str, int]  # its row
    words: tuple[ChangedWords, ...]  # the changed words


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolCost:
    """What a tool costs."""

    server: str  # its server; empty if unknown
    tool: str  # its name at the server
    requests: int  # number of requests that offer it
    tokens: int  # its tokens in the last of these, an estimate
    tokens_in_all: int  # its tokens in all of these
    cost: float | None  # its share of what the input of these cost; None without configured prices
    calls: int  # how often it was asked for, or called
    unsent: Mapping[str, int]  # calls of these that did not reach the server, by what was decided: `rejected`
    changes: tuple[ToolChange, ...]  # the changes of its definition


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolCosts:
    """What all tools cost."""

    requests: int  # number of requests
    tokens: int  # tokens of all requests, an estimate
    tools: tuple[ToolCost, ...]  # the tools, the most expensive first


def tools_page(wires: Wires, section: Section) -> Steps[Sheet]:
    """Make the page `Tools` of a heading."""
    costs = yield from tool_costs(wires, section)
    if not costs.tools:
        return Sheet(what=f"tools of {section.place}", lines=(), empty=EMPTY)
    whole = sum(tool.tokens_in_all for tool in costs.tools)
    share = f", {100 * whole / costs.tokens:.0f} % of what was sent" if costs.tokens else ""
    requests = f"{costs.requests} request{'' if costs.requests == 1 else 's'}"
    unused = [tool for tool in costs.tools if not tool.calls]
    never = f" · {len(unused)} never called: ~{sum(tool.tokens_in_all for tool in unused):,}" if unused else ""
    priced = [tool.cost for tool in costs.tools if tool.cost is not None]
    paid = f", ~{money(sum(priced))} by your prices" if priced else ""
    columns = f"columns: in all, {'money, ' if priced else ''}in a request, requests, calls"
    return Sheet(
        what=f"tools of {section.place}: {len(costs.tools)} in {requests}",
        notes=[f"~{whole:,} tokens in all{paid}{share}{never}", columns],
        lines=[_line(tool, is_priced=bool(priced)) for tool in costs.tools],
    )


def tool_costs(wires: Wires, section: Section) -> Steps[ToolCosts]:
    """Compute what each tool costs, the most expensive first."""
    weighed = yield from weigh(wires, requests_of(wires, section))
    calls = yield from calls_of(wires, section)
    unsent = _unsent(wires, section)
    offers: dict[tuple[str, str], list[tuple[RequestWeight, ToolWeight]]] = {}
    for request in weighed:
        for tool in request.tools:
            offers.setdefault((tool.server, tool.tool), []).append((request.weight, tool))
    tools = [
        ToolCost(
            server=server,
            tool=name,
            requests=len(offered),
            tokens=offered[-1][1].tokens,
            tokens_in_all=sum(tool.tokens for _, tool in offered),
            cost=_cost(offered),
            calls=calls[server, name],
            unsent=unsent.get((server, name), {}),
            changes=_changes(offered),
        )
        for (server, name), offered in offers.items()
    ]
    return ToolCosts(
        requests=len(weighed),
        tokens=sum(request.weight.estimate for request in weighed),
        tools=tuple(sorted(tools, key=lambda tool: -tool.tokens_in_all)),
    )


def _unsent(wires: Wires, section: Section) -> dict[tuple[str, str], Counter[str]]:
    """Count the calls that did not reach their servers, by server and tool, and by what was decided."""
    unsent: dict[tuple[str, str], Counter[str]] = {}
    for row in section.rows(wires.ladder):
        record = wires.record((row.capture, row.seq)) if row.kind == "decision" else None
        verdict = text_or_empty(read_object(record.data).get("decision")) if record is not None else ""
        if verdict in UNSENT:
            unsent.setdefault((row.peer, row.tool), Counter())[verdict] += 1
    return unsent


def _cost(offered: Sequence[tuple[RequestWeight, ToolWeight]]) -> float | None:
    priced = [(weight.input_cost, weight, tool) for weight, tool in offered if weight.input_cost is not None]
    return sum(cost * tool.tokens / max(weight.estimate, 1) for cost, weight, tool in priced) if priced else None


def _changes(offered: Sequence[tuple[RequestWeight, ToolWeight]]) -> tuple[ToolChange, ...]:
    changes: list[ToolChange] = []
    before = offered[0][1]
    for weight, tool in offered:
        if tool is not before and tool.name == before.name and tool.definition != before.definition:
            words = tuple(changed_words(decode(before.definition), decode(tool.definition)))
            changes.append(ToolChange(request=weight.request, row=weight.row, words=words))
        before = tool
    return tuple(changes)


def _line(tool: ToolCost, *, is_priced: bool) -> SheetLine:
    title = f"{tool.server}.{tool.tool}" if tool.server else tool.tool
    paid = ("" if tool.cost is None else f"~{money(tool.cost)}",) if is_priced else ()
    asked = f"{tool.calls:,} asked" if tool.unsent else "" if tool.calls else "never called"
    marks = [
        asked,
        *(f"{count:,} {verdict}" for verdict, count in tool.unsent.items()),
        "changed" if tool.changes else "",
    ]
    sent = max(0, tool.calls - sum(tool.unsent.values()))
    return SheetLine(
        key=title,
        label=line(title, 120),
        figures=(f"~{tool.tokens_in_all:,}", *paid, f"~{tool.tokens:,}", f"{tool.requests:,}", f"{sent:,}"),
        mark=", ".join(filter(None, marks)),
        style="what",
        opened=bool(tool.changes),
        children=tuple(
            SheetLine(
                key=f"{number}.{place}",
                label=f"{change.request}  …{line(words.before, _WORDS)}"
                f"{marked(line(words.gone, _WORDS), line(words.come, _WORDS))}{line(words.after, _WORDS)}…",
                style="new",
                target=change.row,
            )
            for number, change in enumerate(tool.changes)
            for place, words in enumerate(change.words[:_MOST])
        ),
    )
