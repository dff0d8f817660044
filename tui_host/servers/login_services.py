"""What a login at a server needs of its connection. Free of the SDK's types."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tui_host.servers.server_questions import Answerer
    from tui_host.settings.login_storage import Logins
    from tui_host.settings.schema import ServerSpec


@dataclass(frozen=True, slots=True, kw_only=True)
class LoginServices:
    """What a login at a server needs of its connection.

    Attributes:
        spec: The configured server.
        environment: Resolves references.
        logins: Keeps logins.
        answerer: Returns the one who asks the person.
        learn: Called with name and value of each secret, which no record may show.
        waiting: Stops the time limits while the person logs in; takes a line for the status.
        notice: Called with sentences for the person.
    """

    spec: ServerSpec
    environment: Mapping[str, str]
    logins: Logins
    answerer: Callable[[], Answerer]
    learn: Callable[[str, str], None]
    waiting: Callable[[str], AbstractContextManager[None]]
    notice: Callable[[str], None]
