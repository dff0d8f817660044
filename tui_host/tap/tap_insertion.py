"""Inserts taps into the text of a host's configuration, and removes them again.

Only inserts text: a server's command and arguments stay in the file unchanged, with their comments, after the tap's
arguments. So a tap can be removed from a file that was edited since, and its former text is restored.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from pathlib import PurePath

from tui_host.settings.hosts.host_entries import ServerEntry
from tui_host.settings.hosts.jsonc import Edit, PlacedValue, after_space, edited
from tui_host.tap.stdio_arguments import read_stdio_arguments

PROGRAMS = ("tui-host", "tui_host")
"""The last word before `tap`: this program's command, or its module after `python -m`."""

TAPPED = "tapped already"

_NOT_IN_A_NAME = re.compile(r"[\x00-\x1f\x7f$\ud800-\udfff]")
_LEAD = re.compile(r"[ \t\r\n]*")


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangedServer:
    """A server's command and arguments before and after a change, and the keys that lead to it."""

    place: tuple[str, ...]
    before: tuple[str, ...]
    after: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class SkippedServer:
    """A server that stays unchanged.

    Attributes:
        place: The keys that lead to the server.
        why: The reason, as text; empty for a server with a URL.
        url: The server's URL, if it has one.
        is_done: Whether the server already is as requested.
    """

    place: tuple[str, ...]
    why: str = ""
    url: str = ""
    is_done: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangedFile:
    """A host's file after the change.

    Attributes:
        text: The file's text.
        skipped: The servers that were asked for but stay unchanged.
    """

    text: str
    skipped: tuple[SkippedServer, ...]


def install(text: str, servers: Iterable[ServerEntry], names: Collection[str], program: Sequence[str]) -> ChangedFile:
    """Insert a tap before the command of every server, or only of the named ones.

    `program` is the command that starts a stdio tap, without the server's name: `/…/tui-host tap stdio`.
    """
    return _changed(text, servers, names, lambda entry: _installed(text, entry, program))


def uninstall(text: str, servers: Iterable[ServerEntry], names: Collection[str]) -> ChangedFile:
    """Remove the taps of all servers, or only of the named ones."""
    return _changed(text, servers, names, lambda entry: _uninstalled(text, entry))


def differences(before: Iterable[ServerEntry], after: Iterable[ServerEntry]) -> tuple[ChangedServer, ...]:
    """Return the servers whose command or arguments differ."""
    later = {entry.place: entry for entry in after}
    pairs = [(entry, later[entry.place]) for entry in before if entry.place in later]
    return tuple(
        ChangedServer(place=old.place, before=old.words or (), after=new.words or ())
        for old, new in pairs
        if (old.words or ()) != (new.words or ())
    )


def _changed(
    text: str,
    servers: Iterable[ServerEntry],
    names: Collection[str],
    change: Callable[[ServerEntry], SkippedServer | list[Edit]],
) -> ChangedFile:
    skipped: list[SkippedServer] = []
    edits: list[Edit] = []
    for entry in servers:
        if not names or entry.place[-1] in names:
            needed = change(entry)
            if isinstance(needed, SkippedServer):
                skipped.append(needed)
            else:
                edits += needed
    return ChangedFile(text=edited(text, edits), skipped=tuple(skipped))


def tapped_from(words: Sequence[str]) -> int | None:
    """Return the position of the server's own command after a stdio tap's arguments; None without a tap."""
    for place, word in enumerate(words[:-1]):
        if PurePath(word).name in PROGRAMS:
            tap = read_stdio_arguments(words[place + 1 :])
            return None if tap is None else len(words) - len(tap.command)
    return None


def _installed(text: str, entry: ServerEntry, program: Sequence[str]) -> SkippedServer | list[Edit]:
    if entry.url:
        return SkippedServer(place=entry.place, url=entry.url)
    words, command, arguments = entry.words, entry.node.members.get("command"), entry.node.members.get("args")
    why = _why_not(entry)
    if why or words is None or command is None:
        return SkippedServer(place=entry.place, why=why, is_done=why == TAPPED)
    before = [*program[1:], _peer(entry.place[-1]), "--"]
    if arguments is not None and _is_like_ours(text, words, arguments, command):
        before.pop()  # taps do not need it, so its presence shows which `args` came with the tap
    inserted = [*map(_string, before), text[command.start : command.end]]
    edits = [Edit(start=command.start, end=command.end, text=_string(program[0]))]
    if arguments is None:
        edits.append(_arguments_before(text, command, inserted))
    elif arguments.value is None:
        edits.append(Edit(start=arguments.start, end=arguments.end, text=f"[{', '.join(inserted)}]"))
    else:
        edits.append(_at_the_front(text, arguments, inserted))
    return edits


def _why_not(entry: ServerEntry) -> str:
    """Return why a server cannot be tapped; empty if it can."""
    members = entry.node.members
    command, dev = members.get("command"), members.get("dev")
    if command is None:
        return "neither a command nor a URL"
    if not isinstance(command.value, str) or not command.value:
        return "its command is not text, or is empty"
    if entry.words is None:
        return "its arguments are not a list of strings"
    if tapped_from(entry.words) is not None:
        return TAPPED
    if _is_line(entry.words):
        return "its command is a line for a shell; split it into command and args first"
    if dev is not None and "debug" in dev.members:  # Visual Studio Code needs the interpreter as command for this
        return "its host starts it under a debugger; remove «debug» first"
    return ""


def _at_the_front(text: str, array: PlacedValue, inserted: Sequence[str]) -> Edit:
    """Insert words as an array's first elements, each on its own line if the array has its elements so."""
    at = array.start + 1
    if not array.elements:
        return Edit(start=at, end=at, text=", ".join(inserted))
    lead = _lead(text, at)
    words = "".join(f"{lead}{word}," for word in inserted) if lead else f"{', '.join(inserted)}, "
    return Edit(start=at, end=at, text=words)


def _arguments_before(text: str, command: PlacedValue, inserted: Sequence[str]) -> Edit:
    """Insert a member `args` before the member with the command."""
    before = text[: command.key_start]
    space = before[len(before.rstrip(" \t\r\n")) :]
    colon = ": " if ": " in text[command.key_start : command.start] else ":"
    return Edit(start=command.key_start, end=command.key_start, text=f'"args"{colon}[{", ".join(inserted)}],{space}')


def _uninstalled(text: str, entry: ServerEntry) -> SkippedServer | list[Edit]:
    words = entry.words
    command = entry.node.members.get("command")
    arguments = entry.node.members.get("args")
    own_at = None if words is None else tapped_from(words)
    if words is None or command is None or own_at is None:
        return SkippedServer(place=entry.place, why="not tapped", is_done=True)
    if arguments is None or not arguments.elements:
        return SkippedServer(place=entry.place, why="a tap without arguments")
    own = arguments.elements[own_at - 1]
    edits = [Edit(start=command.start, end=command.end, text=text[own.start : own.end])]
    if words[own_at - 1] == "--" and _is_like_ours(text, words[own_at:], arguments, command):
        edits.append(Edit(start=arguments.key_start, end=command.key_start, text=""))
    else:
        edits.append(Edit(start=arguments.start + 1, end=_end_of_ours(text, arguments, own.end), text=""))
    return edits


def _is_like_ours(text: str, words: Sequence[str], arguments: PlacedValue, command: PlacedValue) -> bool:
    """Whether the `args` of a server without arguments is where `_arguments_before` writes it: right before the command."""
    is_before = arguments.start < command.start and text[arguments.end : command.key_start].strip(" \t\r\n") == ","
    return len(words) == 1 and is_before


def _end_of_ours(text: str, array: PlacedValue, end: int) -> int:
    """Return the end of the inserted words: after their comma, and in a one-line array also after the space."""
    comma = after_space(text, end)
    if not text.startswith(",", comma):
        return end
    end = comma + 1
    return end + 1 if not _lead(text, array.start + 1) and text.startswith(" ", end) else end


def _lead(text: str, at: int) -> str:
    """Return the whitespace that begins at a position."""
    match = _LEAD.match(text, at)
    return "" if match is None else match[0]


def _is_line(words: Sequence[str]) -> bool:
    """Whether a command without arguments is a whole command line for a shell, not a path with a space."""
    first, _, rest = words[0].partition(" ")
    return len(words) == 1 and bool(rest.strip()) and not re.search(r"[/\\$]", first)


def _peer(name: str) -> str:
    """Return a server's name as an argument of a tap: it is no option, and a host expands nothing in it."""
    return _NOT_IN_A_NAME.sub("_", name).lstrip("-") or "server"


def _string(word: str) -> str:
    return json.dumps(word, ensure_ascii=False)
