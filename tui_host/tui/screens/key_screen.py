"""A provider's key, asked for where it is missing: into the system's keyring, never into a file."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from typing_extensions import override

from tui_host.capture.visible import line
from tui_host.errors import TuiHostError
from tui_host.settings.system_keyring import SERVICE, keyring_name
from tui_host.tui.screens.field_screen import FieldScreen

if TYPE_CHECKING:
    from tui_host.host.host import Host
    from tui_host.settings.schema import Provider


class KeyScreen(FieldScreen):
    """One field that hides what is written; where there is no keyring, the name of the variable instead."""

    HEADING = "Key"
    PLACE = "Key"
    HIDDEN = True

    def __init__(self, host: Host, provider: Provider, stored: Callable[[], None]) -> None:
        super().__init__()
        self._host = host
        self._provider = provider
        self._stored = stored

    def on_mount(self) -> None:
        """Say whose key it is, and find the keyring."""
        self.say(f"Key of {self._provider.label or self._provider.name}")
        self.field.display = False
        self.explain(f"Looking for the system's keyring{self.glyphs.more}")
        self.run_worker(self._find_keyring())

    async def _find_keyring(self) -> None:
        from tui_host.host.keyring_status import in_thread

        try:
            name = await in_thread(keyring_name)
        except TuiHostError as error:
            self.explain(self._variable(f"{error.what}."))
            return
        if not name:
            self.explain(self._variable("This system has no keyring, and no key is written into a file."))
            return
        self.explain(
            f"It goes to the system's keyring ({line(name, 60)}), under {SERVICE} and {self._provider.name}; into no file, and"
            f" nowhere but to {self._provider.label or self._provider.name}."
        )
        self.field.display = True
        self.field.focus()

    def _variable(self, why: str) -> str:
        variable = self._provider.key_variable
        how = (
            f"Set the environment variable {variable} and start again."
            if variable
            else "Write api_key into config.toml."
        )
        return f"{line(why, 300)}\n{how}"

    @override
    def taken(self, text: str) -> None:
        """Keep it."""
        if text:
            self.run_worker(self._store(text), exclusive=True)
        else:
            self.complain("there is nothing in the field")

    async def _store(self, key: str) -> None:
        try:
            await self._host.ready()  # what redacts must know it before it is anywhere
            await self._host.keys.store(self._provider, key)
        except TuiHostError as error:
            self.complain(f"not kept: {error}")
            return
        self.field.value = ""
        self.action_leave()
        self._stored()
