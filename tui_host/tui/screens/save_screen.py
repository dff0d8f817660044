"""Asks for the name of a file, and saves a content to it. An existing file is replaced only by a second enter."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path

from textual.widgets import Input
from typing_extensions import override

from tui_host.capture.visible import line
from tui_host.chat.result_words import save_content
from tui_host.errors import TuiHostError
from tui_host.llm.outline import size_words
from tui_host.tui.screens.field_screen import FieldScreen


class SaveScreen(FieldScreen):
    """Asks for the name of a file.

    Args:
        name: The suggested name.
        words: What is saved.
        data: The bytes.
        saved: Called with the path of the written file.
    """

    HEADING = "Save"
    PLACE = "Save"

    def __init__(self, name: str, words: str, data: bytes, saved: Callable[[Path], None]) -> None:
        super().__init__()
        self._suggested = name
        self._words = words
        self._data = data
        self._saved = saved
        self._replaced = ""

    def on_mount(self) -> None:
        self.suggest()

    def suggest(self) -> None:
        """Say what is saved, and fill in a name."""
        self.explain(
            f"{line(self._words, 200)}\n{size_words(len(self._data))} go to this file. A name without a folder is in"
            f" {Path.cwd()}."
        )
        self.field.value = self._suggested
        self.field.cursor_position = len(self._suggested)

    def on_input_changed(self, event: Input.Changed) -> None:
        if event.value.strip() != self._replaced:
            self._replaced = ""
            self.complain("")

    @override
    def taken(self, text: str) -> None:
        if text:
            self.start(self._write(text), exclusive=True)
        else:
            self.complain("the field is empty")

    async def content(self) -> bytes:
        """Return the bytes to write."""
        return self._data

    async def _write(self, name: str) -> None:
        try:
            data = await self.content()
            path = await asyncio.to_thread(save_content, name, data, replaces=self._replaced == name)
        except FileExistsError:
            self._replaced = name
            self.complain("There is a file of this name. Press enter again to replace it, or write another name.")
        except TuiHostError as error:
            self.complain(str(error))
        else:
            self.action_leave()
            self._saved(path)
