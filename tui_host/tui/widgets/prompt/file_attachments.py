"""Attaches files and servers' resources by `@`, files also by dropping: suggests names, reads what is chosen, inserts marks."""

from __future__ import annotations

import asyncio
import os
import re
import stat
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import partial as bind
from itertools import islice
from typing import TYPE_CHECKING, Literal, TypeAlias
from urllib.parse import unquote, urlsplit

from tui_host.capture.visible import line
from tui_host.errors import TuiHostError
from tui_host.tui.widgets.prompt.prompt_marks import before_caret, put_for_word

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from textual.widgets import TextArea

    from tui_host.chat.attachments import Attached
    from tui_host.errors import JSON
    from tui_host.servers.catalog import Resource
    from tui_host.tui.widgets.prompt.prompt_marks import Marks
    from tui_host.tui.widgets.prompt.server_offers import ServerOffers

    Offer: TypeAlias = Callable[[Sequence[tuple[str, str]], "Offered", Callable[[str], None]], None]

Offered: TypeAlias = Literal["commands", "files", "drop", "ways"]
MOST_LOOKED_AT, MOST_OFFERED = 5_000, 50
LONGEST_PASTED = 4_096
WORD = re.compile(r'(?:^|(?<=\s))@(?:"(?P<quoted>[^"\n]*)|(?P<plain>[^\s"]*))$')
"""A file's name while it is being typed; it ends at the caret."""


class Attaching:
    """Attaches to a prompt. Only what the user has chosen is read."""

    def __init__(self, prompt: TextArea, marks: Marks, offer: Offer, offers: ServerOffers | None) -> None:
        self.reading = 0  # number of files and resources being read
        self._prompt = prompt
        self._marks = marks
        self._offer = offer
        self._offers = offers

    def look(self, before: str, pasted: str) -> bool:
        """Suggest the files that a paste names, or what an `@` at the end of a text begins; False without either."""
        match = WORD.search(before)
        if pasted or match is not None:
            looking = self._look_at_paste(pasted) if match is None else self._look(match)
            self._prompt.run_worker(looking, group="looking for files", exclusive=True)  # instead of an older look
        return match is not None

    async def _look(self, match: re.Match[str]) -> None:
        begun = match["quoted"] or match["plain"] or ""
        files = await asyncio.to_thread(matching, begun)
        resources = [] if self._offers is None else self._offers.suggestions(begun)
        if before_caret(self._prompt).endswith(match[0]):
            self._offer([*resources, *files], "files", bind(self._choose, {name for name, _ in resources}))

    async def _look_at_paste(self, pasted: str) -> None:
        paths = await asyncio.to_thread(named, pasted)
        if paths and before_caret(self._prompt).endswith(pasted):
            what = paths[0].rpartition("/")[2] if len(paths) == 1 else f"{len(paths)} files"
            way = f"attach {what}", "tab attaches; enter sends the path as text"
            self._offer([way], "drop", lambda _: self._read(paths, pasted))

    def _choose(self, resources: set[str], name: str) -> None:
        """Enter the chosen folder or server, read the chosen file, or offer the ways to use the chosen resource."""
        match = WORD.search(before_caret(self._prompt))  # it may have grown since the look
        if match is None:
            return
        server, _, uri = name.partition(":")
        offers = self._offers if name in resources and uri else None
        if offers is not None:
            resource = offers.resource(server, uri)
            if resource is not None and resource.is_template:
                self._fill(offers, server, resource, match[0])
            else:
                self._offer_ways(offers, server, uri, match[0])
        elif name in resources or name.endswith("/"):
            quote = '"' * any(letter.isspace() for letter in name)
            put_for_word(self._prompt, match[0], f"@{quote}{name}")
        else:
            self._read((name,), match[0])

    def _fill(self, offers: ServerOffers, server: str, template: Resource, word: str) -> None:
        """Ask for a template's values, then offer the ways to use the resource that it becomes."""
        from tui_host.servers.catalog import expand
        from tui_host.tui.widgets.prompt.server_offers import form_of

        def filled(values: Mapping[str, JSON]) -> None:
            texts = {name: str(value) for name, value in values.items()}
            self._offer_ways(offers, server, expand(template.uri, texts), word)

        offers.ask(form_of(server, template), filled)

    def _offer_ways(self, offers: ServerOffers, server: str, uri: str, word: str) -> None:
        """Offer to attach or link a resource, and to watch it or watch it no more."""
        from tui_host.chat.attachments import attached_resource, linked_resource
        from tui_host.tui.widgets.prompt.server_offers import LINK, UNWATCH, WATCH

        async def use(way: str) -> None:
            pool, watches, session = offers.host.pool, offers.host.watches, offers.session()
            if pool is None or watches is None:
                return
            if way == UNWATCH:
                await watches.end(session, server, uri)
                put_for_word(self._prompt, word, "")
                self._prompt.notify(f"The chat tells no more when {line(uri, 120)} changes.", markup=False)
            elif way == LINK:
                resource = offers.resource(server, uri)
                self._put((linked_resource(server, uri, "" if resource is None else resource.name),), word)
            else:
                if way == WATCH:  # before it is read, so that no change is missed
                    await watches.begin(session, server, uri)
                self._put(attached_resource(server, uri, await pool.read(server, uri, place=session.place())), word)

        self._offer(offers.ways(server, uri), "ways", lambda way: self._begin(use(way)))

    def _read(self, paths: Sequence[str], word: str) -> None:
        from tui_host.chat.attachments import read_attached

        async def attach() -> None:
            self._put([await asyncio.to_thread(read_attached, path) for path in paths], word)

        self._begin(attach())

    def _begin(self, work: Awaitable[None]) -> None:
        """Begin to read; until it is read nothing is sent."""

        async def read() -> None:
            try:
                await work
            except TuiHostError as error:
                self._prompt.notify(line(f"Not attached: {error}.", 300), severity="warning", markup=False, timeout=8)
            finally:
                self.reading -= 1

        self.reading += 1
        self._prompt.run_worker(read(), group="reading files")

    def _put(self, attached: Sequence[Attached], word: str) -> None:
        marks = ""
        for part in attached:
            marks += self._marks.add(part.words, part, self._prompt.text + marks) + " "
        put_for_word(self._prompt, word, marks)


def matching(partial: str) -> list[tuple[str, str]]:
    """Return files and folders beginning with a path whose last name may be incomplete; folders end with `/`."""
    from tui_host.llm.outline import size_words

    folder, slash, begun = partial.rpartition("/")
    before = folder + slash
    where = os.path.expanduser(before or ".")  # noqa: PTH111 - what follows is typed text too
    matches: list[tuple[bool, str, str]] = []
    with suppress(OSError, ValueError), os.scandir(where) as entries:
        for entry in islice(entries, MOST_LOOKED_AT):
            name = entry.name
            is_hidden = name.startswith(".") and not begun
            if is_hidden or not name.isprintable() or not name.casefold().startswith(begun.casefold()):
                continue
            with suppress(OSError):
                if entry.is_dir():
                    matches.append((False, f"{name}/", "folder"))
                elif entry.is_file():
                    matches.append((True, name, size_words(entry.stat().st_size)))
    matches.sort(key=lambda match: (match[0], match[1].casefold()))
    return [(before + name, words) for _, name, words in matches[:MOST_OFFERED]]


def named(pasted: str) -> tuple[str, ...]:
    """Return the files named by a pasted text, such as dropped files; none for other text."""
    import shlex

    def path(word: str) -> str:
        parts = urlsplit(word)
        return unquote(parts.path) if parts.scheme == "file" and parts.netloc in {"", "localhost"} else word

    def is_file(name: str) -> bool:
        return name.startswith(("/", "~/")) and stat.S_ISREG(os.stat(os.path.expanduser(name)).st_mode)  # noqa: PTH111, PTH116 - as above

    text = pasted.strip()
    if not text or len(text) > LONGEST_PASTED or "\n" in text:
        return ()
    for is_quoted in (True, False):  # terminals quote a name that has blanks, or do not
        with suppress(OSError, ValueError):
            paths = tuple(map(path, shlex.split(text) if is_quoted else [text]))
            if all(map(is_file, paths)):
                return paths
    return ()
