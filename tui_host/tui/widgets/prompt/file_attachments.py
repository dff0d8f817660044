"""Attaching files by `@` or by dropping: suggest names, read chosen files in threads, insert marks."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Literal, Protocol, TypeAlias

from tui_host.errors import TuiHostError
from tui_host.tui.widgets.prompt.prompt_marks import Marks

if TYPE_CHECKING:
    from collections.abc import Sequence

    from textual.widgets import TextArea

    from tui_host.chat.attachments import Attached

Offered: TypeAlias = Literal["commands", "files", "drop"]
LOOKING, READING = "looking for files", "reading files"
"""Groups of workers: a newer look takes the place of an older one."""


class Place(Protocol):
    """Where the marks come to stand."""

    @property
    def before_caret(self) -> str:
        """The line up to the caret."""
        ...

    def offer(self, pairs: Sequence[tuple[str, str]], what: Offered) -> None:
        """Let the person choose."""
        ...

    def put_for(self, word: str, text: str) -> None:
        """Write in the place of a word before the caret."""
        ...


class Attaching:
    """The attachments of a prompt. Only files chosen by the person are ever read.

    Attributes:
        marks: The files that were read, by their marks.
        reading: How many are being read.
        dropped: The files that a pasted text names, with that text; they are offered, no more.
    """

    def __init__(self, prompt: TextArea, place: Place) -> None:
        self.marks: Marks[Attached] = Marks()
        self.reading = 0
        self.dropped: tuple[str, tuple[str, ...]] = ("", ())
        self._prompt = prompt
        self._place = place

    def take_word(self, before: str) -> bool:
        """Suggest files for an `@` at the end of a text; False without an `@`."""
        from tui_host.tui.widgets.prompt.file_names import WORD

        match = WORD.search(before)
        if match is None:
            return False
        partial = match["quoted"] if match["quoted"] is not None else match["plain"]
        self._prompt.run_worker(self._look(match[0], partial), group=LOOKING, exclusive=True)
        return True

    async def _look(self, word: str, partial: str) -> None:
        from tui_host.tui.widgets.prompt.file_names import matching

        suggestions = await asyncio.to_thread(matching, partial)
        if self._place.before_caret.endswith(word):
            self._place.offer(suggestions, "files")

    def take_paste(self, pasted: str, written: str) -> None:
        """Suggest the files named by a pasted text.

        Args:
            pasted: The text as it came.
            written: What stands for it in the prompt.
        """
        if pasted.lstrip()[:1] in {"/", "~", "'", '"', "f"} and "\n" not in pasted.strip():
            self._prompt.run_worker(self._look_at_paste(pasted, written), group=LOOKING, exclusive=True)

    async def _look_at_paste(self, pasted: str, written: str) -> None:
        from tui_host.tui.widgets.prompt.file_names import named, together

        paths = await asyncio.to_thread(named, pasted)
        if paths and self._place.before_caret.endswith(written):
            self.dropped = (written, paths)
            self._place.offer([(f"attach {together(paths)}", "tab attaches; enter sends the path as text")], "drop")

    def chosen(self, what: Literal["files", "drop"], name: str) -> None:
        """Enter the chosen folder, or read the chosen files."""
        from tui_host.tui.widgets.prompt.file_names import WORD, written

        if what == "drop":
            word, paths = self.dropped
            self._read(paths, word)
            return
        match = WORD.search(self._place.before_caret)
        if match is None:
            return
        if name.endswith("/"):
            self._place.put_for(match[0], written(name))
        else:
            self._read((name,), match[0])

    def _read(self, paths: Sequence[str], word: str) -> None:
        self.reading += 1
        self._prompt.run_worker(self._attach(paths, word), group=READING)

    async def _attach(self, paths: Sequence[str], word: str) -> None:
        """Read files, and insert their marks; report files that cannot be sent."""
        from tui_host.chat.attachments import check_together, read_attached

        prompt = self._prompt
        try:
            files = [await asyncio.to_thread(read_attached, path) for path in paths]
            check_together([*self.marks.found(prompt.text), *files])
        except TuiHostError as error:
            prompt.notify(f"Not attached: {error}.", severity="warning", markup=False, timeout=8)
            return
        finally:
            self.reading -= 1
        marks: list[str] = []
        for file in files:
            marks.append(self.marks.add(file.words, file, prompt.text + "".join(marks)))
        self._place.put_for(word, " ".join(marks) + " ")
