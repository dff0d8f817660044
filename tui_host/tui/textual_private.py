"""All uses of Textual's private names. `tests/tui/test_textual_private.py` tests each of them."""
# pyright: reportPrivateUsage=false

from __future__ import annotations

import re
import time
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING, NamedTuple

from textual._compositor import Compositor, CompositorUpdate
from textual._xterm_parser import XTermParser
from textual.constants import ESCAPE_DELAY
from textual.drivers import linux_driver
from textual.drivers._writer_thread import WriterThread
from textual.geometry import Region
from textual.message import Message
from textual.worker import WorkerFailed
from typing_extensions import override

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from rich.console import Console
    from textual.app import App
    from textual.dom import DOMNode
    from textual.notifications import Notification
    from textual.screen import Screen
    from textual.strip import Strip
    from textual.widget import Widget

MOST_WAITING = 8  # writes that may wait for the terminal; Textual's own queue blocks the event loop at 30
WRITER = "textual-output"  # the name of the thread that writes to the terminal
PASTE, PASTED = "\x1b[200~", "\x1b[201~"
_TYPED = re.compile(
    r"(?P<paste>\x1b\[200~)"
    # A terminal's answers: attributes, kitty's keys, sizes; colours, names and graphics. Textual reads those that end in `$y`.
    r"|(?P<answer>\x1b\[[?>=](?!(?!1004;)\d+;\d\$y)[\d;:$]*[@-~]|\x1b\[[4689];\d+;\d+t"
    r"|\x1b(?:\]\d|P[>!\d]|_G)[^\x07\x1b]{0,4096}(?:\x07|\x1b\\))"
    r"|(?P<begun>\x1b\[(?:[?>=][\d;:$]*|(?:[4689]|48)(?:;[\d;]*)?)\Z"
    r"|\x1b(?:\]|P|_|(?:\]\d|P[>!\d]|_G)[^\x07\x1b]{0,4096}\x1b?)\Z)"
    r"|(?P<opened>\x1b(?:\[(?:2|20|200)?)?\Z)"
)
ALT_ENTER = "\x1b[13;3u"  # as kitty writes the key; of the usual bytes Textual reads the enter alone
ASKED = "\x1b]11;?\x07\x1b[?1004$p"  # for the ground's colour, and whether the terminal tells of its focus
_NOTHING = "\x1b[G"  # what Textual reads and leaves out
_LATE = 2.0  # seconds after which the rest of an answer comes no more


class TerminalAnswer(Message):
    """What the terminal says to `ASKED`: whether its ground is light, and whether it tells of its focus; None if not said here."""

    def __init__(self, answer: str) -> None:
        super().__init__()
        colour = re.match(r"\x1b\]11;rgba?:([\da-fA-F]{1,4})/([\da-fA-F]{1,4})/([\da-fA-F]{1,4})", answer)
        mode = re.match(r"\x1b\[\?1004;(\d)\$y", answer)
        parts = [int(part, 16) / (16 ** len(part) - 1) for part in colour.groups()] if colour is not None else []
        # As eyes weigh them. Source: ITU-R BT.601.
        weighed = [part * weight for part, weight in zip(parts, (0.299, 0.587, 0.114), strict=False)]
        self.is_light = sum(weighed) > 0.5 if weighed else None
        self.tells_focus = mode[1] in "123" if mode is not None else None


class Parser(XTermParser):
    """Textual's parser without what it would read as keys: escapes inside a paste stay text, a terminal's answers are left out."""

    _is_pasting = False
    _kept = ""  # the beginning of a mark or an answer, whose rest may come
    _passed = 0  # how many characters of it Textual has: they may be a key
    _kept_at = 0.0

    @override
    def feed(self, data: str) -> Iterable[Message]:
        """Parse typed data; empty data means the end."""
        waited, text, passed, tame = time.monotonic() - self._kept_at, self._kept + data, self._passed, ""
        if not self._kept:
            self._kept_at = time.monotonic()  # of the beginning, however many pieces follow
        elif not self._is_pasting and waited > (ESCAPE_DELAY if passed else _LATE):
            # Textual has read the beginning as a key: what follows is typed, unless it completes an answer at once.
            whole = _TYPED.match(text) if passed else None
            text = text[whole.end() :] if whole and whole["answer"] else data
            passed, self._kept_at = 0, time.monotonic()
        self._kept, self._passed = "", 0
        answers: list[Message] = []
        while text:
            if self._is_pasting:
                inside, mark, rest = text.partition(PASTED)
                begun = (PASTED[:size] for size in range(len(PASTED) - 1, 0, -1))  # the end's mark may be cut
                self._kept = "" if mark else next(filter(inside.endswith, begun), "")
                tame += inside.removesuffix(self._kept).replace("\x1b", "␛") + mark
                self._is_pasting, text = not mark, rest
                continue
            match = _TYPED.search(text)
            if match is None:
                tame += text[passed:]
                break
            if (match["answer"] or "").startswith(("\x1b]11;", "\x1b[?1004;")):
                answers.append(TerminalAnswer(match[0]))
            if match["paste"] or match["opened"]:
                tame += text[passed : match.end()]
            elif passed > match.start():
                tame += _NOTHING[passed:]
            else:
                tame += text[passed : match.start()]
            if match["opened"] or match["begun"]:
                self._kept, self._passed = match[0], len(match["opened"] or "")
            self._is_pasting, text, passed = match["paste"] is not None, text[match.end() :], 0
        return chain(answers, super().feed(tame.replace("\x1b\r", ALT_ENTER)) if tame or not data else ())


def write(app: App[int], data: str) -> None:
    """Write to the terminal beside the screen, unless it does not read; `data` is obeyed by it."""
    if app._driver is not None and writes_waiting(app) < MOST_WAITING:
        app._driver.write(data)
        app._driver.flush()


def writes_waiting(node: DOMNode) -> int:
    """Return how many writes wait because the terminal does not read; none in tests, where no thread writes to a terminal."""
    driver = getattr(node.app, "_driver", None)  # pyright: ignore[reportUnknownMemberType, reportUnknownArgumentType]
    writer = getattr(driver, "_writer_thread", None)
    return writer._queue.qsize() if isinstance(writer, WriterThread) else 0


def is_shown(app: App[int], notification: Notification) -> bool:
    """Whether a notification with the same text is on the screen."""
    return any(shown.message == notification.message for shown in app._notifications)


def end_messages(app: App[int]) -> None:
    """End the app without Textual's report, which shows local variables."""
    app._close_messages_no_wait()


def first_exception(app: App[int]) -> Exception | None:
    """Return the exception that ended the app, unwrapped from a worker's failure; None if none did."""
    error = app._exception
    return error.error if isinstance(error, WorkerFailed) and isinstance(error.error, Exception) else error


def let_go(app: App[int]) -> None:
    """Let a suspended app end without touching the terminal, now used by another program."""
    driver = app._driver
    if isinstance(driver, linux_driver.LinuxDriver):
        driver.attrs_before = None
        driver.exit_event.set()  # it reads no more, and throws away nothing that was typed


@dataclass(frozen=True)
class ExactUpdate(CompositorUpdate):
    """Lines of cells with their positions on the screen."""

    placed: Sequence[tuple[int, int, Strip]]  # column and line, from 0, and the strip that begins there

    @override
    def render_segments(self, console: Console) -> str:
        return "".join(f"\x1b[{y + 1};{x + 1}H{strip.render(console)}" for x, y, strip in self.placed)


class Seen(NamedTuple):
    """A part of a screen line that no other widget covers."""

    first: int  # the first column
    end: int  # the column after the last one
    widget: Widget  # the widget that is visible there
    place: Region  # the region of the whole widget, in cells of the screen


class ExactCompositor(Compositor):
    """A compositor that asks widgets only for the lines to be painted.

    Textual takes the rectangle around all that changed, has every widget in it rendered whole, and cuts each line at the edges
    of all widgets: where the prompt and the header change together, that is the whole screen. Here a line is looked up
    in a table of who is seen where, which is made once for a layout.
    """

    _seen_of: dict[Widget, tuple[Region, Region]] | None = None  # the visible widgets that the table was made of
    _seen_in: dict[int, list[Seen]]  # by line

    @property
    @override
    def visible_widgets(self) -> dict[Widget, tuple[Region, Region]]:
        """The visible widgets, front to back, with their region and clip.

        A widget that was removed stays in Textual's table until the next layout, but has lost its styles: a text area that
        is drawn then ends the app with a `KeyError`.
        """
        visible = super().visible_widgets
        for widget in [widget for widget in visible if widget.parent is None]:
            del visible[widget]
            self._seen_of = None
        return visible

    @override
    def render_partial_update(self) -> ExactUpdate | None:  # pyright: ignore[reportIncompatibleMethodOverride] - all that is done with it is `render_segments`
        screen = self.size.region
        regions = [visible for region in self._dirty_regions if (visible := region.intersection(screen))]
        self._dirty_regions.clear()
        blocks: list[tuple[Widget, Region, Region]] = []  # widgets with their place and the part to paint
        open_blocks: dict[tuple[Widget, int, int], tuple[Region, int, int]] = {}
        visible = self.visible_widgets
        if visible is not self._seen_of:
            self._seen_of = visible
            self._seen_in = {}
        for y, first, end in self._regions_to_spans(regions):
            if y not in self._seen_in:
                self._seen_in[y] = _uncovered(y, visible)
            for seen in self._seen_in[y]:
                left, right = max(first, seen.first), min(end, seen.end)
                if left >= right:
                    continue
                key = seen.widget, left, right
                place, top, bottom = open_blocks.get(key, (seen.place, y, y))
                if bottom < y:
                    blocks.append((seen.widget, place, Region(left, top, right - left, bottom - top)))
                    top = y
                open_blocks[key] = place, top, y + 1
        for (widget, left, right), (place, top, bottom) in open_blocks.items():
            blocks.append((widget, place, Region(left, top, right - left, bottom - top)))
        placed: list[tuple[int, int, Strip]] = []
        for widget, place, part in blocks:
            strips = widget.render_lines(part.translate(-place.offset))
            placed += [(part.x, y, strip) for y, strip in zip(part.line_range, strips, strict=False)]
        return ExactUpdate(placed) if placed else None


def _uncovered(y: int, visible: dict[Widget, tuple[Region, Region]]) -> list[Seen]:
    parts: list[Seen] = []
    for widget, (region, clip) in visible.items():
        shown = region.intersection(clip)
        if not shown.y <= y < shown.bottom:
            continue
        free = [(shown.x, shown.right)]
        for seen in parts:
            free = [
                part
                for first, end in free
                for part in ((first, min(end, seen.first)), (max(first, seen.end), end))
                if part[0] < part[1]
            ]
        parts += [Seen(first, end, widget, region) for first, end in free]
    return parts


def paint_exactly(screen: Screen[None]) -> None:
    """Let a screen paint only its changes. Call before the screen is laid out."""
    screen._compositor = ExactCompositor()


def paint_now(screen: Screen[None], widget: Widget) -> None:
    """Paint a widget's changes at once, unless the screen has to be laid out first."""
    app = screen.app  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType] - Textual leaves its app open
    if not screen.is_current or app._batch_count or screen._layout_required or screen._repaint_required:
        return
    screen._compositor.update_widgets({widget})
    app._display(screen, screen._compositor.render_update(screen_stack=app._background_screens))  # pyright: ignore[reportUnknownMemberType]


def is_leaving(widget: Widget) -> bool:
    """Whether a widget is being removed: its children may be gone already."""
    return widget._pruning
