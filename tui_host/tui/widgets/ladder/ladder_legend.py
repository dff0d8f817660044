"""The legend of the ladder's signs."""

from __future__ import annotations

from tui_host.tui.glyphs import Glyphs


def legend(glyphs: Glyphs) -> str:
    """Return the signs of the list and their meaning, in lines of at most 40 cells."""
    rule, upright, left, right = glyphs.box[4], glyphs.thin, glyphs.cross[4], glyphs.cross[3]
    signs = (
        (f"<{rule}{rule}{left}", "request to the model"),
        (f"{rule}{rule}>{left}", "response of the model"),
        (f"{right}{rule}{rule}>", "message to a server"),
        (f"{right}<{rule}{rule}", "message from a server"),
        (f"{right}<{glyphs.question * 2}", f"a server asks; {glyphs.question * 2}> its answer"),
        (f"{glyphs.state[0]} {upright}", "decision about a call; the host"),
        (f"{glyphs.folds[0]} {glyphs.folds[1]}", "folded and open section: enter"),
        ("> *", "selected row, and rows of its call"),
        ("m M", "marked row; with a note"),
        (f"{glyphs.more} {glyphs.failed}", "running; failed, cut, no answer"),
        (glyphs.hidden, "a secret, not kept"),
    )
    return "\n".join(["Signs of the list (? shows them)", *(f"{sign:<8}{words}" for sign, words in signs)])
