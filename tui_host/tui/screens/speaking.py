"""A screen in whose prompt a person speaks: what is sent, what is a command, and what waits there as a draft."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from textual.message import Message
from textual.widgets import TextArea

from tui_host.capture.visible import line
from tui_host.tui.key_tables import ACTIONS
from tui_host.tui.masks import mask_of
from tui_host.tui.screens.approval_host import AskingScreen
from tui_host.tui.widgets.prompt.prompt_field import Prompt

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tui_host.chat.attachments import Attached
    from tui_host.chat.session import Session
    from tui_host.host.host import Host
    from tui_host.tui.glyphs import Glyphs
    from tui_host.tui.widgets.transcript.transcript_view import Transcript

AS_TEXT = "A space before the / sends it as text."
DRAFT_SECONDS = 1.0
"""How often at most the draft is put on the disk while it is written."""
RECALLED = 1000
"""So many of the last messages of an opened session come back with `up`."""


class SpeakingScreen(AskingScreen):
    """Sends what is written to the session's model, unless others hold that session; keeps with it what is not sent.

    Args:
        host: Whose sessions.
        begin: Gives the session to show first; asked when something is sent, or when all is there.
        glyphs: The marks to draw with.
    """

    class CommandAsked(Message):
        """A `/name` of the table of keys was typed."""

        def __init__(self, name: str) -> None:
            super().__init__()
            self.name = name

    def __init__(self, host: Host, begin: Callable[[], Session], glyphs: Glyphs) -> None:
        prompt = Prompt(
            commands=[(action.name, action.help) for action in ACTIONS],
            may_send=lambda: not self._session.busy and not self._session.is_foreign,
            glyphs=glyphs,
            id="prompt",
        )
        super().__init__(begin, prompt, mask_of(host, glyphs), glyphs)
        self._host = host
        self._draft_is_new = False
        self._draft_kept_at = 0.0

    def look(self) -> None:
        """Take in what is new."""

    # What is said.

    def on_prompt_sent(self, event: Prompt.Sent) -> None:
        """Begin a turn."""
        self._host.send(self._session, event.text, event.attached)
        self.look()

    def on_prompt_held(self) -> None:
        """Nothing is sent into a turn that is at work; what was written stays."""
        if self.is_own():
            words = "A turn is at work. It can be sent when that has ended; escape stops it."
            self.notify(words, markup=False, timeout=4)

    def on_transcript_picked(self, event: Transcript.Picked) -> None:
        """Send a question of the empty chat."""
        self._prompt.remember(event.text)
        self._host.send(self._session, event.text)
        self.look()

    def is_own(self) -> bool:
        """Whether the session is one to speak in; where it was said elsewhere, that is told."""
        if self._session.is_foreign:
            who = "Another host talks here" if self._session.source == "tap" else "This was captured elsewhere"
            self.notify(f"{who}; ctrl+n begins a session of your own.", markup=False, timeout=6)
        return not self._session.is_foreign

    def on_prompt_command(self, event: Prompt.Command) -> None:
        """Do a `/name`."""
        names = [action.name for action in ACTIONS]
        if event.name not in names:
            from difflib import get_close_matches

            name = line(event.name, 40)
            near = " or ".join(f"/{each}" for each in get_close_matches(event.name, names, n=2, cutoff=0.5))
            words = f"There is no command /{name}{f': {near}?' if near else '.'} {AS_TEXT}"
            self.notify(words, severity="warning", markup=False, timeout=8)
            return
        if event.arguments:
            words = f"/{event.name} takes nothing after it; what stood there was not sent, up brings it back. {AS_TEXT}"
            self.notify(words, severity="warning", markup=False, timeout=8)
        self.post_message(self.CommandAsked(event.name))

    # The draft.

    def speak_in(self, session: Session) -> None:
        """Another session: the draft of the one that leaves is kept with it."""
        self.keep_draft()
        self._shown = session
        self.put_away()
        self._prompt.put(session.draft)
        self._draft_is_new = False
        self._prompt.remember(*session.conversation.said(RECALLED))

    def on_text_area_changed(self, event: TextArea.Changed) -> None:
        """What is written is kept, though not at each letter."""
        if event.text_area is self._prompt:
            self._draft_is_new = True

    @property
    def unsent(self) -> str:
        """What `enter` would send now."""
        return self._prompt.message()

    @property
    def attached(self) -> Sequence[Attached]:
        """The files that would go with it."""
        return self._prompt.attached

    def keep_draft(self) -> None:
        """Put what stands in the prompt on the disk, if it is not there."""
        self._draft_is_new = False
        self._draft_kept_at = time.monotonic()
        draft = self._prompt.whole_text()
        draft = draft if draft.strip() else ""  # nothing but blanks is no beginning of anything
        if draft != ("" if self._shown is None else self._shown.draft):
            self._session.draft = draft
            self._session.save()

    def keep_draft_at_times(self) -> None:
        """Put it there while it is written, not too often."""
        if self._draft_is_new and time.monotonic() - self._draft_kept_at >= DRAFT_SECONDS:
            self.keep_draft()

    def put_draft(self, draft: str) -> bool:
        """Put back what was written before the program ended; False if something is being written already."""
        if self._session.turn or self._prompt.text.strip():
            return False
        self._prompt.put(draft)
        self.keep_draft()
        return True
