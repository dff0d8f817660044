"""A session's profile at work: which tools it offers, what it tells the model before all else, what it wants of the answer."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from tui_host.settings.model_options import Options
from tui_host.settings.rule_tables import matches
from tui_host.settings.schema import Profile, Template
from tui_host.settings.secrets import resolve, resolve_options

if TYPE_CHECKING:
    from tui_host.chat.session import Session
    from tui_host.servers.catalog import ServerStatus, Tool
    from tui_host.settings.schema import Settings

_FILLED = re.compile(r"(?<!\$)\{(time|servers)\}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Applied:
    """A profile as one turn follows it: what changes with the time is filled in once, so that all its requests begin alike.

    Attributes:
        profile: None where the session has none.
        system: The system prompt, empty for none.
        options: What the profile wants of the model, its references filled in.
    """

    profile: Profile | None = None
    system: str = ""
    options: Options = field(default_factory=Options)

    def offered(self, tools: Sequence[Tool]) -> list[Tool]:
        """Those of the tools that the model is told of."""
        return [tool for tool in tools if offers(self.profile, tool.server, tool.name)]


def profile_of(session: Session, settings: Settings) -> Profile | None:
    """The session's profile, None where it has none, or one that is no longer configured."""
    return settings.profiles.get(session.profile)


def offers(profile: Profile | None, server: str, tool: str = "") -> bool:
    """Whether a tool is offered; without its name, whether any of the server's may be."""
    if profile is None:
        return True
    if profile.servers is not None and server not in profile.servers:
        return False
    if profile.tools is None:
        return True
    if not tool:
        return any(matches(server, pattern.partition(".")[0]) for pattern in profile.tools)
    return any(matches(f"{server}.{tool}", pattern) for pattern in profile.tools)


def applied(
    profile: Profile | None, environment: Mapping[str, str], *, now: datetime, servers: Sequence[ServerStatus]
) -> Applied:
    """A profile as a turn that begins now follows it.

    Args:
        profile: None for none.
        environment: The snapshot in the settings.
        now: With the zone that the model is to be told.
        servers: How they stand.

    Raises:
        SettingsError: It names a variable that is not set.
    """
    if profile is None:
        return Applied()
    where = ": ".join(filter(None, (profile.file, f"profiles.{profile.name}")))
    given = {
        "time": f"{now:%A} {now.isoformat(sep=' ', timespec='seconds')}",
        "servers": ", ".join(each.name for each in servers if each.state == "ready" and offers(profile, each.name))
        or "none",
    }
    system = ""
    if profile.system is not None:
        text = _FILLED.sub(lambda match: given[match.group(1)], profile.system.text)
        system = resolve(Template(text=text), environment, where=f"{where}.system").text.strip()
    options = resolve_options(profile.options, environment, where=where)
    return Applied(profile=profile, system=system, options=options)


def local_time() -> datetime:
    """This moment, in the zone of this machine."""
    return datetime.now(UTC).astimezone()
