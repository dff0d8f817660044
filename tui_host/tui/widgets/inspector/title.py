"""The title line of the list, and the legend of its signs: what the first frame shows of it, so nothing heavy is imported."""

from __future__ import annotations

from collections.abc import Sequence

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


def legend() -> str:
    """Return the signs of the list and their meaning, in lines of at most 40 cells."""
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
    return "\n".join(["Signs of the list (? shows them)", *(f"{sign:<8}{words}" for sign, words in signs)])
