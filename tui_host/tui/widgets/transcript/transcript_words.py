"""The chat's own lines: calls, cards, notes, figures. Foreign text is cut and made visible."""

from __future__ import annotations

from collections.abc import Sequence

from rich.cells import cell_len
from rich.segment import Segment
from rich.style import Style

from tui_host.capture.visible import tool_called, tool_name
from tui_host.chat.conversation import AnswerItem, CallItem, NoteItem, SummaryItem, UserItem
from tui_host.tui.markdown.line_page import STRONG, Inks, MarkdownPage
from tui_host.tui.text_width import clip

Row = Sequence[Segment]

LONGEST_CARD = 4000
"""Characters of a provider's words that a card shows; all of them stand in the inspector."""
PLAIN = Style.null()


def mark_of(item: CallItem, inks: Inks) -> tuple[str, Style, str]:
    """Return a call's glyph, style and state; no state word for a successful call."""
    full, empty, half = "●○◐"
    match item.state:
        case "asked":
            return empty, inks["dim"], "asked"
        case "waiting":
            return half, STRONG, "waiting for you"  # a colour would be faint behind the approval, on light ground
        case "running":
            return half, inks["accent"], item.progress or "running"
        case "done":
            return "✓", inks["string"], ""
        case "failed" | "rejected" | "invalid":
            return "✗", inks["wrong"], item.state
        case "stopped":
            return "✗", inks["dim"], item.state
    return full, inks["dim"], item.state


def call_rows(item: CallItem, width: int, inks: Inks, *, is_open: bool = False) -> list[Row]:
    """Return a call: arguments and result, what is to be noted about the arguments, decision and duration; whole if open."""
    glyph, ink, word = mark_of(item, inks)
    room = max(4, width - 3)
    named = tool_name if item.state == "waiting" else tool_called
    name = clip(named(item.server, item.tool), room)
    result = "" if item.state in {"rejected", "waiting", "asked", "running"} else item.result.strip()
    tail = f"{word}: {result}" if word and result else word or result
    room -= cell_len(name) + 1
    written = item.sent or item.asked
    spare = room - 2 - cell_len(written[:room])  # what short arguments leave
    tail = clip(tail, max(12, cell_len(word), room // 2, spare) if item.state != "running" else room)
    arguments = clip(written, room - cell_len(tail) - (2 if tail else 0))
    first = [Segment(" ", PLAIN), Segment(f"{glyph} ", ink), Segment(name, STRONG), Segment(" ", PLAIN)]
    if arguments:
        first.append(Segment(arguments, inks["dim"]))
    if tail:
        first.append(Segment("  ", PLAIN))
        first.append(Segment(tail, ink if word else PLAIN))
    rows: list[Row] = [first]
    if is_edited(item) and not is_open:  # else the arguments stand below
        rows.append([Segment(clip(f"   the model asked {item.asked}", width), inks["dim"])])
    words, time = _decision(item)
    if is_open:
        time = f"{words}{time}"
    elif words:
        time = f"{clip(words, max(8, width - 3 - cell_len(time)))}{time}"
    misfits = f"! does not fit the tool's schema: {'; '.join(item.misfits.splitlines())}" if item.misfits else ""
    unfit = "; ".join(item.output_misfits.splitlines())
    for words, ink_name in (
        (misfits, "wrong"),
        (time, "dim"),
        (unfit and f"! does not fit the output schema: {unfit}", "number"),
        (item.notice and f"! {item.notice}", "number"),
    ):
        if words and is_open:
            rows += _whole_rows(words, width, inks, ink_name)
        elif words:
            rows.append([Segment(clip(f"   {words}", width), inks[ink_name])])
    return rows


def origin_rows(item: UserItem, bar: Segment, width: int, inks: Inks) -> list[Row]:
    """Say which server's prompt a message comes from, and whose words it is."""
    role = " · as the model's words" if item.role else ""
    return [[bar, Segment(clip(f"from the prompt {item.origin}{role}", width - 1), inks["label"])]]


MOST_CONTENTS = 4
"""Contents of a result that are named while its item is closed."""


def content_rows(item: CallItem, width: int, inks: Inks, *, is_open: bool) -> list[Row]:
    """Return what a result contains besides plain text, a row each, and the page that the server has for the tool."""
    lines = item.contents.splitlines()
    hidden = 0 if is_open else max(0, len(lines) - MOST_CONTENTS)
    shown = lines[: len(lines) - hidden]
    if hidden:
        shown.append(f"and {hidden} more")
    if item.page:
        shown.append(f"page: {item.page} · the server has a page for this tool, which is not shown")
    rows: list[Row] = []
    for words in shown:
        if is_open:
            rows += _whole_rows(words, width, inks, "label")
        else:
            rows.append([Segment(clip(f"   {words}", width), inks["label"])])
    return rows


def content_count(item: CallItem) -> int:
    """Return the number of rows of contents in a closed item."""
    lines = item.contents.count("\n") + 1 if item.contents else 0
    return min(lines, MOST_CONTENTS + 1) + bool(item.page)


def _decision(item: CallItem) -> tuple[str, str]:
    """Return how a call was decided, and what took how long: «approved once», « · you 1.5 s · ran 155 ms»."""
    words, is_timed, _ = item.words.partition(", by you, after ")
    times = [f"you {item.waited:.1f} s"] if is_timed and item.waited else []
    if item.milliseconds > 0 and item.state in {"done", "failed", "stopped"}:
        times.append(f"ran {duration(item.milliseconds / 1000)}")
    words = words if item.waited else item.words
    return words, f"{' · ' if words and times else ''}{' · '.join(times)}"


def is_edited(item: CallItem) -> bool:
    """Whether other arguments than the model's were approved."""
    return item.decision == "edited"


def _whole_rows(words: str, width: int, inks: Inks, ink: str = "dim") -> list[Row]:
    page, edge = MarkdownPage(max(1, width), inks), Segment("   ", PLAIN)
    with page.inside(edge, edge):
        page.text([Segment(words, inks[ink])])
    return [list(line.strip) for line in page.lines]


def call_text(item: CallItem) -> str:
    """A call as text for the clipboard."""
    head = f"{item.server}.{item.tool}" if item.server else item.tool
    lines = [f"{head} {item.sent or item.asked}".rstrip()]
    lines += [f"the model asked {item.asked}"] if is_edited(item) else []
    lines += [line for line in (item.words, item.contents, item.output_misfits, item.result, item.structured) if line]
    return "\n".join(lines)


def thinking_rows(item: AnswerItem, width: int, inks: Inks, *, is_open: bool) -> list[Row]:
    """Return the line that stands for the thinking."""
    count = len(item.thinking)
    still = item.state == "streaming" and not item.text
    words = f" thinking{'…' if still else ''} · {count:,} characters · enter {'closes' if is_open else 'opens'}"
    return [[Segment(clip(words, width), inks["dim"])]]


MOST_OPTIONS = 9
"""Answers that a digit can give."""
ENDS = {"cut": "cut off here", "failed": "failed here"}


def end_rows(item: AnswerItem, width: int, inks: Inks) -> list[Row]:
    """Say how an answer ended, unless well or by a person."""
    words = ENDS.get(item.state)
    if words is None:
        return []
    return [[Segment(clip(f" ✗ {words}", width), inks["wrong"])]]


def numbered(options: Sequence[str]) -> dict[str, str]:
    """Return proposed answers by digit."""
    return {str(number): text for number, text in enumerate(options[:MOST_OPTIONS], 1)}


def option_rows(options: Sequence[str], width: int, inks: Inks) -> list[Row]:
    """Return proposed answers as lines with their digits."""
    rows: list[Row] = [[]]
    for number, text in numbered(options).items():
        page = MarkdownPage(max(1, width - 1), inks)
        mark = Segment(f" {number}  ", inks["accent"])
        with page.inside(mark, Segment(" " * len(mark.text), PLAIN)):
            page.text([Segment(text, PLAIN)])
        rows += [list(line.strip) for line in page.lines]
    return rows


def card_rows(item: NoteItem, width: int, inks: Inks) -> list[Row]:
    """An error as a card with the provider's own words."""
    top_left, top_right, bottom_left, bottom_right, across, _ = "╭╮╰╯─│"
    side = "│"
    ink = inks["wrong"]
    inner = max(1, width - 6)
    page = MarkdownPage(inner, inks)
    cut = len(item.what) - LONGEST_CARD
    page.text([Segment(item.what[:LONGEST_CARD], PLAIN)])
    if cut > 0:
        page.text([Segment(f"… {cut:,} more characters; see the inspector", inks["dim"])])
    for words in (item.where, item.remedy):
        if words:
            page.text([Segment(words[:LONGEST_CARD], inks["dim"])])
    if item.again or item.is_full:
        page.text(
            [Segment(f"press ctrl+r to {'go on without the oldest turns' if item.is_full else 'try again'}", STRONG)]
        )
    title = f"{across} error "
    rows: list[Row] = [[Segment(f" {top_left}{title}{across * max(0, inner + 2 - len(title))}{top_right}", ink)]]
    for line in page.lines:
        missing = max(0, inner - line.strip.cell_length)
        rows.append([Segment(f" {side} ", ink), *line.strip, Segment(" " * missing + " ", PLAIN), Segment(side, ink)])
    rows.append([Segment(f" {bottom_left}{across * (inner + 2)}{bottom_right}", ink)])
    return rows


def note_rows(item: NoteItem, width: int, inks: Inks) -> list[Row]:
    """A note in plain lines."""
    page = MarkdownPage(max(1, width), inks)
    shorten = "ctrl+r goes on without the oldest turns" if item.is_full else ""
    parts = [words for words in (item.what, item.where, item.remedy, shorten) if words]
    edge = Segment(" · ", inks["dim"])
    with page.inside(edge, Segment("   ", PLAIN)):
        page.text([Segment(" · ".join(parts)[:LONGEST_CARD], inks["dim"])])
    return [list(line.strip) for line in page.lines]


def summary_rows(item: SummaryItem, width: int, inks: Inks) -> list[Row]:
    """Return a turn's figures: «612 in · 85 out · 2 calls · 3.6 s · 64 cached», the most important first."""
    calls = f"{item.calls} call{'s' * (item.calls != 1)}" if item.calls else ""
    counted = [_tokens(item.tokens_in, "in"), _tokens(item.tokens_out, "out"), calls, duration(item.seconds)]
    part_of_them = [_tokens(item.tokens_cached or None, "cached"), _tokens(item.tokens_thinking or None, "thinking")]
    if item.cost is not None:
        counted.append(f"cost {item.cost:.4g}")
    words = ""
    for fact in filter(None, (*counted, *part_of_them)):
        longer = f"{words} · {fact}" if words else f" {fact}"
        if words and cell_len(longer) > width:
            break
        words = longer
    return [[Segment(clip(words, width), inks["dim"])]]


def _tokens(count: int | None, what: str) -> str:
    return "" if count is None else f"{count:,} {what}"


def duration(seconds: float) -> str:
    """A time for people: «12 ms», «3.6 s», «2 min 5 s»."""
    if seconds < 1:
        return f"{round(seconds * 1000)} ms"
    if seconds < 60:
        return f"{seconds:.1f} s"
    return f"{int(seconds // 60)} min {int(seconds % 60)} s"
