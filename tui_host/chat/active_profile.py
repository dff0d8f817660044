"""Applies a session's profile: the offered tools, the system prompt, and the model options."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from tui_host.settings.environment_references import resolve, resolve_options
from tui_host.settings.model_options import Options
from tui_host.settings.rule_tables import matches
from tui_host.settings.schema import Profile, Template

if TYPE_CHECKING:
    from tui_host.chat.session import Session
    from tui_host.servers.catalog import ServerStatus, Tool
    from tui_host.settings.schema import Settings

_FILLED = re.compile(r"(?<!\$)\{(time|servers)\}")


@dataclass(frozen=True, slots=True, kw_only=True)
class AppliedProfile:
    """A profile as apply_profile to a turn. Values that change with time are filled in once, so all requests of a turn begin alike.

    Attributes:
        profile: None if the session has none.
        system: The system prompt, empty for none.
        options: The profile's model options, references filled in.
    """

    profile: Profile | None = None
    system: str = ""
    options: Options = field(default_factory=Options)

    def offered(self, tools: Sequence[Tool]) -> list[Tool]:
        """Return the tools to offer to the model."""
        return [tool for tool in tools if offers(self.profile, tool.server, tool.name)]


def profile_of(session: Session, settings: Settings) -> Profile | None:
    """Return the session's profile; None if unset, or no longer configured."""
    return settings.profiles.get(session.profile)


def offers(profile: Profile | None, server: str, tool: str = "") -> bool:
    """Whether a profile offers a tool; without a tool name, whether it may offer any tool of the server."""
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
    profile: Profile | None, environment: Mapping[str, str], *, now: datetime, servers: Sequence[ServerStatus]
) -> AppliedProfile:
    """Apply a profile to a turn that begins now.

    Args:
        profile: None for none.
        environment: The snapshot in the settings.
        now: Local time, with the zone to tell to the model.
        servers: The servers' current statuses.

    Raises:
        SettingsError: The profile names a variable that is not set.
    """
    if profile is None:
        return AppliedProfile()
    where = ": ".join(filter(None, (profile.file, f"profiles.{profile.name}")))
    given = {
        "time": f"{now:%A} {now.isoformat(sep=' ', timespec='seconds')}",
        "servers": ", ".join(
            status.name for status in servers if status.state == "ready" and offers(profile, status.name)
        )
        or "none",
    }
    system = ""
    if profile.system is not None:
        text = _FILLED.sub(lambda match: given[match.group(1)], profile.system.text)
        system = resolve(Template(text=text), environment, where=f"{where}.system").text.strip()
    options = resolve_options(profile.options, environment, where=where)
    return AppliedProfile(profile=profile, system=system, options=options)


def local_time() -> datetime:
    """Return the current time, in this machine's zone."""
    return datetime.now(UTC).astimezone()
