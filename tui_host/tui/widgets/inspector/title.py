"""The title line of the list, and the legend of its signs."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from textwrap import wrap

from rich.cells import cell_len

from tui_host.tui.text_width import clip

_HOST_COLUMN = 11  # the cell in which the host's line stands


def title_line(llm: int, mcp: int, words: Sequence[str], width: int, *, has_focus: bool = False) -> str:
    """Return the title: the captured rows per lane, and words, the first of which give way."""
    left = f"{'>' if has_focus else ' '}{llm} LLM "
    left = f"{left}{'─' * max(1, _HOST_COLUMN - len(left))}┬── {mcp} MCP "
    for first in range(len(words)):
        right = f" {' · '.join(words[first:])} "
        room = width - cell_len(left) - cell_len(right)
        if room >= 1:
            return f"{left}{'─' * room}{right}"
    return clip(left, width)


@lru_cache(2)
def legend(why_empty: str, width: int) -> str:
    """Return why the list has no rows, if it has none, and its signs and their meaning, in lines of at most 41 cells."""
    signs = (
        ("<──┤", "request to the model"),
        ("──>┤", "response of the model"),
        ("├──>", "message to a server"),
        ("├<──", "message from a server"),
        ("├<══", "a server asks; ══> its answer"),
        ("● │", "decision about a call; the host"),
        ("▸ ▾", "folded and open section: enter"),
        ("> *", "selected row; rows of its call"),
        ("m M", "marked row; with a note"),
        ("… ✗", "running; failed, cut, no answer"),
        ("•••", "a secret, not kept"),
    )
    why = [*wrap(why_empty, max(1, width - 1)), ""] if why_empty else []
    lines = *why, "Signs of the list (? shows them)", *(f"{sign:<8}{words}" for sign, words in signs)
    return "\n".join(f" {words}".rstrip() for words in lines)
