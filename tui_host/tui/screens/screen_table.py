"""The screens that open over the main one, made by name. Imported late: the first frame needs none of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from textual.screen import Screen

    from tui_host.chat.session import Session
    from tui_host.tui.screens.main_screen import MainScreen


def make_screen(name: str, main: MainScreen, session: Session) -> Screen[None] | None:
    """Return a new screen, or None after saying why it cannot be opened for this session.

    Args:
        name: `servers`, `sessions`, `rules`, `turns`, `model`, `profile` or `request`.
        main: The main screen.
        session: The session on screen.
    """
    host, submissions = main.host, main.submissions
    if name == "servers":
        from tui_host.tui.screens.servers_screen import ServersScreen

        def open_requests(server: str) -> Screen[None]:
            from tui_host.tui.screens.direct_screen import DirectScreen

            return DirectScreen(host, main.asks, server, main.direct)

        return ServersScreen(host, session, open_requests)
    if name == "sessions":
        from tui_host.tui.screens.sessions_screen import SessionsScreen

        return SessionsScreen(host)
    if not submissions.is_own():
        return None
    if name in {"rules", "turns"}:
        from tui_host.tui.screens.session_lists import oldest_turns_screen, rules_screen

        return rules_screen(session) if name == "rules" else oldest_turns_screen(host, session)
    if name == "request":
        from tui_host.tui.screens.request_screen import RequestScreen

        prompt = submissions.prompt
        return RequestScreen(host, session, prompt.message(), main.source, prompt.attached)
    if name == "profile" and not host.settings.profiles:
        main.notify("No profile is configured. Write [profiles.NAME] into config.toml.", markup=False)
        return None
    from tui_host.tui.screens.model_screen import ModelScreen

    return ModelScreen(host, session, "profile" if name == "profile" else "")
