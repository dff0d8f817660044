"""What a request consists of and costs: its tokens by tools, messages and what the host put in."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from tui_host.answers.changes_page import Changes, answered_before, breaks_of, changes_of, path_of
from tui_host.answers.outlines import FRAMES, HOST, marks_of, taken_apart, told_until
from tui_host.answers.request_weights import LISTS, RequestWeight, calls_of, requests_of, total_counted, weigh
from tui_host.answers.sheet import Sheet, SheetLine, Value
from tui_host.answers.wires import Section, Wires
from tui_host.capture.ladder.row import Row
from tui_host.capture.short_units import money
from tui_host.capture.visible import line
from tui_host.llm.outline import Outline, Part, estimate_tokens

EMPTY = "What a request consists of stands here once a model was asked: tokens by tool, by kind of message, and what was put in."
_BY = "tool protocol: "
_FEW = 5  # breaks that are listed from the start
_LABELS: Mapping[str, str] = {"developer": "system", "model": "assistant"}
_KINDS: Mapping[str, str] = {"thinking": "thinking", "image": "images", "call": "calls"}


@dataclass(frozen=True, slots=True)
class _Share:
    """A part of a request, or several: `atlas`, `result of lab.history`, `system`."""

    label: str
    size: int  # bytes
    tokens: int  # an estimate
    count: int = 1
    unused: int = 0  # number of tools that were never called in the session

    @staticmethod
    def of(label: str, parts: Sequence[_Share]) -> _Share:
        size, tokens = sum(part.size for part in parts), sum(part.tokens for part in parts)
        return _Share(label, size, tokens, sum(part.count for part in parts), sum(part.unused for part in parts))

    def line(
        self,
        whole: int,
        children: Sequence[SheetLine] = (),
        *,
        is_counted: bool = True,
        is_open: bool = False,
        note: str = "",
    ) -> SheetLine:
        """Return the part as a line of a request of `whole` tokens, which says how many things it stands for."""
        never = f"{self.unused} never called" if children else "never called"
        label = line(f"{self.label} ({self.count})" if is_counted and self.count > 1 else self.label, 120)
        share, mark = self.tokens / whole if whole else None, never if self.unused else ""
        values: dict[str, Value] = {"bytes": self.size, "tokens": self.tokens, "share": share}
        about = SheetLine(key=self.label, label=label, values=values, mark=mark, note=note, opened=is_open)
        return replace(about, style="what" if is_open else "", children=tuple(children))


def bill_page(wires: Wires, subject: Section | Row) -> Sheet:
    """Make the page of a request, or of the largest one of a heading: by the provider's tokens, else by the estimate."""
    rows = requests_of(wires, subject) if isinstance(subject, Section) else [subject]
    weights = weigh(wires, rows)
    sizes = [(weight.usage.input_total is not None, weight.usage.input_total or weight.estimate) for weight in weights]
    place = max(range(len(rows)), key=lambda at: (sizes[at], at), default=0)
    apart = taken_apart(wires, rows[place]) if rows else EMPTY
    if isinstance(apart, str):
        return Sheet(what="bill", lines=(), empty=apart)
    row, largest, outline = rows[place], weights[place], apart[1]
    whole, calls = largest.estimate, calls_of(wires, Section(is_session=True))
    servers: dict[str, list[_Share]] = {}
    for tool in sorted(largest.tools, key=lambda tool: -tool.tokens):
        share = _Share(tool.tool, tool.size, tool.tokens, unused=int(not calls[tool.server, tool.tool]))
        servers.setdefault(tool.server or "of no known server", []).append(share)
    tools = [share for shares in servers.values() for share in shares]
    by_server = [
        _Share.of(server, shares).line(whole, [share.line(whole) for share in shares])
        for server, shares in servers.items()
    ]
    in_text = any(tool.in_text for tool in largest.tools)
    put_in = _put_in(wires, row, outline)
    messages = _summed(_messages(wires, row, outline))
    notes = [usage_words(largest), _shares_in_words(() if in_text else tools, messages, whole)]
    total, counted = total_counted(weights)
    if counted > 1:
        beside = "" if counted == len(weights) else " that the provider counted"
        notes.append(f"all {counted} requests{beside}: {usage_words(total)}")
    if not any(part.label.startswith(_BY) for part in put_in):
        notes.append("the tool protocol added nothing")
    lines: list[SheetLine] = []
    if breaks := breaks_of(wires, rows):
        children = [
            SheetLine(key=change.request, label=f"{change.request}  {change.cause}", target=change.row)
            for change in breaks
        ]
        words, is_open = f"the prefix breaks ({len(breaks)}), and the cache with it", len(breaks) <= _FEW
        lines.append(SheetLine(key="breaks", label=words, style="what", opened=is_open, children=tuple(children)))
    if tools and not in_text:
        lines.append(_Share.of("tools", tools).line(whole, by_server, is_open=True))
    if messages:
        kinds = [kind.line(whole) for kind in messages]
        lines.append(_Share.of("messages", messages).line(whole, kinds, is_counted=False, is_open=True))
    if options := [_Share("option", part.size, part.tokens) for part in outline.parts if part.kind == "option"]:
        lines.append(_Share.of("options", options).line(whole))
    named = _Share.of("", [*(() if in_text else tools), *messages, *options])
    if largest.size > named.size:
        rest = _Share("brackets and names around them", largest.size - named.size, max(whole - named.tokens, 0))
        lines.append(rest.line(whole))
    if put_in:
        purposes = [_put_in_line(part, tools if in_text else (), by_server, whole) for part in put_in]
        lines.append(
            _Share.of("added, counted above too", put_in).line(whole, purposes, is_counted=False, is_open=True)
        )
    lines += _since_before(wires, row, outline)  # below the figures, which the first screen shows so
    if len(weights) > 1:
        requests = tuple(
            SheetLine(
                key=weight.request,
                label=f"{weight.request}  {usage_words(weight)}",
                values={"bytes": weight.size, "tokens": weight.estimate, "share": None},
                target=weight.row,
            )
            for weight in weights
        )
        words = f"requests ({len(weights)})"
        lines.append(SheetLine(key="requests", label=words, style="what", opened=True, children=requests))
    step = f"step {row.step} of turn {row.turn}" if row.turn else "of no turn"
    among = f"the largest of {len(rows)} requests, " if len(rows) > 1 else ""
    return Sheet(what=f"bill of {largest.request}, {among}{step}", notes=notes, lines=lines)


def _shares_in_words(tools: Sequence[_Share], messages: Sequence[_Share], whole: int) -> str:
    """Say in the first lines what most of a request is: `of it tools 27 % · results 12 % · system 10 %`."""
    tokens = Counter({"tools": sum(tool.tokens for tool in tools)})
    for message in messages:
        tokens["results" if message.label.startswith("result of ") else message.label] += message.tokens
    return "of it " + " · ".join(f"{name} {100 * count / max(whole, 1):.0f} %" for name, count in tokens.most_common(4))


def _summed(parts: Iterable[_Share]) -> Sequence[_Share]:
    """Sum parts with the same label, the largest first."""
    alike: dict[str, list[_Share]] = {}
    for part in parts:
        alike.setdefault(part.label, []).append(part)
    return sorted((_Share.of(label, shares) for label, shares in alike.items()), key=lambda part: -part.tokens)


def _messages(wires: Wires, row: Row, outline: Outline) -> Iterator[_Share]:
    """Yield what messages consist of: roles, thinking, images, calls and the results of each tool by themselves."""
    names, instead = wires.names(row), f"{HOST} in place of results"
    told = {at: instead if who == HOST else f"result of {who}" for at, who in told_until(wires, row).items()}
    spans = sorted((mark.span.start, mark.span.end or 0) for mark in marks_of(wires, row) if mark.words == FRAMES)

    def shares(part: Part, role: str) -> Iterator[_Share]:
        label = _KINDS.get(part.kind, _LABELS.get(role, role))
        if part.kind == "result":
            label = next((words for at, words in told.items() if part.start <= at < part.end), "")
            if label != instead:
                label = f"result of {'.'.join(filter(None, names.get(part.name, ('', part.name))))}"
        inner = [child for child in part.children if part.kind == "message" or child.kind == "image"]
        size = part.size - sum(child.size for child in inner)
        tokens = part.tokens - sum(child.tokens for child in inner)
        frames = [span for span in spans if part.start <= span[0] < part.end] if not inner else []
        for (_, start), (end, _) in pairwise([*frames, (part.end, 0)]):  # results in a text
            estimate = estimate_tokens(outline.body[start:end])
            yield _Share(told.get(start, "result of the tools"), end - start, estimate)
            size, tokens = size - (end - start), tokens - estimate
        # What holds the pieces together counts for the role, or where there is no text for the first piece.
        is_plain = any(child.kind in {"text", "message"} for child in inner) or not inner
        yield _Share(label if is_plain else next(shares(inner[0], role)).label, size, max(tokens, 0))
        for child in inner:
            yield from shares(child, role)

    for group in outline.parts:
        if group.kind not in {"tools", "option"}:
            for message in group.children if group.kind == "messages" else (group,):
                counted = set[str]()
                for share in shares(message, message.label):
                    yield _Share(share.label, share.size, share.tokens, int(share.label not in counted))
                    counted.add(share.label)


def _put_in(wires: Wires, row: Row, outline: Outline) -> Sequence[_Share]:
    parts: list[_Share] = []
    for mark in marks_of(wires, row):
        if mark.relation in {"injected", "profile"}:
            text = b"".join(mark.span.pieces(outline.body))
            label = f"{_BY}{mark.words}" if mark.relation == "injected" else mark.words
            parts.append(_Share(label, len(text), estimate_tokens(text)))
    return _summed(parts)


def _put_in_line(part: _Share, tools: Sequence[_Share], by_server: Sequence[SheetLine], whole: int) -> SheetLine:
    """Return the line of a purpose; the list of tools has their shares below it, or says that they cannot be told."""
    if part.label != f"{_BY}{LISTS}":
        return part.line(whole)
    if not tools:
        return part.line(whole, note="the share of each tool cannot be told from this text")
    rest = part.size - sum(tool.size for tool in tools), max(part.tokens - sum(tool.tokens for tool in tools), 0)
    between = [_Share("headings and what is between the tools", *rest).line(whole)] * bool(rest[0])
    return part.line(whole, [*by_server, *between], is_open=True)


def usage_words(weight: RequestWeight) -> str:
    """Say what the provider counted, and our estimate: `in 12,004 tokens by the provider's count (our estimate 11,404, -5 %)`."""
    usage = weight.usage
    counted = f"in ~{weight.estimate:,} tokens (our estimate{'; the provider reported no tokens' * weight.is_answered})"
    if usage.input_total is not None:
        off_by = f", {round(100 * (weight.estimate / usage.input_total - 1)):+d} %" if usage.input_total else ""
        counted = f"in {usage.input_total:,} tokens by the provider's count (our estimate {weight.estimate:,}{off_by})"
    words = [
        counted,
        f"cached {usage.input_cached:,}" if usage.input_cached is not None else "",
        f"written to the cache {usage.cache_written:,}" if usage.cache_written else "",
        f"out {usage.output_total:,}" if usage.output_total is not None else "",
        f"cost {money(usage.cost)}" if usage.cost is not None else "",
        f"by your prices {money(weight.cost)}" if weight.cost is not None else "",
    ]
    return " · ".join(filter(None, words))


def _since_before(wires: Wires, row: Row, outline: Outline) -> list[SheetLine]:
    earlier = answered_before(wires, row)
    changes = None if earlier is None else changes_of(wires, row, earlier)
    if not isinstance(changes, Changes):
        return []
    paths = {change.path for change in changes.changes if change.kind == "new"}
    messages = (part for group in outline.parts if group.kind == "messages" for part in group.children)
    new = [part.tokens for part in messages if path_of(part.key) in paths]
    words = f"new here +{len(new)} {'message' if len(new) == 1 else 'messages'}, ~{sum(new):,} tokens"
    told = [SheetLine(key=why, label=why, style="note") for why in filter(None, (changes.prefix_words, changes.cause))]
    return [SheetLine(key="since", label=words, style="what", opened=True, children=tuple(told))]
