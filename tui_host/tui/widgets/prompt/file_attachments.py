"""Attaches files and servers' resources by `@`, files also by dropping: suggests names, reads what is chosen, inserts marks."""

from __future__ import annotations

import asyncio
import os
import re
import stat
from contextlib import contextmanager, suppress
from functools import partial as bind
from itertools import islice
from typing import TYPE_CHECKING, Literal, TypeAlias
from urllib.parse import unquote, urlsplit

from tui_host.capture.visible import line
from tui_host.errors import TuiHostError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Generator, Mapping, Sequence

    from tui_host.chat.attachments import Attached
    from tui_host.chat.session import Session
    from tui_host.errors import JSON
    from tui_host.host.watched_resources import Watches
    from tui_host.servers.catalog import Resource
    from tui_host.tui.widgets.prompt.prompt_marks import MarkedField
    from tui_host.tui.widgets.prompt.server_offers import ServerOffers

    Offer: TypeAlias = Callable[[Sequence[tuple[str, str]], "Offered", Callable[[str], None]], None]

Offered: TypeAlias = Literal["commands", "files", "drop", "ways"]
LOOKING, READING = "looking for files", "reading files"
"""Groups of workers: a newer look takes the place of an older one."""
MOST_LOOKED_AT, MOST_OFFERED = 5_000, 50
LONGEST_PASTED = 4_096
WORD = re.compile(r'(?:^|(?<=\s))@(?:"(?P<quoted>[^"\n]*)|(?P<plain>[^\s"]*))$')
"""A file's name while it is being typed; it ends at the caret."""


class Attaching:
    """Attaches to a prompt. Only what the user has chosen is read."""

    def __init__(self, prompt: MarkedField, offer: Offer, offers: ServerOffers | None) -> None:
        self.reading = 0  # number of files and resources being read
        self.dropped = ""  # the pasted text that names files; they are offered, no more
        self._prompt = prompt
        self._offer = offer  # shows suggestions
        self._offers = offers

    def take_word(self, before: str) -> bool:
        """Suggest files for an `@` at the end of a text; False without an `@`."""
        match = WORD.search(before)
        if match is not None:
            self._prompt.run_worker(
                self._look(match[0], match["quoted"] or match["plain"] or ""), group=LOOKING, exclusive=True
            )
        return match is not None

    async def _look(self, word: str, partial: str) -> None:
        files = await asyncio.to_thread(matching, partial)
        resources = [] if self._offers is None else self._offers.suggestions(partial)
        if self._prompt.before_caret.endswith(word):
            chosen = bind(self._choose, {name for name, _ in resources})
            self._offer([*resources, *files], "files", chosen)

    def _choose(self, resources: set[str], name: str) -> None:
        """Enter the chosen folder or server, read the chosen file, or use the chosen resource."""
        match = WORD.search(self._prompt.before_caret)  # it may have grown since the look
        if match is None:
            return
        if name in resources:
            self._use(name, match[0])
        elif name.endswith("/"):
            quote = '"' * any(letter.isspace() for letter in name)
            self._prompt.put_for(match[0], f"@{quote}{name}")
        else:
            self._read((name,), match[0])

    async def take_paste(self, pasted: str, written: str) -> None:
        """Suggest the files named by a pasted text, which another text may represent in the prompt."""
        paths = await asyncio.to_thread(named, pasted)
        if paths and self._prompt.before_caret.endswith(written):
            self.dropped = written
            what = paths[0].rpartition("/")[2] if len(paths) == 1 else f"{len(paths)} files"
            way = (f"attach {what}", "tab attaches; enter sends the path as text")
            self._offer([way], "drop", lambda _: self._read(paths, written))

    def _read(self, paths: Sequence[str], word: str) -> None:
        from tui_host.chat.attachments import read_attached

        async def attach() -> None:
            self._put([await asyncio.to_thread(read_attached, path) for path in paths], word)

        self._begin(attach)

    def _begin(self, work: Callable[[], Awaitable[None]]) -> None:

        async def read() -> None:
            try:
                with self._telling():
                    await work()
            finally:
                self.reading -= 1

        self.reading += 1
        self._prompt.run_worker(read, group=READING)

    def _put(self, attached: Sequence[Attached], word: str) -> None:
        marks = ""
        for part in attached:
            marks += self._prompt.marks.add(part.words, part, self._prompt.text + marks) + " "
        self._prompt.put_for(word, marks)

    @contextmanager
    def _telling(self) -> Generator[None]:
        try:
            yield
        except TuiHostError as error:
            self._prompt.notify(line(f"Not attached: {error}.", 300), severity="warning", markup=False, timeout=8)

    def _use(self, name: str, word: str) -> None:
        """List a server's resources, ask for a template's values, or offer the ways to use a resource."""
        offers = self._offers
        server, _, uri = name.partition(":")
        if not uri:
            self._prompt.put_for(word, f"@{name}")
        elif offers is not None and (resource := offers.resource(server, uri)) is not None and resource.is_template:
            self._fill(offers, server, resource, word)
        elif offers is not None:
            self._offer_ways(offers, server, uri, word)

    def _fill(self, offers: ServerOffers, server: str, template: Resource, word: str) -> None:
        from tui_host.servers.catalog import expand
        from tui_host.tui.widgets.prompt.server_offers import form_of

        def filled(values: Mapping[str, JSON]) -> None:
            with self._telling():
                texts = {name: str(value) for name, value in values.items()}
                self._offer_ways(offers, server, expand(template.uri, texts), word)

        with self._telling():
            offers.ask(form_of(server, template), filled)

    def _offer_ways(self, offers: ServerOffers, server: str, uri: str, word: str) -> None:
        """Offer to attach or link a resource, and to watch it or watch it no more."""
        from tui_host.chat.attachments import attached_resource, linked_resource
        from tui_host.tui.widgets.prompt.server_offers import LINK, UNWATCH, WATCH

        async def read(way: str) -> None:
            pool, watches, session = offers.host.pool, offers.host.watches, offers.session
            if pool is None or watches is None:
                return
            if way == UNWATCH:
                await watches.end(session, server, uri)
                self._prompt.put_for(word, "")
                self._prompt.notify(f"The chat tells no more when {line(uri, 120)} changes.", markup=False)
                return
            self._put(attached_resource(server, uri, await pool.read(server, uri, place=session.place())), word)
            if way == WATCH:
                self._prompt.run_worker(watch(watches, session), group=READING)  # what is read may be sent meanwhile

        async def watch(watches: Watches, session: Session) -> None:
            with self._telling():
                await watches.begin(session, server, uri)

        def chosen(way: str) -> None:
            if way == LINK:
                resource = offers.resource(server, uri)
                self._put((linked_resource(server, uri, "" if resource is None else resource.name),), word)
            else:
                self._begin(bind(read, way))

        self._offer(offers.ways(server, uri), "ways", chosen)


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

    text = pasted.strip()
    if not text or len(text) > LONGEST_PASTED or "\n" in text:
        return ()
    with suppress(ValueError):
        paths = tuple(map(_path, shlex.split(text)))
        if all(map(_is_file, paths)):
            return paths
    return (text,) if _is_file(text) else ()


def _path(word: str) -> str:
    with suppress(ValueError):
        parts = urlsplit(word)
        if parts.scheme == "file" and parts.netloc in {"", "localhost"}:
            return unquote(parts.path)
    return word


def _is_file(path: str) -> bool:
    try:
        return path.startswith(("/", "~/")) and stat.S_ISREG(os.stat(os.path.expanduser(path)).st_mode)  # noqa: PTH111, PTH116 - as above
    except (OSError, ValueError):
        return False
