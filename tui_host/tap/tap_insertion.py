"""Inserts taps into the text of a host's configuration, and removes them again.

Only inserts text: a server's command and arguments stay in the file unchanged, with their comments, after the tap's
arguments. So a tap can be removed from a file that was edited since, and its former text is restored.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import PurePath

from tui_host.settings.hosts.host_entries import ServerEntry
from tui_host.settings.hosts.jsonc import COMMA, Edit, PlacedValue
from tui_host.tap.stdio_arguments import read_stdio_arguments

PROGRAMS = ("tui-host", "tui_host")
"""The last word before `tap`: this program's command, or its module after `python -m`."""
TAPPED = "tapped already"
_SPACE = " \t\r\n"
_string = partial(json.dumps, ensure_ascii=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangedServer:
    """A server's command and arguments before and after a change, and the keys that lead to it."""

    place: tuple[str, ...]
    before: tuple[str, ...]
    after: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class SkippedServer:
    """A server that stays unchanged, and the keys that lead to it."""

    place: tuple[str, ...]
    why: str = ""  # empty for a server with a URL
    url: str = ""
    is_done: bool = False  # it already is as requested


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangedFile:
    """The text of a host's file after the change, and the servers that were asked for but stay unchanged."""

    text: str
    skipped: tuple[SkippedServer, ...]


def install(text: str, servers: Iterable[ServerEntry], names: Collection[str], program: Sequence[str]) -> ChangedFile:
    """Insert a tap (`/…/tui-host tap stdio`) before the command of every server, or of the named ones; without one, remove it."""
    entries = [entry for entry in servers if not names or entry.place[-1] in names]
    changes = [_installed(text, entry, program) if program else _uninstalled(text, entry) for entry in entries]
    edits = [edit for needed in changes if isinstance(needed, list) for edit in needed]
    skipped = [needed for needed in changes if isinstance(needed, SkippedServer)]
    for edit in sorted(edits, key=lambda edit: edit.start, reverse=True):  # text outside the edits stays unchanged
        text = f"{text[: edit.start]}{edit.text}{text[edit.end :]}"
    return ChangedFile(text=text, skipped=tuple(skipped))


def differences(before: Iterable[ServerEntry], after: Iterable[ServerEntry]) -> tuple[ChangedServer, ...]:
    """Return the servers whose command or arguments differ."""
    later = {entry.place: entry.words or () for entry in after}
    return tuple(
        ChangedServer(place=entry.place, before=entry.words or (), after=later[entry.place])
        for entry in before
        if later.get(entry.place, entry.words or ()) != (entry.words or ())
    )


def _tapped_from(words: Sequence[str]) -> int | None:
    """Return the position of the server's own command after a stdio tap's arguments; None without a tap."""
    for place, word in enumerate(words[:-1]):
        if PurePath(word).name in PROGRAMS:
            tap = read_stdio_arguments(words[place + 1 :])
            return None if tap is None else len(words) - len(tap.command)
    return None


def _installed(text: str, entry: ServerEntry, program: Sequence[str]) -> SkippedServer | list[Edit]:
    """Return the edits that put a tap before a server, or why it cannot be."""
    place, words, members = entry.place, entry.words, entry.node.members
    command, arguments, dev = members.get("command"), members.get("args"), members.get("dev")
    value = None if command is None else command.value
    if entry.url:
        return SkippedServer(place=place, url=entry.url)
    first, _, rest = (words or ("",))[0].partition(" ")
    is_line = words is not None and len(words) == 1 and rest.strip() and not re.search(r"[/\\$]", first)
    faults = (  # the first one counts; a command with a space may be a path
        (command is None, "neither a command nor a URL"),
        (value == "" or not isinstance(value, str), "its command is not text, or is empty"),
        (words is None, "its arguments are not a list of strings"),
        (_tapped_from(words or ()) is not None, TAPPED),
        (is_line, "its command is a line for a shell; split it into command and args first"),
        # Visual Studio Code needs the interpreter as command for this.
        (dev is not None and "debug" in dev.members, "its host starts it under a debugger; remove «debug» first"),
    )
    why = next((reason for is_so, reason in faults if is_so), "")
    if why or command is None or words is None:
        return SkippedServer(place=place, why=why, is_done=why == TAPPED)
    # The name is an argument of the tap: it is no option, and a host expands nothing in it.
    name = re.sub(r"[\x00-\x1f\x7f$\ud800-\udfff]", "_", place[-1]).lstrip("-") or "server"
    before = [*program[1:], name, "--"]
    if arguments is not None and _is_like_ours(text, words, arguments, command):
        before.pop()  # taps do not need it, so its presence shows which `args` came with the tap
    inserted = [*map(_string, before), text[command.start : command.end]]
    listed = ", ".join(inserted)
    edits = [Edit(start=command.start, end=command.end, text=_string(program[0]))]
    if arguments is None:  # a member `args` before the member with the command
        head = text[: command.key_start]
        space = head[len(head.rstrip(_SPACE)) :]
        colon = ": " if ": " in text[command.key_start : command.start] else ":"
        edits.append(Edit(start=command.key_start, end=command.key_start, text=f'"args"{colon}[{listed}],{space}'))
    elif arguments.value is None:
        edits.append(Edit(start=arguments.start, end=arguments.end, text=f"[{listed}]"))
    else:
        at = arguments.start + 1
        if arguments.elements:  # each word on its own line if the array has its elements so
            lead = _lead(text, at)
            listed = "".join(f"{lead}{word}," for word in inserted) if lead else f"{listed}, "
        edits.append(Edit(start=at, end=at, text=listed))
    return edits


def _uninstalled(text: str, entry: ServerEntry) -> SkippedServer | list[Edit]:
    words, command, arguments = entry.words, entry.node.members.get("command"), entry.node.members.get("args")
    own_at = None if words is None else _tapped_from(words)
    if words is None or command is None or own_at is None:
        return SkippedServer(place=entry.place, why="not tapped", is_done=True)
    if arguments is None or not arguments.elements:
        return SkippedServer(place=entry.place, why="a tap without arguments")
    own = arguments.elements[own_at - 1]
    start, end = arguments.start + 1, own.end
    comma = COMMA.match(text, end)
    if words[own_at - 1] == "--" and _is_like_ours(text, words[own_at:], arguments, command):
        start, end = arguments.key_start, command.key_start
    elif comma is not None:  # the inserted words with their comma, and in a one-line array the space
        end = comma.end()
        end += not _lead(text, start) and text.startswith(" ", end)
    edit = Edit(start=command.start, end=command.end, text=text[own.start : own.end])
    return [edit, Edit(start=start, end=end, text="")]


def _is_like_ours(text: str, words: Sequence[str], arguments: PlacedValue, command: PlacedValue) -> bool:
    """Whether the `args` of a server without arguments is where `_installed` writes it: right before the command."""
    is_before = arguments.start < command.start and text[arguments.end : command.key_start].strip(_SPACE) == ","
    return len(words) == 1 and is_before


def _lead(text: str, at: int) -> str:
    """Return the whitespace that begins at a position."""
    return text[at : len(text) - len(text[at:].lstrip(_SPACE))]
