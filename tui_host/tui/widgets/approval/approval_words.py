"""The approval's texts: names, claims, arguments, keys."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from rich.cells import cell_len
from textual.content import Content

from tui_host.answers.masks import Mask
from tui_host.capture.visible import hidden, tool_name, visible
from tui_host.chat.policy import CallRequest
from tui_host.servers.catalog import Tool, claims_of
from tui_host.tui.text_width import clip, fill
from tui_host.tui.widgets.status_lines import DIM

GAP = 3
"""Space between two columns of keys, in cells."""
CLAIM = "server claims: "
BEYOND = 4096
"""Number of characters after a cut in which a secret may continue."""
LONGEST_LINE = 500
"""Number of characters of arguments to use for a call's line."""
SHORTEST = 8
"""Least width for arguments on a call's line, in cells."""
MOST_MISFITS = 3
"""Number of errors to list; further ones are only counted."""
WIDEST_KEYS = 84
"""Largest width over which the keys are spread, in cells."""


@dataclass(frozen=True, slots=True)
class Label:
    """A key with its effect, and the effect in one word for narrow windows."""

    key: str
    effect: str
    brief: str


@dataclass(frozen=True, slots=True)
class Keys:
    """The keys that work: those that lead on, those that lead back, and those that only look, the most important first."""

    on: Sequence[Label] = ()
    back: Sequence[Label] = ()
    look: Sequence[Label] = ()


ALL = Label("Y", "all that remain", "all")
ALL_OF_THESE = Label("Y", "all of these", "these")
KEYS = Keys(
    on=(
        Label("y", "once", "once"),
        Label("e", "edit", "edit"),
        Label("A", "this tool, this session", "session"),
        ALL,
    ),
    back=(
        Label("n", "no", "no"),
        Label("r", "no, because…", "because…"),
        Label("esc esc", "stop the turn", "stop"),
    ),
    look=(
        Label("tab", "look around", "look"),
        Label("p", "raw", "raw"),
        Label("d", "description", "about"),
        Label("z", "wider", "wider"),
    ),
)
NARROWER = Label("z", "narrower", "narrower")
EDITOR_KEYS = Keys(
    on=[Label("enter", "show what will be sent", "review")],
    back=[Label("esc", "back", "back")],
    look=[Label("ctrl+j", "new line", "new line")],
)
REASON_KEYS = Keys(on=[Label("enter", "reject with this reason", "reject")], back=[Label("esc", "back", "back")])
"""The keys of the two fields."""


def name_of(tool: Tool) -> str:
    """Return the name of a tool: the server first, then the tool."""
    return visible(tool_name(tool.server, tool.name), newlines=False)


def hints_of(tool: Tool) -> str:
    """The server's hints in a few words, as its claim; empty without any."""
    claims = claims_of(tool)
    return f"{CLAIM}{claims}" if claims else ""


def description_of(
    request: CallRequest, hints: str = "", limit: int | None = None, *, hide: Callable[[str], str] = str
) -> str:
    """Return changes of the definition, hints that have no room elsewhere, and the server's description.

    Args:
        request: The call.
        hints: Hints that have no room elsewhere.
        limit: Number of characters of the description to show; None for all.
        hide: Removes secrets, before text is cut.
    """
    tool = request.tool
    parts: list[str] = []
    if request.changed:
        parts.append(f"! the definition changed since the last approval: {visible(hide(request.changed))}")
    count = hidden(tool.description) + hidden(tool.title)
    if count:
        parts.append(f"! the description has {count} hidden characters")
    if hints:
        parts.append(hints)
    words = f"{tool.title}: {tool.description}" if tool.title else tool.description
    parts.append(
        visible(hide(words[: None if limit is None else limit + BEYOND])[:limit]).strip() or "(no description)"
    )
    return "\n".join(parts)


def call_row(tool: Tool, width: int, *, is_current: bool, arguments: str = "") -> str:
    """Return a waiting call as a line: name, arguments, and hints at the right.

    Arguments are shown as far as there is room; all of them are shown below.
    """
    name = clip(name_of(tool), width - 2)
    hints = hints_of(tool) if hints_fit(tool, width, arguments) else ""
    room = width - 2 - cell_len(name)
    free = room - 1 - (len(hints) + 2 if hints else 0)
    shown = f" {clip(_one_line(arguments), free)}" if arguments and free >= SHORTEST else ""
    return f"{'>' if is_current else ' '} {name}{shown}{' ' * (room - cell_len(shown) - len(hints))}{hints}".rstrip()


def fits_row(tool: Tool, width: int, arguments: str) -> bool:
    """Whether a call's line shows its arguments completely."""
    room = width - 3 - cell_len(name_of(tool))
    return room >= SHORTEST and len(arguments) <= LONGEST_LINE and cell_len(_one_line(arguments)) <= room


def window(count: int, room: int, current: int, top: int) -> int:
    """Return the first of `room` rows to show, with the current row visible and little movement."""
    least, most = current - room + 1, current
    return max(0, min(max(top, least), most, count - room))


def in_window(rows: Sequence[str], room: int, top: int, width: int) -> list[str]:
    """Return the visible rows; a mark at the right shows hidden rows above or below."""
    shown = list(rows[top : top + room])
    marked = {0 if top > 0 else -1, len(shown) - 1 if top + room < len(rows) else -1}
    return [
        f"{row}{' ' * (width - 1 - cell_len(row))}…" if number in marked else row for number, row in enumerate(shown)
    ]


def calls_shown(rows: Sequence[str]) -> list[Content]:
    """Style the waiting calls: the current call stands out, claims never do."""
    parts: list[Content] = []
    for row in rows:
        at = row.rfind(CLAIM) if CLAIM in row else len(row)
        own = "bold $foreground" if row.startswith(">") else DIM
        parts.append(Content.assemble(Content.styled(row[:at], own), Content.styled(row[at:], DIM)))
    return parts


def grid(keys: Keys, width: int) -> list[Content]:
    """Lay the keys out: those that lead on left, those that lead back right, those that only look below, dimmer.

    A key keeps its place while the width stays. Where the width ends, the effects are told in a word.
    """
    on, back, spare = [], [], 0
    for most, is_brief in ((2, False), (4, False), (4, True)):
        on, back = (_columns(labels, most, is_brief=is_brief) for labels in (keys.on, keys.back))
        spare = min(width, WIDEST_KEYS) - sum(_width_of(column) + GAP for column in (*on, *back)) + GAP
        if spare >= 0:
            break
    columns = [*on, *back]
    rows: list[Content] = []
    for number in range(max(map(len, columns))):
        row, at = Content(""), 0
        for place, column in enumerate(columns):
            at += max(0, spare) if place == len(on) else 0
            if number < len(column):
                row = Content.assemble(row, " " * (at - row.cell_length), column[number])
            at += _width_of(column) + GAP
        rows.append(row)
    return [*rows, *_look_row(keys.look, width)]


def _columns(labels: Sequence[Label], most: int, *, is_brief: bool) -> list[list[Content]]:
    """Fill columns with `most` keys each, one after the other."""
    cells = [
        Content.assemble(
            Content.styled(label.key, "bold $text-warning"),
            f" {label.brief if is_brief else label.effect}",
        )
        for label in labels
    ]
    return [cells[start : start + most] for start in range(0, len(cells), most)]


def _width_of(column: Sequence[Content]) -> int:
    return max(cell.cell_length for cell in column)


def _look_row(labels: Sequence[Label], width: int) -> list[Content]:
    gap = " " * GAP
    row = gap.join(f"{label.key} {label.effect}" for label in labels)
    kept = list(labels)
    while kept and len(row) > width:
        row = gap.join(f"{label.key} {label.brief}" for label in kept)
        kept.pop()
    return [Content.styled(row, DIM)] if row and len(row) <= width else []


def hints_fit(tool: Tool, width: int, arguments: str = "") -> bool:
    """Whether name, hints and the arguments whole fit into one line."""
    hints = hints_of(tool)
    return (
        fits_row(tool, width - len(hints) - 2, arguments)
        if arguments
        else cell_len(name_of(tool)) + len(hints) + 4 <= width
    )


def _one_line(arguments: str) -> str:
    return visible(arguments[:LONGEST_LINE], newlines=False)


def stand_ins(values: Iterable[str]) -> str:
    """Explain the marks of secrets in the editor; empty without secrets."""
    names = ", ".join(values)
    return f"{names}: stands for a secret of yours; its value is sent in place of the mark" if names else ""


def notices(request: CallRequest, edited: bytes | None, mask: Mask) -> list[str]:
    """Return warnings: errors by the tool's schema, edits, hidden characters and secrets in the arguments.

    Args:
        request: The call.
        edited: The arguments to send in place of the model's, None for the model's.
        mask: Hides secrets.
    """
    text = (request.arguments if edited is None else edited).decode()
    words: list[str] = []
    misfits = (
        [] if edited is not None else [visible(mask.values(misfit), newlines=False) for misfit in request.misfits or ()]
    )
    if edited is None:
        words += [f"! the number {written} is sent as {sent}" for written, sent in request.changed_numbers]
    if misfits:
        more = f"; and {len(misfits) - MOST_MISFITS} more" if len(misfits) > MOST_MISFITS else ""
        words.append(f"! does not fit the tool's schema: {'; '.join(misfits[:MOST_MISFITS])}{more}")
    if edited is not None:
        words.append("edited: this will be sent")
    count = hidden(text)
    if count:
        words.append(f"{count} hidden characters, written as codes")
    secrets = mask.found(text)
    if secrets:
        words.append(f"the arguments contain a secret of yours, {', '.join(secrets)}: its real value would be sent")
    return words


def key_name(key: str) -> str:
    """Return how a key is called on the screen."""
    return "esc" if key == "escape" else key


def readiness(*, ignored: str, is_ready: bool, is_readable: bool) -> Content:
    """Return the text that says whether keys decide now, and names a key that came too early.

    Args:
        ignored: The key that came too early, empty if none did.
        is_ready: Whether a key would decide now.
        is_readable: Whether the call can be read, so that a key may approve it.
    """
    if not ignored:
        ready = "ready" if is_readable else "enlarge or press n"
        return Content(ready if is_ready else "…")
    early = f"{ignored} came too early and was ignored"
    return Content(f"{early}; press it again") if is_ready else Content.styled(f"{early}; wait", "bold $text-warning")


def plain(text: str, width: int) -> list[Content]:
    """Wrap words into lines; none for an empty text."""
    rows = text.split("\n") if text else ()
    return [Content(row[start:end]) for row in rows for start, end in fill(row, width)]
