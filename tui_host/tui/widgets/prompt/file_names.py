"""File names for the prompt, by `@` or by paste. Imported late; blocks on the disk."""

from __future__ import annotations

import os
import re
import shlex
import stat
from contextlib import suppress
from itertools import islice
from urllib.parse import unquote, urlsplit

from tui_host.llm.outline import size_words

MOST_LOOKED_AT, MOST_OFFERED = 5_000, 50
LONGEST_PASTED = 4_096
WORD = re.compile(r'(?:^|(?<=\s))@(?:"(?P<quoted>[^"\n]*)|(?P<plain>[^\s"]*))$')
"""A file's name while it is being typed; it ends at the caret."""


def matching(partial: str) -> list[tuple[str, str]]:
    """Return files and folders beginning with a path whose last name may be incomplete; folders end with `/`."""
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
