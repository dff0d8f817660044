"""Fields that handle keys in the order of typing."""

from __future__ import annotations

from typing import TYPE_CHECKING

from textual import events
from textual.geometry import Region
from textual.strip import Strip
from typing_extensions import override

from tui_host.tui.keys import bindings_of

if TYPE_CHECKING:
    from textual.widget import Widget as Field
else:
    Field = object  # No widget at run time: Textual takes component classes from the first base that is one


class KeysInOrder(Field):
    """Mixin before `TextArea` or `Input`: runs the field's key bindings at once, like letters.

    Textual inserts a letter at once, but runs a binding only after the key has bubbled to the app. If `a backspace b`
    arrive together, the backspace would delete the `b`.
    """

    async def on_key(self, event: events.Key) -> None:
        """Run the field's binding for a key, unless the field has a key method."""
        if hasattr(self, f"key_{event.name}"):
            return
        for binding in bindings_of(type(self)).key_to_bindings.get(event.key, ()):
            if await self.app.run_action(binding.action, self):  # pyright: ignore[reportUnknownMemberType] - Textual leaves its app open
                event.stop()
                event.prevent_default()
                return

    @override
    def render_lines(self, crop: Region) -> list[Strip]:
        """Draw the field, or nothing once it is removed: its styles are gone, and the screen may still ask for it."""
        return super().render_lines(crop) if self.is_attached else [Strip.blank(crop.width)] * crop.height
