"""The legend of the ladder's signs."""

from __future__ import annotations


def legend() -> str:
    """Return the signs of the list and their meaning, in lines of at most 40 cells."""
    rule, upright, left, right = "─", "│", "┤", "├"
    signs = (
        (f"<{rule}{rule}{left}", "request to the model"),
        (f"{rule}{rule}>{left}", "response of the model"),
        (f"{right}{rule}{rule}>", "message to a server"),
        (f"{right}<{rule}{rule}", "message from a server"),
        (f"{right}<{'═' * 2}", f"a server asks; {'═' * 2}> its answer"),
        (f"● {upright}", "decision about a call; the host"),
        ("▸ ▾", "folded and open section: enter"),
        ("> *", "selected row, and rows of its call"),
        ("m M", "marked row; with a note"),
        ("… ✗", "running; failed, cut, no answer"),
        ("•••", "a secret, not kept"),
    )
    return "\n".join(["Signs of the list (? shows them)", *(f"{sign:<8}{words}" for sign, words in signs)])
