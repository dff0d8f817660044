"""What tools cost: for each tool of a turn or a session, how often it was offered and called, its tokens, and its changes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TypeAlias

from tui_host.answers.bodies import first_data
from tui_host.answers.chain_page import UNSENT
from tui_host.answers.changes_page import changed_words, marked
from tui_host.answers.request_weights import RequestWeight, ToolWeight, calls_of, requests_of, weigh
from tui_host.answers.sheet import Sheet, SheetLine, Value
from tui_host.answers.wires import Section, Wires
from tui_host.capture.json.narrowing import text_or_empty
from tui_host.capture.json.reading import read_object
from tui_host.capture.short_units import money
from tui_host.capture.visible import decode, line

EMPTY = (
    "What each tool costs stands here once a request lists tools: its tokens, in how many requests, and how often it was "
    "called. Tools that a tool protocol writes into the prompt count too, where its list can be told apart."
)
_Offer: TypeAlias = tuple[RequestWeight, ToolWeight]
"""A request that offers a tool, and the tool in it."""
_WORDS = 60
_MOST = 20  # the most changed words of a definition that are shown


def tools_page(wires: Wires, section: Section) -> Sheet:
    """Make the page `Tools` of a heading: each tool, the most expensive first."""
    weighed, calls = weigh(wires, requests_of(wires, section)), calls_of(wires, section)
    unsent: dict[tuple[str, str], Counter[str]] = {}  # calls that were decided against, by verdict
    for row in (row for row in section.rows(wires.ladder) if row.kind == "decision"):
        verdict = text_or_empty(read_object(first_data(wires, row)).get("decision"))
        if verdict in UNSENT:
            unsent.setdefault((row.peer, row.tool), Counter())[verdict] += 1
    whole_session = calls_of(wires, Section(is_session=True))
    offers: dict[tuple[str, str], list[_Offer]] = {}
    for request in weighed:
        for tool in request.tools:
            offers.setdefault((tool.server, tool.tool), []).append((request, tool))
    place = f"{section.words}, step {section.step}" if section.step else section.words
    if not offers:
        return Sheet(what=f"tools of {place}", lines=(), empty=EMPTY)
    in_all = {name: sum(tool.tokens for _, tool in offered) for name, offered in offers.items()}
    whole, sent = sum(in_all.values()), sum(request.estimate for request in weighed)
    costs: dict[tuple[str, str], float] = {}  # of a tool, its share of what the input of its requests cost
    for name, offered in offers.items():
        priced = [(weight.input_cost, weight, tool) for weight, tool in offered if weight.input_cost is not None]
        if priced:
            costs[name] = sum(cost * tool.tokens / max(weight.estimate, 1) for cost, weight, tool in priced)
    paid = f", ~{money(sum(costs.values()))} by your prices" if costs else ""
    share = f", {100 * whole / sent:.0f} % of what was sent" if sent else ""
    unused = [name for name in offers if not whole_session[name]]
    never = f" · {len(unused)} never called: ~{sum(in_all[name] for name in unused):,}" if unused else ""
    lines: list[SheetLine] = []
    for name in sorted(offers, key=lambda name: -in_all[name]):
        offered, failed = offers[name], unsent.get(name, Counter[str]())
        values: dict[str, Value] = {"all tokens": in_all[name]}
        if costs:
            values["money"] = costs.get(name)
        values |= {"tokens": offered[-1][1].tokens, "requests": len(offered)}
        values["calls"] = max(0, calls[name] - sum(failed.values()))
        changes = tuple(_changes(offered))
        marks = [f"{calls[name]:,} asked"] if failed else ["never called"] * (not whole_session[name])
        marks += ["never run"] * (bool(failed) and not values["calls"])
        marks += [*(f"{count:,} {verdict}" for verdict, count in failed.items()), *["changed"] * bool(changes)]
        title = ".".join(filter(None, name))
        is_open, label, mark = bool(changes), line(title, 120), ", ".join(marks)
        about = SheetLine(key=title, label=label, values=values, mark=mark, style="what", opened=is_open)
        lines.append(replace(about, children=changes))
    requests = f"{len(weighed)} request{'' if len(weighed) == 1 else 's'}"
    what = f"tools of {place}: {len(offers)} in {requests}"
    return Sheet(what=what, notes=[f"~{whole:,} tokens in all{paid}{share}{never}"], lines=lines)


def _changes(offered: Sequence[_Offer]) -> Iterator[SheetLine]:
    before = offered[0][1]
    for weight, tool in offered:
        if tool is not before and tool.name == before.name and tool.definition != before.definition:
            changed = changed_words(decode(before.definition), decode(tool.definition))
            for place, words in enumerate(changed[:_MOST]):
                new = marked(line(words.gone, _WORDS), line(words.come, _WORDS))
                label = f"{weight.request}  …{line(words.before, _WORDS)}{new}{line(words.after, _WORDS)}…"
                yield SheetLine(key=f"{weight.request}.{place}", label=label, style="new", target=weight.row)
        before = tool
