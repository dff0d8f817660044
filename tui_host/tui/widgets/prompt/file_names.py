"""Names of files: those that a path in the prompt begins, and those that a paste names, such as dropped files."""

from __future__ import annotations

import os
import stat
from contextlib import suppress
from itertools import islice
from urllib.parse import unquote, urlsplit

MOST_LOOKED_AT, MOST_OFFERED = 5_000, 50
LONGEST_PASTED = 4_096


def matching(partial: str) -> list[tuple[str, str]]:
    """Return files and folders beginning with a path whose last name may be incomplete; folders end with `/`."""
    from tui_host.llm.outline import size_words

    folder, slash, begun = partial.rpartition("/")
    before = folder + slash
    where = os.path.expanduser(before or ".")  # noqa: PTH111 - what follows is typed text too
    matches: dict[str, str] = {}  # by name, each with its size
    with suppress(OSError, ValueError), os.scandir(where) as entries:
        for entry in islice(entries, MOST_LOOKED_AT):
            name = entry.name
            is_hidden = name.startswith(".") and not begun
            if is_hidden or not name.isprintable() or not name.casefold().startswith(begun.casefold()):
                continue
            with suppress(OSError):
                if entry.is_dir():
                    matches[f"{name}/"] = "folder"
                elif entry.is_file():
                    matches[name] = size_words(entry.stat().st_size)
    names = sorted(matches, key=lambda name: (not name.endswith("/"), name.casefold()))
    return [(before + name, matches[name]) for name in names[:MOST_OFFERED]]


def named(pasted: str) -> tuple[str, ...]:
    """Return the files named by a pasted text, such as dropped files; none for other text."""
    import shlex

    text = pasted.strip()
    if not text or len(text) > LONGEST_PASTED or "\n" in text:
        return ()
    for is_quoted in (True, False):  # terminals quote a name that has blanks, or do not
        with suppress(OSError, ValueError):
            paths: list[str] = []
            for word in shlex.split(text) if is_quoted else [text]:
                parts = urlsplit(word)
                is_url = parts.scheme == "file" and parts.netloc in {"", "localhost"}
                paths.append(unquote(parts.path) if is_url else word)
            modes = (os.stat(os.path.expanduser(path)).st_mode for path in paths)  # noqa: PTH111, PTH116 - as above
            if all(path.startswith(("/", "~/")) for path in paths) and all(map(stat.S_ISREG, modes)):
                return tuple(paths)
    return ()
