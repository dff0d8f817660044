"""The Parts tab: the parts of a request and its news, or the assembled response."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from tui_host.answers.bodies import Body, body_of, head_of, missing_words
from tui_host.answers.event_words import usage_words
from tui_host.answers.masks import masked
from tui_host.answers.outlines import MOST, compared, folded, host_parts, marks_of, put_in, taken_apart
from tui_host.answers.sheet import BodyPlace, SheetLine, Style
from tui_host.answers.wires import TakenRequest
from tui_host.capture.json.narrowing import mapping
from tui_host.capture.json.reading import read_json
from tui_host.capture.ladder.row import Row
from tui_host.capture.link import Link
from tui_host.capture.visible import decode, line
from tui_host.llm.dialects.dialect import Dialect
from tui_host.llm.fold import Fold
from tui_host.llm.outline import USER, Comparison, Outline, Part, estimate_tokens
from tui_host.tui.sources.live import SessionSource
from tui_host.tui.widgets.pages.detail_page import Page
from tui_host.tui.widgets.pages.json_values import path_at
from tui_host.tui.widgets.pages.text_page import TextPage
from tui_host.tui.widgets.pages.tree_page import TreePage

_PUT_IN = ("profile", "injected", "given", "told")
"""The relations of pieces that were put into a text, in the order in which they stand before the text."""
_EDITED = "edited by the user: ran with "
"""How the result of an edited call begins."""
_PREVIEW = 200
_HEADS = ("bytes", "tokens")


def parts_page(source: SessionSource, row: Row, flipped: set[str]) -> Page:
    """Return the parts of the row's body."""
    dialect = source.dialect(row)
    if row.kind == "request" and dialect is not None:
        taken = taken_apart(source, row)
        words = taken if isinstance(taken, str) else ""
        if not isinstance(taken, str):
            return _request_page(source, row, dialect, *taken, flipped)
    elif dialect is None:
        words = "Unknown dialect; see Raw."
    elif row.missing or row.size > MOST:
        words = missing_words(row) if row.missing else f"{row.size:,} bytes are too many to take apart; see Raw."
    else:
        return _response_page(source, row, body_of(source, row), dialect, flipped)
    return TextPage("parts", words, form="plain")


# A request.


def _request_page(
    source: SessionSource, row: Row, dialect: Dialect, body: Body, outline: Outline, flipped: set[str]
) -> Page:
    _, comparison = compared(source, row, body, dialect)
    marks = marks_of(source, row)
    rows = (source.ladder.rows[number] for number in source.ladder.relatives(row.number))
    asked = {call: f"the model {row.words}" for row in rows if row.kind == "response" for call in row.calls}
    origins = {USER: source.user, **dict(_origins(outline, marks)), **host_parts(source, row, outline)}
    drawing = _RequestParts(body, outline, comparison, marks, origins, asked)
    since = "the first request of its conversation" if source.foreign else "the first request"
    if comparison is not None:
        earlier, against = source.compared(row), "the previous request"
        if earlier is not None and earlier != source.before(row):
            name = earlier.name if isinstance(earlier, TakenRequest) else source.called(earlier)
            against = name if row.number in source.chosen else f"{name}, which is marked"
        since = f"since {against}: {comparison.words}"
    size = f"{len(body.data):,} bytes, about {estimate_tokens(body.data):,} tokens (~ is an estimate)"
    entries = [drawing.entry(part) for part in outline.parts]
    entries += [_gone(part) for part in comparison.removed] if comparison is not None else []
    notes = [size, since, *put_in(marks)]
    return TreePage("parts of the request", entries, flipped=flipped, notes=notes, heads=_HEADS)


def _origins(outline: Outline, marks: Sequence[Link]) -> Iterator[tuple[str, str]]:
    """Yield the messages that a profile, a server's prompt or results wrote, by their keys, with whose they are."""
    for part in outline.walk():
        inside = [mark for mark in marks if part.kind == "message" and _is_within(mark, part)]
        if (len(inside) == 1 and inside[0].relation == "profile") or (
            inside and all(mark.relation == "given" and mark.words.startswith("the prompt ") for mark in inside)
        ):
            yield part.key, inside[0].words
        elif part.origin == USER and inside and all(mark.relation == "told" for mark in inside):
            yield part.key, ", ".join(dict.fromkeys(mark.server for mark in inside))


def _is_within(mark: Link, part: Part) -> bool:
    return part.start <= mark.span.start < (mark.span.end or 0) <= part.end


@dataclass(frozen=True, slots=True)
class _RequestParts:
    """Draws the parts of a request as entries."""

    body: Body
    outline: Outline
    comparison: Comparison | None
    marks: Sequence[Link]
    origins: Mapping[str, str]  # whose parts are, by their keys or by who the dialect says
    asked: Mapping[str, str]  # the model's own words for the calls whose results are told, by the calls' numbers

    def entry(self, part: Part) -> SheetLine:
        is_group = part.kind in {"tools", "messages"}
        ours, children = [*self._ours(part)], [self.entry(child) for child in part.children]
        within = [] if children else self._within(part)
        origin = self.origins.get(part.key, self.origins.get(part.origin, part.origin))
        has_open = any(child.opened for child in (*ours, *children, *within))
        if within:  # the text that holds the marked pieces stands behind them
            label = "the whole result" if part.kind == "result" else "the text that holds them"
            text, place = partial(self._text, part), partial(self._place, part.start, part.end)
            within.append(SheetLine(key="text", label=label, text=text, place=place, opened=True, style="note"))
        label = f"{part.label} ({len(part.children)})" if is_group else _label(part)
        return SheetLine(
            key=part.key,
            label=masked(label, self.body.redacted),
            values=_values(part),
            mark=self._mark(part) or ("adapted" if ours and part.kind == "tool" else ""),
            note=f"from {line(origin, 60)}" if origin and not is_group else "",
            text=None if children or within else partial(self._text, part),
            place=partial(self._place, part.start, part.end),
            children=(*ours, *children, *within),
            opened=part.kind == "messages" or (part.kind != "tools" and has_open),
            style="what" if is_group else "",
            is_wrapped=part.kind == "option",
        )

    def _ours(self, part: Part) -> Iterator[SheetLine]:
        """Yield what the host has to say about a part: how a schema was adapted, and what of a call was edited."""
        for mark in self.marks if part.kind == "tool" else ():
            if mark.relation == "adapted" and (mark.span.start, mark.span.end) == (part.start, part.end):
                yield SheetLine(key="adapted", label=masked(mark.words, self.body.redacted), style="what")
        if part.kind == "result" and (edited := _edited(self.outline, part)) is not None:
            for key, words in zip(("asked", "ran"), edited, strict=True):
                label = masked(words, self.body.redacted)
                yield SheetLine(key=key, label=label, style="what", opened=key == "asked")

    def _within(self, part: Part) -> list[SheetLine]:
        """Return the marked pieces inside a part's text by kind: of the profile, of the tool protocol, of servers, results."""
        span = part.start, part.end
        marks = [mark for mark in self.marks if mark.relation in _PUT_IN and _is_within(mark, part)]
        marks = [mark for mark in marks if (mark.span.start, mark.span.end) != span]
        return [self._piece(mark) for mark in sorted(marks, key=lambda mark: _PUT_IN.index(mark.relation))]

    def _piece(self, mark: Link) -> SheetLine:
        start, end = mark.span.start, mark.span.end or mark.span.start
        is_told = mark.relation == "told"
        asked = self.asked.get(mark.call, "") if is_told and _EDITED in mark.words else ""
        label = f"the result of {_called(mark)}  {mark.words}" if is_told else mark.words
        if mark.relation == "profile":
            label = f"the system prompt of {label}"
        return SheetLine(
            key=f"{mark.relation}/{start}",
            label=masked(label, self.body.redacted),
            values={"bytes": end - start},
            mark="result" if is_told else "added",
            note=f"bytes {start:,} to {end:,}",
            text=lambda: masked(_json_text(self.body.data[start:end]), self.body.redacted),
            place=partial(self._place, start, end, is_decoded=True),
            children=(SheetLine(key="asked", label=masked(asked, self.body.redacted), style="what"),) if asked else (),
            opened=bool(asked),
            style="what",
        )

    def _mark(self, part: Part) -> str:
        marks = {} if self.comparison is None else self.comparison.marks
        mark = marks.get(part.key, "=")
        new = sum(marks.get(child.key) == "+" for child in part.children) if part.kind in {"tools", "messages"} else 0
        if mark == "=":
            return ""
        return f"+{new}" if new else mark

    def _place(self, start: int, end: int, *, is_decoded: bool | None = None) -> BodyPlace:
        data = self.body.data[start:end]
        is_string = data.startswith(b'"') if is_decoded is None else is_decoded
        data = masked(decode(data), self.body.redacted).encode() if self.body.redacted else data
        return BodyPlace(path_at(self.body.data, start), data, is_string)

    def _text(self, part: Part) -> str:
        text = decode(self.outline.bytes_of(part))
        return masked(_json_text(text[1:-1]) if text.startswith('"') else text, self.body.redacted)


def _edited(outline: Outline, part: Part) -> tuple[str, str] | None:
    """Say what the model asked and what ran; None if a result is not that of an edited call."""
    from tui_host.infer.conversations.request_messages import message_of

    text = "".join(result.text for result in message_of(outline.body, part).of("result"))
    if text.startswith("{"):
        try:
            text = "\n".join(str(value) for value in mapping(read_json(text)).values())
        except ValueError:
            return None
    if not text.startswith(_EDITED):
        return None
    calls = (call for call in outline.walk() if call.kind == "call" and call.wire_id == part.wire_id)
    call = next((call for call in calls if call.name == part.name or part.wire_id), None)
    own = "" if call is None else "".join(asked.text for asked in message_of(outline.body, call).of("call"))
    return f"the model asks {part.name} {own}", text.partition("\n")[0]


def _label(part: Part) -> str:
    name = part.name if part.name and part.name != part.label else ""
    label = name if name and part.kind in {"tool", "option"} else f"{part.label} {name}".rstrip()
    return f"{label}  {part.preview}".rstrip()


def _values(part: Part) -> Mapping[str, int]:
    return {"bytes": part.size, "tokens": part.tokens}


def _gone(part: Part) -> SheetLine:
    return SheetLine(
        key=f"gone/{part.key}",
        label=_label(part),
        values=_values(part),
        mark="-",
        note="no longer sent",
        style="note",
    )


# A response.


def _response_page(source: SessionSource, row: Row, body: Body, dialect: Dialect, flipped: set[str]) -> Page:
    if row.status >= 400:
        head = head_of(source, row)
        error = dialect.error(row.status, head.headers if head is not None else (), body.data)
        lines = [f"status: {row.status}", f"what: {error.what}", f"remedy: {error.remedy}" if error.remedy else ""]
        return TextPage("refusal", masked("\n".join(filter(None, lines)), body.redacted), form="headers")
    if row.method == "GET":  # nobody asks a model so
        names = dialect.models(body.data)
        text = "Neither a model's answer nor a list of models; see Raw."
        if names:
            text = f"models: {len(names):,}\n\n" + "\n".join(line(name, 200) for name in names)
        return TextPage("list" if names else "parts", masked(text, body.redacted), form="plain")
    fold = folded(source, row, body, dialect)

    def hide(text: str) -> str:
        return masked(source.hide(text), body.redacted)

    entries = [
        *_content(fold, hide, is_open=row.state == "open"),
        *_read_out(marks_of(source, row), body, has_calls=bool(fold.calls)),
        *_ending(fold),
    ]
    state = "so far" if row.state == "open" else "assembled from the events"
    empty = "nothing received yet"
    return TreePage("the response, assembled", entries, flipped=flipped, notes=[state], heads=_HEADS[:1], empty=empty)


def _content(fold: Fold, hide: Callable[[str], str], *, is_open: bool) -> Iterator[SheetLine]:
    for key, name, text in (("thinking", "thinking", fold.thinking), ("text", "answer", fold.text)):
        if text:
            yield _said(key, name, hide(text), opened=key == "text")
    for number, run in enumerate(fold.vendor_runs):
        yield SheetLine(key=f"vendor/{number}", label=hide(f"the vendor {run.words}"), style="what")
    if fold.sources:
        pages = [hide(f"{page.title}  {page.url}".strip()) for page in fold.sources]
        children = tuple(SheetLine(key=str(number), label=page) for number, page in enumerate(pages))
        yield SheetLine(key="sources", label=f"sources ({len(pages)})", children=children, opened=True)
    for call in fold.calls:
        mark = "" if call.complete or is_open else "cut"
        name, arguments = f"asks  {call.call.name}", hide(call.call.arguments)
        yield _said(f"call/{call.call.id}", name, arguments, gap=" ", mark=mark, opened=True, style="what")


def _said(
    key: str, name: str, text: str, *, gap: str = "  ", mark: str = "", opened: bool = False, style: Style = ""
) -> SheetLine:
    return SheetLine(
        key=key,
        label=f"{name}{gap}{line(text, _PREVIEW)}",
        values={"bytes": len(text.encode("utf-8", "replace"))},
        mark=mark,
        text=lambda: text,
        opened=opened,
        style=style,
    )


def _read_out(marks: Iterable[Link], body: Body, *, has_calls: bool) -> Iterator[SheetLine]:
    """Yield what was read out of the text of a response; calls only where the dialect has no place for them."""
    for mark in marks:
        is_call = mark.relation == "asked"
        if mark.relation not in {"asked", "cut"} or (is_call and has_calls):
            continue
        pieces = mark.span.pieces(body.data)
        start = f"became the call  {_called(mark)}" if is_call else "text after the call, left out "
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
    for key, what, facts in (("usage", "tokens", [*usage_words(usage)]), ("times", "times", times)):
        if facts:
            yield SheetLine(key=key, label=f"{what}, as reported: {', '.join(facts)}")
    if fold.stop is not None:
        vendor = f" ({line(fold.vendor_stop, 60)})" if fold.vendor_stop else ""
        yield SheetLine(key="stop", label=f"stop: {fold.stop}{vendor}")
    faults = {
        "unreadable": f"{fold.unreadable:,} events could not be read; see Events" if fold.unreadable else "",
        "left out": f"more than {len(fold.calls)} calls were requested; the rest is in Events"
        if fold.has_calls_left_out
        else "",
        "failure": f"error: {fold.failure}" if fold.failure else "",
    }
    for key, label in faults.items():
        if label:
            yield SheetLine(key=key, label=label, style="failed", is_wrapped=True)


def _called(mark: Link) -> str:
    return f"{mark.server}.{mark.tool}" if mark.server else mark.tool or mark.call


def _json_text(piece: bytes | str) -> str:
    """Return what a piece of a JSON string says."""
    text = decode(piece) if isinstance(piece, bytes) else piece
    try:
        value = read_json(f'"{text}"')
    except ValueError:
        return text
    return value if isinstance(value, str) else text
