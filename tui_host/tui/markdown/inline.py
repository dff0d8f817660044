"""Inline tokens as segments: text, code, emphasis, links and images."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING
from urllib.parse import unquote

from rich.segment import Segment
from rich.style import Style

from tui_host.tui.markdown.markdown_styles import EMPHASIS, STRONG, STRUCK, UNDERLINED, Inks
from tui_host.tui.markdown.wrap import joint

if TYPE_CHECKING:
    from markdown_it.token import Token

LONGEST_ADDRESS = 400
_OPEN = {"strong_open": STRONG, "em_open": EMPHASIS, "s_open": STRUCK, "link_open": UNDERLINED}
_CLOSE = {"strong_close", "em_close", "s_close"}
_BREAK = re.compile(r"(<br\s*/?>)", re.IGNORECASE)


def words_of(inline: Token, inks: Inks, style: Style | None = None) -> list[Segment]:
    """Return an inline token's children as segments; newlines are hard breaks, addresses of links and images are written out."""
    speaker = _Speaker(inks, style or Style.null())
    children = inline.children or []
    for number, token in enumerate(children):
        following = children[number + 1].content if number + 1 < len(children) else ""
        speaker.say(token, following)
    return speaker.segments


class _Speaker:
    """Turns tokens into segments."""

    def __init__(self, inks: Inks, style: Style) -> None:
        self.segments: list[Segment] = []
        self._inks = inks
        self._stack = [style]
        self._links: list[tuple[Token, int]] = []

    def say(self, token: Token, following: str) -> None:
        """Add a token; `following` is the text of the next token."""
        kind = token.type
        if kind == "softbreak":
            before = self.segments[-1].text if self.segments else ""
            self._break(joint(before, following))
        elif kind == "hardbreak":
            self._break("\n")
        elif kind == "code_inline":
            self.segments.append(Segment(token.content, self._stack[-1] + self._inks["code"]))
        elif kind == "image":
            self._image(token)
        elif kind in _OPEN:
            self._open(token)
        elif kind in _CLOSE:
            self._stack.pop()
        elif kind == "link_close":
            self._close_link()
        elif "<" in token.content:
            self._breaking_text(token)
        else:
            self.segments.append(Segment(token.content, self._stack[-1]))

    def _break(self, text: str) -> None:
        self.segments.append(Segment(text, self._stack[-1]))

    def _breaking_text(self, token: Token) -> None:
        """Add a text with `<br>` as line ends; all other HTML stays text."""
        for part in _BREAK.split(token.content):
            shown = "\n" if _BREAK.fullmatch(part) else part
            if shown:
                self.segments.append(Segment(shown, self._stack[-1]))

    def _image(self, token: Token) -> None:
        label, address = f"[image: {token.content}]", f" ({_address(token, 'src')})"
        self.segments += [Segment(label, self._stack[-1]), Segment(address, self._inks["address"])]

    def _open(self, token: Token) -> None:
        self._stack.append(self._stack[-1] + _OPEN[token.type])
        is_link = token.type == "link_open"
        if is_link:
            self._links.append((token, len(self.segments)))

    def _close_link(self) -> None:
        self._stack.pop()
        token, start = self._links.pop()
        address = _address(token, "href")
        is_auto = token.markup == "autolink"
        shown = "" if is_auto or address.startswith("#") or _says(self.segments[start:], address) else f" ({address})"
        if shown:
            self.segments.append(Segment(shown, self._inks["address"]))


def _address(token: Token, name: str) -> str:
    address = str(token.attrGet(name) or "")
    if len(address) > LONGEST_ADDRESS:
        return f"{address[:LONGEST_ADDRESS]}… {len(address):,} characters"
    return address


def _says(segments: Sequence[Segment], address: str) -> bool:
    text = "".join(segment.text for segment in segments)
    return text in {address, address.removeprefix("mailto:"), address.removesuffix("/"), unquote(address)}
