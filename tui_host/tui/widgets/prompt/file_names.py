"""File names for the prompt, by `@` or by paste. Imported late; blocks on the disk."""

from __future__ import annotations

import os
import re
import shlex
import stat
from collections.abc import Sequence
from contextlib import suppress
from itertools import islice
from urllib.parse import unquote, urlsplit

MOST_LOOKED_AT, MOST_OFFERED = 5_000, 50
LONGEST_PASTED = 4_096
WORD = re.compile(r'(?:^|(?<=\s))@(?:"(?P<quoted>[^"\n]*)|(?P<plain>[^\s"]*))$')
"""A file's name while it is being typed; it ends at the caret."""


def matching(partial: str) -> list[tuple[str, str]]:
    """Return files and folders beginning with a partial path; folders end with `/`.

    Args:
        partial: A path whose last name may be incomplete; `~` is the user's home folder.
    """
    folder, _, begun = partial.rpartition("/")
    where = os.path.expanduser(f"{folder}/" if "/" in partial else ".")  # noqa: PTH111 - what follows is typed text too
    begun_low = begun.casefold()
    matches: list[tuple[bool, str, str]] = []
    with suppress(OSError, ValueError), os.scandir(where) as entries:
        for entry in islice(entries, MOST_LOOKED_AT):
            name = entry.name
            is_other = not name.casefold().startswith(begun_low) or (name.startswith(".") and not begun)
            if is_other or not name.isprintable():
                continue
            with suppress(OSError):
                if entry.is_dir():
                    matches.append((False, f"{name}/", "folder"))
                elif entry.is_file():
                    matches.append((True, name, _size(entry.stat().st_size)))
    before = f"{folder}/" if "/" in partial else ""
    return [
        (before + name, words) for _, name, words in sorted(matches, key=lambda each: (each[0], each[1].casefold()))
    ][:MOST_OFFERED]


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


def _size(size: int) -> str:
    from tui_host.llm.outline import size_words

    return size_words(size)


def written(path: str) -> str:
    """Return a path behind its `@`, quoted if necessary."""
    return f'@"{path}' if any(letter.isspace() for letter in path) else f"@{path}"


def together(paths: Sequence[str]) -> str:
    """Describe several files in a few words."""
    name = os.path.basename(paths[0])  # noqa: PTH119 - as above
    return name if len(paths) == 1 else f"{len(paths)} files"
