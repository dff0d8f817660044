"""Applies a session's profile: the offered tools, the system prompt, the model options, and which servers concern it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING, TypeAlias

from tui_host.llm.provider_check import resolve_options
from tui_host.settings.environment_references import resolve
from tui_host.settings.model_options import Options
from tui_host.settings.schema import Profile, Template
from tui_host.settings.tables import matches

if TYPE_CHECKING:
    from tui_host.servers.catalog import ServerStatus

_FILLED = re.compile(r"(?<!\$)\{(time|servers)\}")
_INSTRUCTIONS = "{server_instructions}"

SystemPiece: TypeAlias = tuple[str, str]
"""A part of the system prompt: its text, and its origin in words («profile p», «the server math»)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AppliedProfile:
    """A profile applied to a turn. Values that change with time are filled in once, so all requests of a turn begin alike.

    `instructions` are those of servers, by name, for which the system prompt has no place; references in `options` are filled in.
    """

    profile: Profile | None = None
    system: tuple[SystemPiece, ...] = ()
    instructions: tuple[tuple[str, str], ...] = ()
    options: Options = field(default_factory=Options)


def offers(profile: Profile | None, server: str, tool: str = "") -> bool:
    """Whether a profile offers a tool; with an empty tool name, whether it may offer any tool of the server."""
    if profile is None:
        return True
    if profile.servers is not None and server not in profile.servers:
        return False
    if profile.tools is None:
        return True
    if not tool:
        return any(matches(server, pattern.partition(".")[0]) for pattern in profile.tools)
    return any(matches(f"{server}.{tool}", pattern) for pattern in profile.tools)


def apply_profile(
    profile: Profile | None,
    environment: Mapping[str, str],
    *,
    now: datetime,
    servers: Sequence[ServerStatus],
    instructions: Sequence[tuple[str, str]] = (),
) -> AppliedProfile:
    """Fill in a profile for a turn that begins now, with the instructions of servers where these are switched on.

    Raises SettingsError where the profile names a variable that is not set in the environment.
    """
    told = tuple((server, text) for server, text in instructions if offers(profile, server))
    if profile is None:
        return AppliedProfile(instructions=told)
    where = ": ".join(filter(None, (profile.file, f"profiles.{profile.name}")))
    options = resolve_options(profile.options, environment, where=where)
    if profile.system is None:
        return AppliedProfile(profile=profile, instructions=told, options=options)
    ready = [status.name for status in servers if status.state == "ready" and offers(profile, status.name)]
    filled = {
        "time": f"{now:%A} {now.isoformat(sep=' ', timespec='seconds')}",
        "servers": ", ".join(ready) or "none",
    }
    text = _FILLED.sub(lambda match: filled[match[1]], profile.system.text)
    text = resolve(Template(text=text), environment, where=f"{where}.system").text.strip()
    # Instructions come after the references to the environment: a server's text has none.
    before, place, behind = text.partition(_INSTRUCTIONS)
    behind, origin = behind.replace(_INSTRUCTIONS, ""), f"profile {profile.name}"
    pieces = ((before + behind, origin),)
    if place and told:
        pieces, told = ((before, origin), *instruction_pieces(told), (behind, origin)), ()
    elif place:
        told = ()
    return AppliedProfile(profile=profile, system=pieces, instructions=told, options=options)


def instruction_pieces(instructions: Sequence[tuple[str, str]]) -> Iterator[SystemPiece]:
    """Yield the instructions of servers for the system prompt, with each server's name before its words."""
    for number, (server, text) in enumerate(instructions):
        if number:
            yield "\n\n", ""
        yield f"Instructions of the server {server}:\n{text}", f"the server {server}"


def local_time() -> datetime:
    """Return the current time in this machine's time zone."""
    return datetime.now(UTC).astimezone()
