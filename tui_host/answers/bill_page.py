"""What a request consists of and costs: its tokens by tools, messages and what the host put in."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from tui_host.answers.changes_page import Changes, changes_of, path_of, prefix_words
from tui_host.answers.outlines import marks_of, taken_apart
from tui_host.answers.prefix_breaks import answered_before, breaks_of
from tui_host.answers.prompted_tools import LISTS
from tui_host.answers.request_weights import RequestWeight, calls_of, requests_of, total_counted, weigh
from tui_host.answers.section import Section
from tui_host.answers.sheet import Sheet, SheetLine
from tui_host.answers.token_prices import money
from tui_host.capture.visible import line
from tui_host.llm.outline import estimate_tokens

if TYPE_CHECKING:
    from tui_host.answers.bodies import Body
    from tui_host.answers.steps import Steps
    from tui_host.answers.wires import Wires
    from tui_host.capture.ladder.row import Row
    from tui_host.llm.outline import Outline, Part

EMPTY = "What a request consists of stands here once a model was asked: tokens by tool, by kind of message, and what was put in."
_BY = "tool protocol: "
_LISTS = f"{_BY}{LISTS}"
_FEW = 5
"""Breaks that are listed from the start."""
_ROLES: Mapping[str, str] = {"developer": "system", "model": "assistant"}


@dataclass(frozen=True, slots=True, kw_only=True)
class BillLine:
    """A part of a request."""

    label: str  # what it is: `atlas`, `result of lab.history`, `system`
    server: str = ""  # the server of a tool; empty otherwise
    count: int = 1  # how many there are
    size: int  # its bytes
    tokens: int  # its tokens, an estimate
    unused: int = 0  # number of tools that were never called in the session
    children: tuple[BillLine, ...] = ()  # what it consists of, where that is told: the tools of a list in the prompt


def bill_page(wires: Wires, section: Section) -> Steps[Sheet]:
    """Make the page `Bill` of a heading: of its largest request, with a line for each of its requests."""
    return (yield from bill_sheet(wires, requests_of(wires, section)))


def bill_sheet(wires: Wires, rows: Sequence[Row]) -> Steps[Sheet]:
    """Make the page of the largest of some requests: by the provider's tokens, else by the estimate."""
    weighed = yield from weigh(wires, rows)
    weights = [request.weight for request in weighed]
    counts = [weight.usage.input_total for weight in weights]
    sizes = [
        (count is not None, weight.estimate if count is None else count, number)
        for number, (count, weight) in enumerate(zip(counts, weights, strict=True))
    ]
    place = max(sizes, default=(False, 0, 0))[2]
    apart = (yield from taken_apart(wires, rows[place])) if rows else EMPTY
    if isinstance(apart, str):
        return Sheet(what="bill", lines=(), empty=apart)
    row, largest, (body, outline) = rows[place], weighed[place], apart
    calls = yield from calls_of(wires, Section(is_session=True))
    tools = _largest_first(
        BillLine(
            label=tool.tool,
            server=tool.server,
            size=tool.size,
            tokens=tool.tokens,
            unused=int(not calls[tool.server, tool.tool]),
        )
        for tool in largest.tools
    )
    in_text = any(tool.in_text for tool in largest.tools)
    put_in = _put_in(wires, row, body, tools if in_text else ())
    notes = [usage_words(largest.weight)]
    total, counted = total_counted(weights)
    if counted > 1:
        beside = "" if counted == len(weights) else " that the provider counted"
        notes.append(f"all {counted} requests{beside}: {usage_words(total)}")
    if not any(part.label.startswith(_BY) for part in put_in):
        notes.append("put in by the tool protocol 0")
    notes += yield from _prefix_notes(wires, row, outline)
    whole = largest.weight.estimate
    lines: list[SheetLine] = []
    if breaks := (yield from breaks_of(wires, rows)):
        children = [
            SheetLine(key=each.request, label=f"{each.request}  {each.cause}", target=each.row) for each in breaks
        ]
        words, is_open = f"the prefix breaks ({len(breaks)}), and the cache with it", len(breaks) <= _FEW
        lines.append(SheetLine(key="breaks", label=words, style="what", opened=is_open, children=tuple(children)))
    if tools and not in_text:
        lines.append(_group(_sum("tools", tools), whole, _by_server(tools, whole), is_open=True))
    if messages := _messages(outline, wires.names(row)):
        kinds = [_line(kind, whole) for kind in messages]
        lines.append(_group(_sum("messages", messages), whole, kinds, is_open=True, is_counted=False))
    options = _sum("options", (part for part in outline.parts if part.kind == "option"))
    if options.count:
        lines.append(_line(options, whole))
    if put_in:
        total = _sum("put in, counted above too", put_in)
        purposes = [_put_in_line(part, whole) for part in put_in]
        lines.append(_group(total, whole, purposes, is_open=True, is_counted=False))
    if len(weights) > 1:
        lines.append(_request_lines(weights))
    step = f"step {row.step} of turn {row.turn}" if row.turn else "of no turn"
    among = f"the largest of {len(rows)} requests, " if len(rows) > 1 else ""
    return Sheet(what=f"bill of {largest.weight.request}, {among}{step}", notes=notes, lines=lines)


def _messages(outline: Outline, names: Mapping[str, tuple[str, str]]) -> tuple[BillLine, ...]:
    """Sum the messages by kind: by role, and thinking, images, calls and the results of each tool by themselves."""
    sums: dict[str, tuple[int, int, int]] = {}
    for group in outline.parts:
        if group.kind in {"tools", "option"}:
            continue
        for message in group.children if group.kind == "messages" else (group,):
            counted = set[str]()
            for label, size, tokens in _kinds(message, message.label, names):
                count, sizes, estimates = sums.get(label, (0, 0, 0))
                sums[label] = count + (label not in counted), sizes + size, estimates + tokens
                counted.add(label)
    return _largest_first(
        BillLine(label=label, count=count, size=size, tokens=tokens) for label, (count, size, tokens) in sums.items()
    )


def _kinds(part: Part, role: str, names: Mapping[str, tuple[str, str]]) -> Iterator[tuple[str, int, int]]:
    """Yield label, bytes and tokens of what a message consists of; what holds the pieces together counts for its role."""
    if part.kind == "result":
        label = f"result of {'.'.join(filter(None, names.get(part.name, ('', part.name))))}"
    else:
        label = {"thinking": "thinking", "image": "images", "call": "calls"}.get(part.kind, _ROLES.get(role, role))
    inner = [child for child in part.children if part.kind == "message" or child.kind == "image"]
    size = part.size - sum(child.size for child in inner)
    tokens = part.tokens - sum(child.tokens for child in inner)
    plain = any(child.kind in {"text", "message"} for child in inner) or not inner
    frame = label if plain else next(iter(_kinds(inner[0], role, names)))[0]
    yield frame, size, max(tokens, 0)
    for child in inner:
        yield from _kinds(child, role, names)


def _put_in(wires: Wires, row: Row, body: Body, tools: Sequence[BillLine]) -> tuple[BillLine, ...]:
    """Sum what the tool protocol put in, by purpose, its list by tools, and what each profile did."""
    texts: dict[str, list[bytes]] = {}
    for mark in marks_of(wires, row):
        if mark.relation in {"injected", "profile"}:
            label = f"{_BY}{mark.words}" if mark.relation == "injected" else mark.words
            texts.setdefault(label, []).append(b"".join(mark.span.pieces(body.data)))
    return _largest_first(
        BillLine(
            label=label,
            count=len(pieces),
            size=sum(map(len, pieces)),
            tokens=sum(map(estimate_tokens, pieces)),
            children=tuple(tools) if label == _LISTS else (),
        )
        for label, pieces in texts.items()
    )


def _sum(label: str, parts: Iterable[Part | BillLine]) -> BillLine:
    parts = list(parts)
    return BillLine(
        label=label,
        count=len(parts),
        size=sum(part.size for part in parts),
        tokens=sum(part.tokens for part in parts),
        unused=sum(part.unused for part in parts if isinstance(part, BillLine)),
    )


def _largest_first(lines: Iterable[BillLine]) -> tuple[BillLine, ...]:
    return tuple(sorted(lines, key=lambda entry: -entry.tokens))


def usage_words(weight: RequestWeight) -> str:
    """Say what the provider counted, and what the estimate is: `provider 12,004 · estimate 11,404 (-5 %) · cached 8,064`."""
    usage = weight.usage
    words = [
        f"provider {usage.input_total:,}" if usage.input_total is not None else "the provider reported no tokens",
        f"estimate {weight.estimate:,}{f' ({weight.off_by})' if weight.off_by else ''}",
        f"cached {usage.input_cached:,}" if usage.input_cached is not None else "",
        f"written to the cache {usage.cache_written:,}" if usage.cache_written else "",
        f"out {usage.output_total:,}" if usage.output_total is not None else "",
        f"cost {money(usage.cost)}" if usage.cost is not None else "",
        f"by your prices {money(weight.cost)}" if weight.cost is not None else "",
    ]
    return " · ".join(filter(None, words))


def _prefix_notes(wires: Wires, row: Row, outline: Outline) -> Steps[list[str]]:
    """Return what is new since the request before, where the beginning that both share ends, and why."""
    earlier = answered_before(wires, row)
    changes = None if earlier is None else (yield from changes_of(wires, row, earlier))
    if not isinstance(changes, Changes):
        return []
    paths = {change.path for change in changes.changes if change.kind == "new"}
    messages = (part for group in outline.parts if group.kind == "messages" for part in group.children)
    new = [part.tokens for part in messages if path_of(part.key) in paths]
    words = f"new here +{len(new)} {'message' if len(new) == 1 else 'messages'}, ~{sum(new):,} tokens"
    return [words, prefix_words(changes), *filter(None, (changes.cause,))]


def _request_lines(weights: Sequence[RequestWeight]) -> SheetLine:
    children = tuple(
        SheetLine(
            key=f"{number}",
            label=f"{weight.request}  {usage_words(weight)}",
            figures=(f"{weight.size:,}", f"~{weight.estimate:,}", ""),
            target=weight.row,
        )
        for number, weight in enumerate(weights)
    )
    return SheetLine(key="requests", label=f"requests ({len(weights)})", style="what", opened=True, children=children)


def _by_server(tools: Sequence[BillLine], whole: int) -> list[SheetLine]:
    servers: dict[str, list[BillLine]] = {}
    for tool in tools:
        servers.setdefault(tool.server, []).append(tool)
    return [
        _group(_sum(server or "of no known server", tools), whole, [_line(tool, whole) for tool in tools])
        for server, tools in servers.items()
    ]


def _put_in_line(entry: BillLine, whole: int) -> SheetLine:
    """Return the line of a purpose; the list of tools has their shares below it, or says that they cannot be told."""
    tools = _sum("tools", entry.children)
    if tools.count:
        lines = _by_server(entry.children, whole)
        if size := entry.size - tools.size:
            rest = max(entry.tokens - tools.tokens, 0)
            lines.append(_line(BillLine(label="headings and what is between the tools", size=size, tokens=rest), whole))
        return replace(_line(entry, whole), children=tuple(lines), opened=True)
    note = "the share of each tool cannot be told from this text" if entry.label == _LISTS else ""
    return replace(_line(entry, whole), note=note)


def _group(
    total: BillLine, whole: int, children: Sequence[SheetLine], *, is_open: bool = False, is_counted: bool = True
) -> SheetLine:
    return SheetLine(
        key=total.label,
        label=line(f"{total.label} ({total.count})" if is_counted else total.label, 120),
        figures=_figures(total, whole),
        mark=f"{total.unused} never called" if total.unused else "",
        style="what" if is_open else "",
        children=tuple(children),
        opened=is_open,
    )


def _line(entry: BillLine, whole: int) -> SheetLine:
    return SheetLine(
        key=f"{entry.server}.{entry.label}",
        label=line(f"{entry.label} ({entry.count})" if entry.count > 1 else entry.label, 120),
        figures=_figures(entry, whole),
        mark="never called" if entry.unused else "",
    )


def _figures(entry: BillLine, whole: int) -> tuple[str, ...]:
    return f"{entry.size:,}", f"~{entry.tokens:,}", f"{100 * entry.tokens / whole:.0f} %" if whole else ""
