"""What the app does wherever the person is: by key, by the palette, by `/name` in the prompt."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from functools import partial
from typing import TYPE_CHECKING, ClassVar

from textual.app import SystemCommand
from textual.binding import Binding, BindingType
from textual.screen import Screen
from typing_extensions import override

from tui_host.capture.visible import line, tool_name
from tui_host.tui import clipboard as copying
from tui_host.tui.app_base import Drawn
from tui_host.tui.key_tables import ACTIONS, Action
from tui_host.tui.screens.main_screen import MainScreen

if TYPE_CHECKING:
    from tui_host.chat.session import Session
    from tui_host.host.host import Host
    from tui_host.tui.screens.sessions_screen import SessionsScreen
    from tui_host.tui.widgets.transcript.transcript_view import Transcript


def can_try_again(session: Session) -> bool:
    """Whether the last turn ended with something that the same request may mend."""
    from tui_host.chat.conversation import NoteItem, SummaryItem

    for item in reversed(session.conversation.items):
        if isinstance(item, NoteItem):
            return item.again
        if not isinstance(item, SummaryItem):
            return False
    return False


class Acting(Drawn):
    """An app with one session on its main screen, and the actions of the table of keys.

    Attributes:
        begin: Makes the session that is shown first.
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding(
            action.key,
            action.action,
            action.label or action.name,
            show=False,
            priority=action.key != "ctrl+c",
            id=action.name,
        )
        for action in ACTIONS
        if action.key
    ]

    def __init__(self, host: Host) -> None:
        super().__init__(host)
        self.begin: Callable[[], Session] = host.sessions.new
        self._session: Session | None = None

    @property
    def session(self) -> Session:
        """The session on screen."""
        if self._session is None:
            self._session = self.begin()
        return self._session

    @session.setter
    def session(self, session: Session) -> None:
        self._session = session

    @property
    def main(self) -> MainScreen | None:
        """The main screen, None before it is there."""
        return next((screen for screen in self.screen_stack if isinstance(screen, MainScreen)), None)

    def show_session(self, session: Session) -> None:
        """Put another session on the screen; the turn of the one that leaves goes on."""
        self.session = session
        if self.main is not None:
            self.main.show_session(session)

    def action_help(self) -> None:
        """Every key, those of the place where the person is first; over whatever is there."""
        from tui_host.tui.screens.help_screen import HelpScreen, place_of

        if isinstance(self.screen, HelpScreen):
            self.pop_screen()
        else:
            self.push_screen(HelpScreen(place_of(self.screen, self.focused)))

    def action_servers(self) -> None:
        """The servers; of a session from elsewhere those of its host too."""
        from tui_host.tui.screens.servers_screen import ServersScreen
        from tui_host.tui.sources.tapped_servers import ToldServers

        source = self.main.source if self.main is not None and self.session.is_foreign else None
        self._open(lambda: ServersScreen(self.host, None if source is None else ToldServers(source)))

    def action_model(self) -> None:
        """Choose the model."""
        from tui_host.tui.screens.model_screen import ModelScreen

        if self._is_own():
            self._open(lambda: ModelScreen(self.host, self.session))

    def action_profile(self) -> None:
        """Choose a profile."""
        from tui_host.tui.screens.model_screen import ModelScreen

        if not self._is_own():
            return
        if self.host.settings.profiles:
            self._open(lambda: ModelScreen(self.host, self.session, "profile"))
        else:
            self.notify("no profile is configured: write [profiles.NAME] into config.toml", markup=False)

    def action_request(self) -> None:
        """The coming request."""
        from tui_host.tui.screens.request_screen import RequestScreen

        if self.main is not None and self._is_own():
            unsent, source, attached = self.main.unsent, self.main.source, self.main.attached
            self._open(lambda: RequestScreen(self.host, self.session, unsent, source, attached))

    def _is_own(self) -> bool:
        return self.main is None or self.main.is_own()

    def action_sessions(self) -> None:
        """Earlier sessions."""
        from tui_host.tui.screens.sessions_screen import SessionsScreen

        self._open(lambda: SessionsScreen(self.host))

    def _open(self, make: Callable[[], Screen[None]]) -> None:
        """Put a screen over the main one; the same key again closes it."""
        screen = make()
        if isinstance(self.screen, type(screen)):
            self.pop_screen()
            return
        while self.screen is not self.main and len(self.screen_stack) > 1 and not isinstance(self.screen, type(screen)):
            self.pop_screen()
        if not isinstance(self.screen, type(screen)):
            self.push_screen(screen)

    def _to_main(self) -> None:
        """Leave the screens over the main one, where what is asked for can be seen."""
        while self.main is not None and self.screen is not self.main and len(self.screen_stack) > 1:
            self.pop_screen()

    @override
    def action_suspend_process(self) -> None:
        """Give the terminal back to the shell that started us, if there is one to continue us."""
        if os.getpgrp() == os.getsid(0):
            self.notify("no shell waits here that could bring tui-host back", severity="warning", markup=False)
        else:
            super().action_suspend_process()

    def action_new(self) -> None:
        """A new session."""
        self._to_main()
        unsent = next((each for each in self.host.sessions.values() if not each.turn and each.draft), None)
        if self.session.turn:
            self.show_session(unsent or self.host.sessions.new())
        elif self.main is not None:
            self.main.show_session(self.session)  # it is new: there is nothing to leave

    def action_again(self) -> None:
        """Send the last request again, if it failed."""
        if self.session.busy:
            self.notify("A turn is at work; escape stops it.", markup=False, timeout=4)
        elif not can_try_again(self.session):
            self.notify("Nothing failed: there is nothing to try again.", markup=False, timeout=4)
        else:
            self.host.again(self.session)

    def action_revoke(self) -> None:
        """Take back every rule that was given for this session."""
        policy = self.session.policy
        names = ", ".join(tool_name(grant.server, grant.tool) for grant in policy.grants)
        for grant in policy.grants:
            policy.revoke(grant)
        words = f"Taken back; asked again from now on: {names}" if names else "No rule was given for this session."
        self.notify(line(words, 300), markup=False, timeout=6)

    def action_stop(self) -> None:
        """Stop the turn on screen."""
        self.host.stop_turn(self.session)

    def action_inspector(self) -> None:
        """Chat and inspector, inspector alone, chat alone."""
        self._to_main()
        if self.main is not None:
            self.main.next_arrangement()

    def action_copy(self) -> None:
        """Copy what the person is at, and say how much went where."""
        what, text = copying.current_source(self.focused)
        if text:
            copying.send(self, what, text)

    def action_copy_code(self) -> None:
        """Copy a block of code of the chat."""
        if self.main is not None:
            self.main.copy_code()

    def on_transcript_copy_asked(self, event: Transcript.CopyAsked) -> None:
        """Copy a part of an item."""
        copying.send(self, event.what, event.text)

    def on_speaking_screen_command_asked(self, event: MainScreen.CommandAsked) -> None:
        """Do the action of a `/name`."""
        for action in ACTIONS:
            if action.name == event.name:
                self._run_action_of(action)

    def on_sessions_screen_chosen(self, event: SessionsScreen.Chosen) -> None:
        """Show the session that was chosen."""
        self.show_session(event.session)

    def _run_action_of(self, action: Action) -> None:
        self.call_later(self.run_action, action.action)

    @override
    def get_system_commands(self, screen: Screen[object]) -> Iterable[SystemCommand]:
        """The palette: the table of keys."""
        for action in ACTIONS:
            if action.name == "palette":
                continue
            key = f" ({action.shown})" if action.shown else ""
            yield SystemCommand(f"{action.name}{key}", action.help, partial(self._run_action_of, action))
