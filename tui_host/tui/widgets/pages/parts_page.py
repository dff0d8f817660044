"""The Parts tab: the parts of a request and its news, or the assembled response."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from tui_host.answers.bodies import Body, body_of, head_of, missing_words
from tui_host.answers.event_words import usage_words
from tui_host.answers.masks import masked
from tui_host.answers.outlines import compared, folded, host_parts, marks_of, put_in
from tui_host.answers.sheet import BodyPlace, SheetLine
from tui_host.answers.wires import TakenRequest
from tui_host.capture.json.reading import read_json
from tui_host.capture.ladder.row import Row
from tui_host.capture.link import Link
from tui_host.capture.visible import decode, line
from tui_host.llm.dialects.dialect import Dialect
from tui_host.llm.fold import Fold
from tui_host.llm.messages import Usage
from tui_host.llm.outline import USER, Comparison, Outline, Part, estimate_tokens
from tui_host.tui.sources.live import SessionSource
from tui_host.tui.widgets.pages.detail_page import Page
from tui_host.tui.widgets.pages.json_values import path_at
from tui_host.tui.widgets.pages.text_page import TextPage
from tui_host.tui.widgets.pages.told_results import EDITED, edited_call, result_origins
from tui_host.tui.widgets.pages.tree_page import TreePage

_PUT_IN = ("profile", "injected", "given", "told")
"""The relations of pieces that were put into a text, in the order in which they stand before the text."""
MOST = 64 << 20
"""Bytes of a body that is taken apart; a larger one is shown raw."""


def parts_page(source: SessionSource, row: Row, flipped: set[str]) -> Page:
    """The parts of the row's body."""
    dialect = source.dialect(row)
    if dialect is None:
        return TextPage("parts", "Unknown dialect; see Raw.", form="plain")
    if row.missing:
        return TextPage("parts", missing_words(row), form="plain")
    body = body_of(source, row)
    if len(body.data) > MOST:
        return TextPage("parts", f"{len(body.data):,} bytes are too many to analyse; see Raw.", form="plain")
    if row.kind == "request":
        return _request_page(source, row, body, dialect, flipped)
    return _response_page(source, row, body, dialect, flipped)


# A request.


def _request_page(source: SessionSource, row: Row, body: Body, dialect: Dialect, flipped: set[str]) -> Page:
    outline, comparison = compared(source, row, body, dialect)
    if outline is None:
        return TextPage("parts", "The body is not a JSON object; see Raw.", form="plain")
    marks = marks_of(source, row)
    results, asked = {**result_origins(source, row, outline), **host_parts(source, row, outline)}, _asked(source, row)
    drawing = _Drawing(outline, comparison, body, marks, source.user, results, asked)
    entries = [drawing.entry(part) for part in outline.parts]
    if comparison is not None:
        entries += [_gone(part) for part in comparison.removed]
    first = "the first request of its conversation" if source.has_talks else "the first request"
    earlier = source.compared(row)
    against = "the previous request"
    if earlier is not None and earlier != source.before(row):
        name = earlier.name if isinstance(earlier, TakenRequest) else source.called(earlier)
        against = name if row.number in source.chosen else f"{name}, which is marked"
    since = f"since {against}: {comparison.words}" if comparison is not None else first
    tokens = estimate_tokens(body.data)
    size = f"{len(body.data):,} bytes, about {tokens:,} tokens (~ is an estimate)"
    return TreePage("parts of the request", entries, flipped=flipped, notes=[size, since, *put_in(marks)])


@dataclass(frozen=True, slots=True)
class _Drawing:
    outline: Outline
    comparison: Comparison | None
    body: Body
    marks: Sequence[Link]
    user: str
    results: Mapping[str, str]
    asked: Mapping[str, str]

    def entry(self, part: Part, children: Sequence[SheetLine] | None = None) -> SheetLine:
        """Draw a part; the children may have been drawn before."""
        is_group = part.kind in {"tools", "messages"}
        origin = (part.kind == "message" and origin_of(part, self.marks)) or self.results.get(part.key, part.origin)
        origin = self.user if origin == USER else origin
        within = () if part.children else self._within(part)
        children = tuple([self.entry(child) for child in part.children] if children is None else children) or within
        ours = self._ours(part)
        return SheetLine(
            key=part.key,
            label=masked(f"{part.label} ({len(part.children)})" if is_group else _label(part), self.body.redacted),
            figures=_figures(part),
            mark=self._mark(part) or ("adapted" if ours and part.kind == "tool" else ""),
            note=f"from {line(origin, 60)}" if origin and not is_group else "",
            text=None if part.children or within else lambda: self._text(part),
            place=lambda: self._place(part),
            children=(*ours, *children, *((self._whole(part),) if within else ())),
            opened=part.kind == "messages"
            or (part.kind != "tools" and any(child.opened for child in (*ours, *children))),
            style="what" if is_group else "",
            is_wrapped=part.kind == "option",
        )

    def _ours(self, part: Part) -> tuple[SheetLine, ...]:
        """Return what the host has to say about a part: how a schema was adapted, and what of a call was edited."""
        lines: list[tuple[str, str]] = []
        if part.kind == "tool":
            lines = [
                ("adapted", mark.words)
                for mark in self.marks
                if mark.relation == "adapted" and (mark.span.start, mark.span.end) == (part.start, part.end)
            ]
        elif part.kind == "result" and (edited := edited_call(self.outline, part)) is not None:
            lines = [("asked", f"the model asks {part.name} {edited[0]}"), ("ran", f"{EDITED}{edited[1]}")]
        return tuple(
            SheetLine(key=key, label=masked(words, self.body.redacted), style="what", opened=key == "asked")
            for key, words in lines
        )

    def _within(self, part: Part) -> tuple[SheetLine, ...]:
        """Return the marked pieces inside a part's text by kind: of the profile, of the tool protocol, of servers, results."""
        marks = (
            mark
            for mark in self.marks
            if mark.relation in _PUT_IN
            and part.start <= mark.span.start < (mark.span.end or 0) <= part.end
            and (mark.span.start, mark.span.end) != (part.start, part.end)
        )
        by_kind = sorted(marks, key=lambda mark: (_PUT_IN.index(mark.relation), mark.span.start))
        return tuple(_piece(mark, self.body, self.asked.get(mark.call, "")) for mark in by_kind)

    def _whole(self, part: Part) -> SheetLine:
        """Return the text that holds the marked pieces, which stand before the text."""
        return SheetLine(
            key="text",
            label="the text that holds them" if part.kind != "result" else "the whole result",
            text=lambda: self._text(part),
            place=lambda: self._place(part),
            opened=True,
            style="note",
        )

    def _mark(self, part: Part) -> str:
        if self.comparison is None:
            return ""
        marks = self.comparison.marks
        mark = marks.get(part.key, "=")
        if mark == "=":
            return ""
        new = sum(marks.get(child.key) == "+" for child in part.children) if part.kind in {"tools", "messages"} else 0
        return f"+{new}" if new else mark

    def _place(self, part: Part) -> BodyPlace:
        data = self.outline.bytes_of(part)
        return place_of(self.body, part.start, part.end, is_decoded=data.startswith(b'"'))

    def _text(self, part: Part) -> str:
        text = decode(self.outline.bytes_of(part))
        if text.startswith('"'):
            try:
                value = read_json(text)
            except ValueError:
                value = None
            text = value if isinstance(value, str) else text
        return masked(text, self.body.redacted)


def place_of(body: Body, start: int, end: int, *, is_decoded: bool) -> BodyPlace:
    """Return the place of some bytes of a body."""
    data = body.data[start:end]
    data = masked(decode(data), body.redacted).encode() if body.redacted else data
    return BodyPlace(path_at(body.data, start), data, is_decoded)


def _label(part: Part) -> str:
    name = part.name if part.name and part.name != part.label else ""
    words = [part.label if part.kind not in {"tool", "option"} or not name else "", name]
    return "  ".join([" ".join(word for word in words if word), *([part.preview] if part.preview else [])])


def _figures(part: Part) -> tuple[str, str]:
    return f"{part.size:,}", f"~{part.tokens:,}"


def _gone(part: Part) -> SheetLine:
    return SheetLine(
        key=f"gone/{part.key}",
        label=_label(part),
        figures=_figures(part),
        mark="-",
        note="no longer sent",
        style="note",
    )


# A response.


def _response_page(source: SessionSource, row: Row, body: Body, dialect: Dialect, flipped: set[str]) -> Page:
    if row.status >= 400:
        return _refusal_page(source, row, body, dialect)
    if row.method == "GET":  # nobody asks a model so
        return _list_page(body, dialect)
    fold = folded(source, row, body, dialect)
    entries = _content(fold, body, source.hide, is_open=row.state == "open")
    entries += read_out(marks_of(source, row), body, has_calls=bool(fold.calls))
    entries += _figures_of(fold.usage)
    if fold.stop is not None:
        vendor = f" ({line(fold.vendor_stop, 60)})" if fold.vendor_stop else ""
        entries.append(SheetLine(key="stop", label=f"stop: {fold.stop}{vendor}"))
    if fold.unreadable:
        entries.append(
            SheetLine(
                key="unreadable", label=f"{fold.unreadable:,} events could not be read; see Events", style="failed"
            )
        )
    if fold.has_calls_left_out:
        label = f"more than {len(fold.calls)} calls were requested; the rest is in Events"
        entries.append(SheetLine(key="left out", label=label, style="failed"))
    if fold.failure:
        entries.append(
            SheetLine(key="failure", label=f"error: {fold.failure}", style="failed", text=lambda: fold.failure)
        )
    state = "so far" if row.state == "open" else "assembled from the events"
    return TreePage("the response, assembled", entries, flipped=flipped, notes=[state], empty="nothing received yet")


def _list_page(body: Body, dialect: Dialect) -> Page:
    names = dialect.models(body.data)
    if not names:
        return TextPage("parts", "Neither a model's answer nor a list of models; see Raw.", form="plain")
    shown = masked("\n".join(line(name, 200) for name in names), body.redacted)
    return TextPage("list", f"models: {len(names):,}\n\n{shown}", form="plain")


def _content(fold: Fold, body: Body, hide: Callable[[str], str], *, is_open: bool) -> list[SheetLine]:
    entries: list[SheetLine] = []
    for key, name, text in (("thinking", "thinking", fold.thinking), ("text", "answer", fold.text)):
        if text:
            shown = masked(hide(text), body.redacted)
            entries.append(
                SheetLine(
                    key=key,
                    label=f"{name}  {shown[:200]}",
                    figures=(f"{len(text.encode('utf-8', 'replace')):,}",),
                    text=lambda shown=shown: shown,
                    opened=key == "text",
                )
            )
    for number, run in enumerate(fold.vendor_runs):
        words = masked(hide(f"the vendor {run.words}"), body.redacted)
        entries.append(SheetLine(key=f"vendor/{number}", label=words, style="what"))
    if fold.sources:
        pages = [masked(hide(f"{source.title}  {source.url}".strip()), body.redacted) for source in fold.sources]
        children = tuple(SheetLine(key=str(number), label=page) for number, page in enumerate(pages))
        entries.append(SheetLine(key="sources", label=f"sources ({len(pages)})", children=children, opened=True))
    for call in fold.calls:
        arguments = masked(hide(call.call.arguments), body.redacted)
        entries.append(
            SheetLine(
                key=f"call/{call.call.id}",
                label=f"asks  {call.call.name} {arguments[:200]}",
                figures=(f"{len(arguments.encode('utf-8', 'replace')):,}",),
                mark="" if call.complete or is_open else "cut",
                text=lambda arguments=arguments: arguments,
                opened=True,
                style="what",
            )
        )
    return entries


def _figures_of(usage: Usage) -> Sequence[SheetLine]:
    times = [
        f"{value:.2f} s {name}"
        for value, name in ((usage.loading, "loading"), (usage.reading, "reading"), (usage.writing, "writing"))
        if value is not None
    ]
    if usage.writing and usage.output_total:
        times.append(f"{usage.output_total / usage.writing:,.1f} tokens a second")
    lines = (("usage", "tokens, as reported", [*usage_words(usage)]), ("times", "times, as reported", times))
    return [SheetLine(key=key, label=f"{what}: {', '.join(facts)}") for key, what, facts in lines if facts]


def _refusal_page(source: SessionSource, row: Row, body: Body, dialect: Dialect) -> Page:
    head = head_of(source, row)
    error = dialect.error(row.status, head.headers if head is not None else (), body.data)
    lines = [f"status: {row.status}", f"what: {error.what}", f"remedy: {error.remedy}" if error.remedy else ""]
    return TextPage("refusal", masked("\n".join(line for line in lines if line), body.redacted), form="headers")


def origin_of(part: Part, marks: Sequence[Link]) -> str:
    """Return the profile or the server's prompt that wrote a whole part; empty if none did."""
    inside = [mark for mark in marks if part.start <= mark.span.start < (mark.span.end or 0) <= part.end]
    if inside and all(mark.relation == "given" and mark.words.startswith("the prompt ") for mark in inside):
        return inside[0].words
    return inside[0].words if len(inside) == 1 and inside[0].relation == "profile" else ""


def _asked(source: SessionSource, row: Row) -> Mapping[str, str]:
    """Return the model's own words for the calls whose results a request tells."""
    rows = (source.ladder.rows[number] for number in source.ladder.relatives(row.number))
    return {call: f"the model {row.words}" for row in rows if row.kind == "response" for call in row.calls}


def _piece(mark: Link, body: Body, asked: str) -> SheetLine:
    start, end = mark.span.start, mark.span.end or mark.span.start
    is_told = mark.relation == "told"
    is_edited = is_told and EDITED in mark.words
    label = f"the result of {_called(mark)}  {mark.words}" if is_told else mark.words
    if mark.relation == "profile":
        label = f"the system prompt of {label}"
    return SheetLine(
        key=f"{mark.relation}/{start}",
        label=masked(label, body.redacted),
        figures=(f"{end - start:,}",),
        mark="result" if is_told else "added",
        note=_bytes(start, end),
        text=lambda: masked(_json_text(body.data[start:end]), body.redacted),
        place=lambda: place_of(body, start, end, is_decoded=True),
        children=(SheetLine(key="asked", label=masked(asked, body.redacted), style="what"),) if is_edited else (),
        opened=is_edited,
        style="what",
    )


def read_out(marks: Iterable[Link], body: Body, *, has_calls: bool) -> list[SheetLine]:
    """Return the entries read out of a response.

    Args:
        marks: The links of the response.
        body: Its bytes.
        has_calls: The dialect has a place for calls: then they are parts by themselves.
    """
    entries: list[SheetLine] = []
    for mark in marks:
        is_call = mark.relation == "asked"
        if (is_call and has_calls) or mark.relation not in {"asked", "cut"}:
            continue
        pieces = mark.span.pieces(body.data)
        size = sum(len(piece) for piece in pieces)
        label = (
            f"became the call  {_called(mark)} {mark.words}"
            if is_call
            else f"text after the call, left out  {mark.words}"
        )
        entries.append(
            SheetLine(
                key=f"{mark.relation}/{mark.span.start}",
                label=masked(label, body.redacted),
                figures=(f"{size:,}",),
                mark="" if is_call else "cut",
                note=_bytes(mark.span.start, mark.span.end or 0),
                text=lambda pieces=pieces: masked("\n".join(decode(piece) for piece in pieces), body.redacted),
                style="what" if is_call else "note",
                form="plain",
                is_wrapped=True,
            )
        )
    return entries


def _bytes(start: int, end: int) -> str:
    return f"bytes {start:,} to {end:,}"


def _called(mark: Link) -> str:
    return f"{mark.server}.{mark.tool}" if mark.server else mark.tool or mark.call


def _json_text(piece: bytes) -> str:
    text = decode(piece)
    try:
        value = read_json(f'"{text}"')
    except ValueError:
        return text
    return value if isinstance(value, str) else text
