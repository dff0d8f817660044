"""The Parts tab: the parts of a request and its news, or the assembled response."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

from tui_host.answers import outlines
from tui_host.answers.bodies import Body, head_of
from tui_host.answers.event_words import usage_words
from tui_host.answers.masks import masked
from tui_host.answers.sheet import BodyPlace, Sheet, SheetLine
from tui_host.capture.json.values import decoded, path_at
from tui_host.capture.ladder.row import Row
from tui_host.capture.link import Link
from tui_host.capture.visible import decode, line
from tui_host.llm.fold import Fold
from tui_host.llm.outline import USER, Comparison, Outline, Part, estimate_tokens
from tui_host.tui.sources.live import SessionSource

_PUT_IN = ("profile", "injected", "given", "told")
"""The relations of pieces that were put into a text, in the order in which they stand before the text."""
_PREVIEW = 200
_SYSTEM = {"system": "system prompt", "developer": "system prompt (developer)"}  # what messages of these roles are


def parts_sheet(source: SessionSource, row: Row) -> Sheet:
    """Return the parts of the row's body."""
    read = outlines.taken_apart(source, row) if row.kind == "request" else outlines.read_body(source, row)
    if isinstance(read, str):
        return Sheet(what="no parts", lines=(), empty=read)
    body, known = read
    if isinstance(known, Outline):
        return _request_sheet(source, row, body, known)
    head = head_of(source, row)
    if row.status >= 400:
        error = known.error(row.status, head.headers if head is not None else (), body.data)
        facts = {"status": str(row.status), "what": error.what, "remedy": error.remedy}
        labels = {key: masked(f"{key}: {fact}", body.redacted) for key, fact in facts.items() if fact}
        return Sheet(what="refusal", lines=[SheetLine(key=key, label=label) for key, label in labels.items()])
    if row.method == "GET":  # nobody asks a model by it
        names = known.models(body.data)
        lines = [SheetLine(key=name, label=masked(name, body.redacted)) for name in names]
        none = "Neither a model's answer nor a list of models; see Raw."
        return Sheet(what=f"models: {len(names):,}", lines=lines, empty=none)

    fold, is_open = outlines.folded(source, row, body, known), row.state == "open"
    read_out = _read_out(outlines.marks_of(source, row), body, fold)
    lines = [*_content(source, body, fold, is_open=is_open), *read_out, *_ending(fold)]
    kind = "" if head is None else head.value("content-type").lower()
    how = "assembled from the events" if "event-stream" in kind or "ndjson" in kind else "which was one body"
    what = f"the response, {'so far' if is_open else how}"
    return Sheet(what=what, lines=lines, empty="nothing received yet")


# A request.


def _request_sheet(source: SessionSource, row: Row, body: Body, outline: Outline) -> Sheet:
    marks, earlier, comparison = outlines.marks_of(source, row), source.compared(row), None
    origins = {USER: source.user}
    # The messages that a profile, a server's prompt or results wrote, by their keys, with whose they are.
    for part in outline.walk():
        inside = [mark for mark in marks if part.kind == "message" and _is_within(mark, part)]
        if (len(inside) == 1 and inside[0].relation == "profile") or (
            inside and all(mark.relation == "given" and mark.words.startswith("the prompt ") for mark in inside)
        ):
            origins[part.key] = inside[0].words
        elif part.origin == USER and inside and all(mark.relation == "told" for mark in inside):
            origins[part.key] = ", ".join(dict.fromkeys(mark.server for mark in inside))
    origins |= outlines.host_parts(source, row, outline)
    since = "the first request of its conversation" if source.foreign else "the first request"
    if earlier is not None and not isinstance(before := outlines.earlier_apart(source, row, earlier), str):
        comparison = Comparison(before[1], outline)
        since = f"since {outlines.compared_with(source, row, earlier)}: {comparison.words}"
    parts = _RequestParts(body, {} if comparison is None else comparison.marks, marks, origins)
    # First the system prompt, which may stand far below, over the whole width.
    nearby = (part for group in outline.parts for part in (group, *group.children))
    system = [part for part in nearby if part.kind == "message" and part.label in _SYSTEM]
    lines = [replace(parts.line(part), key=f"first/{part.key}", values={}, figures=(), mark="") for part in system]
    lines += [parts.line(part) for part in outline.parts]
    for part in comparison.removed if comparison is not None else ():
        key, values, note = f"gone/{part.key}", {"bytes": part.size, "tokens": part.tokens}, "no longer sent"
        lines.append(SheetLine(key=key, label=_label(part), values=values, mark="-", note=note, style="note"))
    size = f"{len(body.data):,} bytes, about {estimate_tokens(body.data):,} tokens (~ is an estimate)"
    return Sheet(what=f"request of {size}", lines=lines, notes=[since, *outlines.put_in(marks)])


def _is_within(mark: Link, part: Part) -> bool:
    return part.start <= mark.span.start < (mark.span.end or 0) <= part.end


@dataclass(frozen=True, slots=True)
class _RequestParts:
    """Draws the parts of a request as lines."""

    body: Body
    changes: Mapping[str, str]  # the marks of a comparison
    marks: Sequence[Link]
    origins: Mapping[str, str]  # whose parts are, by their keys or by who the dialect says

    def line(self, part: Part) -> SheetLine:
        is_group, span = part.kind in {"tools", "messages"}, (part.start, part.end)
        children = [self.line(child) for child in part.children]
        marks = self.marks if part.kind == "tool" or not children else ()
        own = [mark for mark in marks if (mark.span.start, mark.span.end) == span]
        within = [mark for mark in marks if mark.relation in _PUT_IN and _is_within(mark, part) and mark not in own]
        words = [masked(mark.words, self.body.redacted) for mark in own if mark.relation == "adapted"]
        adapted = [SheetLine(key="adapted", label=label, style="what") for label in words]
        opened = part.kind == "messages" or (part.kind != "tools" and any(child.opened for child in children))
        text, place = partial(self._text, *span), partial(self._place, *span)
        if within and not children:  # the text that holds the marked pieces stands behind them
            children = [self._piece(mark) for mark in sorted(within, key=lambda mark: _PUT_IN.index(mark.relation))]
            label = "the whole result" if part.kind == "result" else "the text that holds them"
            children.append(SheetLine(key="text", label=label, text=text, place=place, opened=True, style="note"))
        origin = self.origins.get(part.key, self.origins.get(part.origin, part.origin))
        change = self.changes.get(part.key, "=").strip("=")
        if change and is_group and (new := sum(self.changes.get(child.key) == "+" for child in part.children)):
            change = f"+{new}"
        label = f"{part.label} ({len(part.children)})" if is_group else _label(part, origin)
        return SheetLine(
            key=part.key,
            label=masked(label, self.body.redacted),
            values={"bytes": part.size, "tokens": part.tokens},
            mark=change or "adapted" * bool(adapted),
            text=None if children else text,
            place=place,
            children=(*adapted, *children),
            opened=opened,
            style="what" if is_group else "",
            is_wrapped=part.kind == "option",
        )

    def _piece(self, mark: Link) -> SheetLine:
        """Return the line of a piece inside a part's text: of the profile, of the tool protocol, of a server, or a result."""
        start, end = mark.span.start, mark.span.end or mark.span.start
        called = f"{mark.server}.{mark.tool}" if mark.server else mark.tool or mark.call
        starts = {"told": f"the result of {called}  ", "profile": "the system prompt of "}
        key, note, values = f"{mark.relation}/{start}", f"bytes {start:,} to {end:,}", {"bytes": end - start}
        label = masked(f"{starts.get(mark.relation, '')}{mark.words}", self.body.redacted)
        sign = "result" if mark.relation == "told" else "added"
        text, place = partial(self._text, start, end, '"'), partial(self._place, start, end, is_decoded=True)
        return SheetLine(
            key=key, label=label, values=values, mark=sign, note=note, text=text, place=place, style="what"
        )

    def _place(self, start: int, end: int, *, is_decoded: bool = False) -> BodyPlace:
        data = self.body.data[start:end]
        is_string = is_decoded or data.startswith(b'"')
        data = masked(decode(data), self.body.redacted).encode() if self.body.redacted else data
        return BodyPlace(path_at(self.body.data, start), data, is_string)

    def _text(self, start: int, end: int, quote: str = "") -> str:
        text = f"{quote}{decode(self.body.data[start:end])}{quote}"
        return masked(decoded(text) if text.startswith('"') else text, self.body.redacted)


def _label(part: Part, origin: str = "") -> str:
    name = part.name if part.name and part.name != part.label else ""
    role = _SYSTEM.get(part.label, part.label) if part.kind == "message" else part.label
    label = name if name and part.kind in {"tool", "option"} else f"{role} {name}".rstrip()
    source = f"from {line(origin, 60)}" if origin else ""  # before the text, which is cut where the line ends
    return "  ".join(filter(None, (label, source, part.preview.rstrip())))


# A response.


def _content(source: SessionSource, body: Body, fold: Fold, *, is_open: bool) -> Iterator[SheetLine]:
    hide = source.hide
    texts = [("thinking", "thinking ", fold.thinking, True), ("text", "answer ", fold.text, True)]
    texts = [piece for piece in texts if piece[2]]
    for call in fold.calls:
        is_whole = call.complete or is_open
        texts.append((f"call/{call.call.id}", f"asks  {call.call.name}", call.call.arguments, is_whole))
    for key, name, said, is_whole in texts:
        shown, style = masked(hide(said), body.redacted), "what" if key.startswith("call/") else ""
        label, values = f"{name} {line(shown, _PREVIEW)}", {"bytes": len(shown.encode("utf-8", "replace"))}
        mark, opened, text = "" if is_whole else "cut", key != "thinking", partial(str, shown)
        yield SheetLine(key=key, label=label, values=values, mark=mark, text=text, opened=opened, style=style)
    for number, run in enumerate(fold.vendor_runs):
        label = masked(hide(f"the vendor {run.words}"), body.redacted)
        yield SheetLine(key=f"vendor/{number}", label=label, style="what")
    if fold.sources:
        pages = [masked(hide(f"{page.title}  {page.url}".strip()), body.redacted) for page in fold.sources]
        children = tuple(SheetLine(key=str(number), label=page) for number, page in enumerate(pages))
        yield SheetLine(key="sources", label=f"sources ({len(pages)})", children=children, opened=True)


def _read_out(marks: Sequence[Link], body: Body, fold: Fold) -> Iterator[SheetLine]:
    """Yield what was read out of the text of a response; calls only where the dialect has no place for them."""
    for mark in marks:
        is_call = mark.relation == "asked"
        if mark.relation not in {"asked", "cut"} or (is_call and fold.calls):
            continue
        pieces = mark.span.pieces(body.data)
        called = f"{mark.server}.{mark.tool}" if mark.server else mark.tool or mark.call
        start = f"became the call  {called}" if is_call else "text after the call, left out "
        yield SheetLine(
            key=f"{mark.relation}/{mark.span.start}",
            label=masked(f"{start} {mark.words}", body.redacted),
            values={"bytes": sum(map(len, pieces))},
            mark="" if is_call else "cut",
            note=f"bytes {mark.span.start:,} to {mark.span.end or 0:,}",
            text=partial(masked, "\n".join(map(decode, pieces)), body.redacted),
            style="what" if is_call else "note",
            form="plain",
            is_wrapped=True,
        )


def _ending(fold: Fold) -> Iterator[SheetLine]:
    """Yield the figures as reported, why the answer ended, and what was not read."""
    usage = fold.usage
    durations = ((usage.loading, "loading"), (usage.reading, "reading"), (usage.writing, "writing"))
    times = [f"{seconds:.2f} s {name}" for seconds, name in durations if seconds is not None]
    if usage.writing and usage.output_total:
        times.append(f"{usage.output_total / usage.writing:,.1f} tokens a second")
    vendor = f" ({line(fold.vendor_stop, 60)})" if fold.vendor_stop else ""
    rest = f"more than {len(fold.calls)} calls were requested; the rest is in Events"
    facts = {
        "tokens": f"tokens, as reported: {', '.join(words)}" if (words := [*usage_words(usage)]) else "",
        "times": f"times, as reported: {', '.join(times)}" if times else "",
        "stop": f"stop: {fold.stop}{vendor}" if fold.stop is not None else "",
        "unreadable": f"{fold.unreadable:,} events could not be read; see Events" if fold.unreadable else "",
        "left out": rest if fold.has_calls_left_out else "",
        "failure": f"error: {fold.failure}" if fold.failure else "",
    }
    for number, (key, label) in enumerate(facts.items()):
        if label:
            yield SheetLine(key=key, label=label, style="failed" if number > 2 else "")
