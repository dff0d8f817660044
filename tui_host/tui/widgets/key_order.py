"""Fields whose keys act in the order in which they were pressed."""

from __future__ import annotations

from functools import cache

from textual import events
from textual.binding import BindingsMap
from textual.widget import Widget


class KeysInOrder:
    """Stands before `TextArea` or `Input` in a field's bases: what the field binds acts at once, as letters do.

    Textual inserts a letter as the field gets it, and runs a binding when the key has bubbled to the app: of `a backspace b` that
    come together the backspace would meet the `b`.
    """

    async def on_key(self, event: events.Key) -> None:
        """Run what the field binds; keys that it has methods of its own for are theirs."""
        assert isinstance(self, Widget)  # noqa: S101 - no widget itself: Textual takes component classes from the first base that is one
        if hasattr(self, f"key_{event.name}"):
            return
        for binding in _bindings_of(type(self)).key_to_bindings.get(event.key, ()):
            if await self.app.run_action(binding.action, self):  # pyright: ignore[reportUnknownMemberType] - Textual leaves its app open
                event.stop()
                event.prevent_default()
                return


@cache
def _bindings_of(kind: type[Widget]) -> BindingsMap:
    """What a class and those that it is made of bind, its own first."""
    return BindingsMap(binding for each in kind.__mro__ for binding in vars(each).get("BINDINGS", ()))
