"""Attaches files and servers' resources by `@`, files also by dropping: suggests names, reads what is chosen, inserts marks."""

from __future__ import annotations

import asyncio
from contextlib import contextmanager
from functools import partial as bind
from typing import TYPE_CHECKING, Literal, Protocol, TypeAlias

from tui_host.capture.visible import line
from tui_host.errors import TuiHostError
from tui_host.tui.widgets.prompt.prompt_marks import Marks

if TYPE_CHECKING:
    from collections.abc import Generator, Mapping, Sequence

    from textual.widgets import TextArea

    from tui_host.chat.attachments import Attached
    from tui_host.servers.catalog import Resource
    from tui_host.tui.widgets.prompt.server_offers import ServerOffers

Offered: TypeAlias = Literal["commands", "files", "drop", "ways"]
LOOKING, READING = "looking for files", "reading files"
"""Groups of workers: a newer look takes the place of an older one."""


class MarkedText(Protocol):
    """The text field in which marks are inserted."""

    @property
    def before_caret(self) -> str: ...

    def offer(self, pairs: Sequence[tuple[str, str]], what: Offered) -> None:
        """Show suggestions to the user."""
        ...

    def put_for(self, word: str, text: str) -> None:
        """Replace a word before the caret."""
        ...


class Attaching:
    """The files and resources attached in a prompt. Only what the user has chosen is read.

    Attributes:
        dropped: The files that a pasted text names, with that text; they are offered, no more.
    """

    def __init__(self, prompt: TextArea, place: MarkedText, offers: ServerOffers | None = None) -> None:
        self.marks: Marks[Attached] = Marks()  # what was attached, by its marks
        self.reading = 0  # number of files and resources being read
        self.dropped: tuple[str, tuple[str, ...]] = ("", ())
        self._prompt = prompt
        self._place = place
        self._offers = offers
        self._suggested: frozenset[str] = frozenset()  # servers and resources, among the files that are suggested
        self._resource = ("", "", "")  # server, URI, and the word that names them, while a way to use it is chosen

    def take_word(self, before: str) -> bool:
        """Suggest files for an `@` at the end of a text; False without an `@`."""
        from tui_host.tui.widgets.prompt.file_names import WORD

        match = WORD.search(before)
        if match is None:
            return False
        partial = match["quoted"] if match["quoted"] is not None else match["plain"]
        self._prompt.run_worker(bind(self._look, match[0], partial), group=LOOKING, exclusive=True)
        return True

    async def _look(self, word: str, partial: str) -> None:
        from tui_host.tui.widgets.prompt.file_names import matching

        files = await asyncio.to_thread(matching, partial)
        resources = [] if self._offers is None else self._offers.suggestions(partial)
        self._suggested = frozenset(name for name, _ in resources)
        if self._place.before_caret.endswith(word):
            self._place.offer([*resources, *files], "files")

    def take_paste(self, pasted: str, written: str) -> None:
        """Suggest the files named by a pasted text.

        Args:
            pasted: The text as it came.
            written: The text that represents the paste in the prompt.
        """
        if pasted.lstrip()[:1] in {"/", "~", "'", '"', "f"} and "\n" not in pasted.strip():
            self._prompt.run_worker(self._look_at_paste(pasted, written), group=LOOKING, exclusive=True)

    async def _look_at_paste(self, pasted: str, written: str) -> None:
        from tui_host.tui.widgets.prompt.file_names import named, together

        paths = await asyncio.to_thread(named, pasted)
        if paths and self._place.before_caret.endswith(written):
            self.dropped = (written, paths)
            self._place.offer([(f"attach {together(paths)}", "tab attaches; enter sends the path as text")], "drop")

    def chosen(self, what: Offered, name: str) -> None:
        """Enter the chosen folder or server, read the chosen files, or use the chosen resource."""
        from tui_host.tui.widgets.prompt.file_names import WORD, written

        if what == "ways":
            self._use(name)
            return
        if what == "drop":
            word, paths = self.dropped
            self._read(paths, word)
            return
        match = WORD.search(self._place.before_caret)
        if match is None:
            return
        offers = self._offers
        if offers is not None and name in self._suggested:
            self._enter_server(offers, name, match[0])
        elif name.endswith("/"):
            self._place.put_for(match[0], written(name))
        else:
            self._read((name,), match[0])

    def _read(self, paths: Sequence[str], word: str) -> None:
        self.reading += 1
        self._prompt.run_worker(self._attach(paths, word), group=READING)

    async def _attach(self, paths: Sequence[str], word: str) -> None:
        """Read files, and insert their marks; report files that cannot be sent."""
        from tui_host.chat.attachments import read_attached

        try:
            with self._telling():
                files = [await asyncio.to_thread(read_attached, path) for path in paths]
                self._put(files, word)
        finally:
            self.reading -= 1

    def _put(self, attached: Sequence[Attached], word: str) -> None:
        marks: list[str] = []
        for part in attached:
            marks.append(self.marks.add(part.words, part, self._prompt.text + "".join(marks)))
        self._place.put_for(word, " ".join(marks) + " ")

    @contextmanager
    def _telling(self) -> Generator[None]:
        try:
            yield
        except TuiHostError as error:
            self._prompt.notify(line(f"Not attached: {error}.", 300), severity="warning", markup=False, timeout=8)

    # Resources.

    def _enter_server(self, offers: ServerOffers, name: str, word: str) -> None:
        """List a server's resources, ask for a template's values, or offer the ways to use a resource."""
        server, _, uri = name.partition(":")
        if not uri:
            self._place.put_for(word, f"@{name}")
            return
        resource = offers.resource(server, uri)
        if resource is not None and resource.is_template:
            self._fill(offers, server, resource, word)
        else:
            self._offer_ways(offers, server, uri, word)

    def _offer_ways(self, offers: ServerOffers, server: str, uri: str, word: str) -> None:
        self._resource = (server, uri, word)
        self._place.offer(offers.ways(server, uri), "ways")

    def _fill(self, offers: ServerOffers, server: str, template: Resource, word: str) -> None:
        """Ask for the values of a template, then offer the ways to use the resource."""
        from tui_host.servers.catalog import PromptArgument, expand, variables
        from tui_host.tui.widgets.prompt.server_offers import Form

        def filled(values: Mapping[str, str]) -> None:
            with self._telling():
                self._offer_ways(offers, server, expand(template.uri, values), word)

        with self._telling():
            form = Form(
                server=server,
                arguments=tuple(PromptArgument(name=name, required=True) for name in variables(template.uri)),
                title=f"Resource {line(template.name or template.uri, 80)} of {server}",
                about=f"{template.uri}  {template.description}",
                template=template.uri,
            )
            offers.ask(form, filled)

    def _use(self, way: str) -> None:
        """Attach or link the resource, and watch it or watch it no more."""
        from tui_host.chat.attachments import linked_resource
        from tui_host.tui.widgets.prompt.server_offers import LINK

        server, uri, word = self._resource
        offers = self._offers
        if offers is None or not uri:
            return
        if way == LINK:
            resource = offers.resource(server, uri)
            self._put((linked_resource(server, uri, "" if resource is None else resource.name),), word)
            return
        self.reading += 1
        self._prompt.run_worker(self._read_resource(offers, way), group=READING)

    async def _read_resource(self, offers: ServerOffers, way: str) -> None:
        from tui_host.chat.attachments import attached_resource
        from tui_host.tui.widgets.prompt.server_offers import UNWATCH, WATCH

        server, uri, word = self._resource
        pool, watches, session = offers.host.pool, offers.host.watches, offers.session
        attached: Sequence[Attached] = ()
        try:
            with self._telling():
                if pool is None or watches is None:
                    return
                if way == UNWATCH:
                    await watches.end(session, server, uri)
                    self._place.put_for(word, "")
                    self._prompt.notify(f"The chat tells no more when {line(uri, 120)} changes.", markup=False)
                    return
                attached = attached_resource(server, uri, await pool.read(server, uri, place=session.place()))
                self._put(attached, word)
        finally:
            self.reading -= 1
        if way == WATCH and attached:  # what is read may be sent meanwhile
            with self._telling():
                await watches.begin(session, server, uri)
