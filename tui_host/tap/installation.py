"""Taps in the text of a host's configuration, written and taken out again.

Only insertions: a server's own command and arguments stay in the file letter by letter, with their comments, behind the tap's
words. So a tap can be taken out of a file that has been edited since, and what was there before stands there again.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from pathlib import PurePath

from tui_host.settings.hosts.host_servers import Entry
from tui_host.settings.hosts.jsonc import Array, Edit, Member, Object, Scalar, after_space, edited
from tui_host.tap.typed_command import read_words

PROGRAMS = ("tui-host", "tui_host")
"""The last word before `tap`: our command, or our module behind `python -m`."""

_NOT_IN_A_NAME = re.compile(r"[\x00-\x1f\x7f$\ud800-\udfff]")
_LEAD = re.compile(r"[ \t\r\n]*")


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """A server's command before and after.

    Attributes:
        place: The keys that lead to the server.
        before: Its command and arguments.
        after: The same, as they are to be.
        none_before: How it says before that it has no arguments, if it does.
        none_after: The same, as it is to be.
    """

    place: tuple[str, ...]
    before: tuple[str, ...]
    after: tuple[str, ...]
    none_before: str = ""
    none_after: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Left:
    """A server left unchanged.

    Attributes:
        place: The keys that lead to it.
        why: The reason, in words; empty if it is behind a URL.
        url: That URL.
        is_done: Nothing needs to be done to it.
    """

    place: tuple[str, ...]
    why: str = ""
    url: str = ""
    is_done: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """A host's file after the change.

    Attributes:
        text: The file's text.
        left: What was asked for and not changed.
    """

    text: str
    left: tuple[Left, ...]


def install(text: str, servers: Iterable[Entry], names: Collection[str], program: Sequence[str]) -> Outcome:
    """Put a tap before the command of every server, or of the named ones only.

    Args:
        text: The host's file.
        servers: All that are in it.
        names: Servers; empty for all.
        program: What starts a stdio tap, up to the server's name: `/…/tui-host tap stdio`.
    """
    return _changed(text, servers, names, lambda entry: _installed(text, entry, program))


def uninstall(text: str, servers: Iterable[Entry], names: Collection[str]) -> Outcome:
    """Take the taps of all servers, or of the named servers, out again."""
    return _changed(text, servers, names, lambda entry: _uninstalled(text, entry))


def differences(before: Iterable[Entry], after: Iterable[Entry]) -> tuple[Change, ...]:
    """The servers with a different command or different arguments afterwards."""
    later = {entry.place: entry for entry in after}
    pairs = [(entry, later[entry.place]) for entry in before if entry.place in later]
    return tuple(
        Change(
            place=old.place,
            before=old.words or (),
            after=new.words or (),
            none_before=old.no_arguments,
            none_after=new.no_arguments,
        )
        for old, new in pairs
        if (old.words or ()) != (new.words or ())
    )


def _changed(
    text: str, servers: Iterable[Entry], names: Collection[str], change: Callable[[Entry], Left | list[Edit]]
) -> Outcome:
    left: list[Left] = []
    edits: list[Edit] = []
    for entry in servers:
        if not names or entry.name in names:
            needed = change(entry)
            if isinstance(needed, Left):
                left.append(needed)
            else:
                edits += needed
    return Outcome(text=edited(text, edits), left=tuple(left))


def tapped_from(words: Sequence[str]) -> int | None:
    """Where a server's own command begins behind the words of a stdio tap; None without a tap."""
    for place, word in enumerate(words[:-1]):
        if PurePath(word).name in PROGRAMS:
            tap = read_words(words[place + 1 :])
            return None if tap is None else len(words) - len(tap.command)
    return None


def _installed(text: str, entry: Entry, program: Sequence[str]) -> Left | list[Edit]:
    words = entry.words
    command = entry.node.member("command")
    if entry.url:
        return Left(place=entry.place, url=entry.url)
    if words is None or command is None or not words[0]:
        return Left(place=entry.place, why=_wrong_in(command))
    if tapped_from(words) is not None:
        return Left(place=entry.place, why="tapped already", is_done=True)
    if _is_line(words):
        return Left(place=entry.place, why="its command is a line for a shell; split it into command and args first")
    if _is_debugged(entry.node):
        return Left(
            place=entry.place, why="its host debugs it, and starts nothing else for that; take «debug» out first"
        )
    arguments = entry.node.member("args")
    before = [*program[1:], _peer(entry.name), "--"]
    if arguments is not None and _is_like_ours(text, words, arguments, command):
        before.pop()  # a tap works without it, and so it is known which `args` came with the tap
    inserted = [*map(_string, before), text[command.value.start : command.value.end]]
    edits = [Edit(start=command.value.start, end=command.value.end, text=_string(program[0]))]
    if arguments is not None and isinstance(arguments.value, Array):
        edits.append(_at_the_front(text, arguments.value, inserted))
    elif arguments is not None:  # null
        edits.append(Edit(start=arguments.value.start, end=arguments.value.end, text=f"[{', '.join(inserted)}]"))
    else:
        edits.append(_arguments_before(text, command, inserted))
    return edits


def _wrong_in(command: Member | None) -> str:
    """Why an entry has no usable command and arguments."""
    if command is None:
        return "neither a command nor a URL"
    is_text = isinstance(command.value, Scalar) and isinstance(command.value.value, str) and command.value.value
    return "its arguments are not a list of strings" if is_text else "its command is no text, or empty"


def _is_debugged(server: Object) -> bool:
    """Whether Visual Studio Code starts the server under a debugger, and so needs the interpreter itself as command."""
    dev = server.member("dev")
    return dev is not None and isinstance(dev.value, Object) and dev.value.member("debug") is not None


def _at_the_front(text: str, array: Array, inserted: Sequence[str]) -> Edit:
    """Insert words as an array's first elements, each on its own line if the elements are."""
    at = array.start + 1
    if not array.elements:
        return Edit(start=at, end=at, text=", ".join(inserted))
    lead = _lead(text, at)
    words = "".join(f"{lead}{word}," for word in inserted) if lead else f"{', '.join(inserted)}, "
    return Edit(start=at, end=at, text=words)


def _arguments_before(text: str, command: Member, inserted: Sequence[str]) -> Edit:
    """Insert a member `args` before the command."""
    before = text[: command.start]
    space = before[len(before.rstrip(" \t\r\n")) :]
    colon = ": " if ": " in text[command.start : command.value.start] else ":"
    return Edit(start=command.start, end=command.start, text=f'"args"{colon}[{", ".join(inserted)}],{space}')


def _uninstalled(text: str, entry: Entry) -> Left | list[Edit]:
    words = entry.words
    command = entry.node.member("command")
    arguments = entry.node.member("args")
    own_at = None if words is None else tapped_from(words)
    if words is None or command is None or own_at is None:
        return Left(place=entry.place, why="not tapped", is_done=True)
    if arguments is None or not isinstance(arguments.value, Array):
        return Left(place=entry.place, why="a tap without arguments")
    array = arguments.value
    own = array.elements[own_at - 1]
    edits = [Edit(start=command.value.start, end=command.value.end, text=text[own.start : own.end])]
    if words[own_at - 1] == "--" and _is_like_ours(text, words[own_at:], arguments, command):
        edits.append(Edit(start=arguments.start, end=command.start, text=""))
    else:
        edits.append(Edit(start=array.start + 1, end=_end_of_ours(text, array, own.end), text=""))
    return edits


def _is_like_ours(text: str, words: Sequence[str], arguments: Member, command: Member) -> bool:
    """Whether a member `args` of a server without arguments stands where `_arguments_before` writes it: right before the command."""
    is_before = arguments.start < command.start and text[arguments.value.end : command.start].strip(" \t\r\n") == ","
    return len(words) == 1 and is_before


def _end_of_ours(text: str, array: Array, end: int) -> int:
    """Where the inserted words end: behind the comma, and in a one-line array behind the space too."""
    comma = after_space(text, end)
    if not text.startswith(",", comma):
        return end
    end = comma + 1
    return end + 1 if not _lead(text, array.start + 1) and text.startswith(" ", end) else end


def _lead(text: str, at: int) -> str:
    """The whitespace at a place."""
    match = _LEAD.match(text, at)
    return "" if match is None else match[0]


def _is_line(words: Sequence[str]) -> bool:
    """Whether a command without arguments is a whole line for a shell, and not a path with a space."""
    first, _, rest = words[0].partition(" ")
    return len(words) == 1 and bool(rest.strip()) and not re.search(r"[/\\$]", first)


def _peer(name: str) -> str:
    """A server's name as a tap's argument: never an option, and nothing for a host to expand."""
    return _NOT_IN_A_NAME.sub("_", name).lstrip("-") or "server"


def _string(word: str) -> str:
    return json.dumps(word, ensure_ascii=False)
