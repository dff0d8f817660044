"""The app: one host, one session on the main screen, and the actions that work everywhere."""

from __future__ import annotations

import asyncio
import locale
import os
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING, ClassVar

from textual import events
from textual.app import App, SystemCommand
from textual.binding import BindingType
from textual.filter import LineFilter
from textual.screen import Screen
from textual.widget import Widget
from typing_extensions import override

from tui_host.answers.pages import PAGES, WIRE_TABS
from tui_host.capture.visible import line
from tui_host.errors import TuiHostError
from tui_host.settings.key_names import PLACES
from tui_host.tui import clipboard, textual_private
from tui_host.tui.alerts import Alerts
from tui_host.tui.exit_filter import ASCII, ExitFilter
from tui_host.tui.keys import ACTIONS, Key, bound, choose, key_of, keys_of, kinds_at
from tui_host.tui.late_loading import load_the_rest
from tui_host.tui.palette import Palette
from tui_host.tui.questions.asks import Asks, OpenAsk
from tui_host.tui.readable_colours import readable
from tui_host.tui.screens.main_screen import MainScreen
from tui_host.tui.text_width import hanging
from tui_host.tui.widgets import status_lines
from tui_host.tui.widgets.prompt.prompt_field import Prompt

if TYPE_CHECKING:
    from rich.console import RenderableType
    from textual.command import Provider
    from textual.notifications import Notify
    from textual.theme import Theme

    from tui_host.chat.policy import Question, StepLimit
    from tui_host.chat.session import Session
    from tui_host.host.host import Host
    from tui_host.tui.questions.overlay import QuestionOverlay
    from tui_host.tui.screens.page_screen import PageScreen
    from tui_host.tui.widgets.lines.line_view import LineView
    from tui_host.tui.widgets.transcript.transcript_view import Transcript

HANGUP = 129  # the exit code after a lost terminal
TOAST_CELLS = 53  # of the 56 that `app.tcss` gives a message
THEME, LIGHT_THEME = "textual-dark", "textual-light"
PRESSES = (events.Key, events.Paste, events.MouseDown, events.MouseUp, events.Click)
RATE = 1 / 25  # seconds between two checks for changes to show
RESTING_SECONDS = 0.2  # the same at rest, where these checks are most of what the program costs
AWAKE_SECONDS = 1.0  # after a key, a click or news in which nothing rests: lists move, and pages are made
COVERED_SECONDS = 1.0  # between looks at a main screen of which nothing is seen: its lists may have much to read
AWAY_SECONDS = 10.0  # without keys and clicks, after which a click may be meant for the terminal's window alone


class TuiHost(App[int]):
    """The full-screen app of a host; `reading` stands in the chat while the first session is read from a file."""

    TITLE = "tui-host"
    ENABLE_COMMAND_PALETTE = True
    COMMANDS: ClassVar[set[type[Provider] | Callable[[], type[Provider]]]] = {Palette}
    CSS_PATH = "app.tcss"
    BINDINGS: ClassVar[list[BindingType]] = [
        bound(a.key or a.name, a.by_key or a.action, a.name, priority=a.name != "copy")
        for a in ACTIONS
        if (a.key or a.name) in PLACES["everywhere"]
    ]

    def __init__(self, host: Host, begin: Callable[[], Session] | None = None, reading: str = "") -> None:
        choose(host.settings.keys)
        for made in (status_lines.keys, status_lines.asked_keys):
            made.cache_clear()
        super().__init__()
        self.set_keymap(host.settings.keys)
        self.host = host  # the host that owns sessions, servers and the recorder
        self._begin = begin or host.sessions.new  # makes the session that is shown first
        self.crash: TuiHostError | None = None  # to report after the app has ended because of a bug
        # Set once the first frame is painted, chat and inspector are mounted (the host starts then), a key came, the app is to end.
        self.first_frame, self.complete, self.pressed, self.ending = (asyncio.Event() for _ in range(4))
        self._reading = reading
        wide = locale.getlocale()[1] not in {"UTF-8", "utf-8", "UTF8", None}
        chosen = host.settings.ui.ascii
        self.is_ascii: bool = chosen or (chosen is None and wide)  # for terminals that draw some characters too wide
        self._early_keys: list[events.Key | events.Paste] | None = []
        self._exit_filter = ExitFilter(ASCII if self.is_ascii else {})
        chosen_theme = host.settings.ui.theme or "auto"
        self._is_theme_open = chosen_theme == "auto"  # until the terminal has told its ground
        self._saved_theme: str = THEME if self._is_theme_open else chosen_theme
        self.is_lent = False  # whether an editor has the terminal
        self._has_skipped_frame = self._has_reported = self._is_looking = False
        self._notices_shown = 0
        self._woken = asyncio.Event()
        self._awake_until = self._covered_at = 0.0
        self._is_first_click = False
        host.approver = self
        self.asks = host.answerer = Asks(host, self._announce)
        self.alerts = Alerts(host, self.asks, partial(textual_private.write, self))

    # Start and end.

    @override
    def get_css_variables(self) -> dict[str, str]:
        variables = readable(super().get_css_variables())
        ground, bar = variables["surface"], variables["foreground"]
        variables |= {"scrollbar": f"{bar} 25%", "scrollbar-hover": f"{bar} 45%"}
        variables |= {"scrollbar-active": variables["primary"], "scrollbar-corner-color": ground}
        variables |= dict.fromkeys((name for name in variables if name.startswith("scrollbar-background")), ground)
        self.theme_variables = variables
        return variables

    @override
    def get_default_screen(self) -> Screen[None]:
        return MainScreen(self.host, self.asks, self._begin, self._reading)

    def on_mount(self) -> None:
        self.theme = self._saved_theme
        self.theme_changed_signal.subscribe(self, self._remember_theme)
        textual_private.write(self, textual_private.ASKED)  # nothing waits for the answers
        self.set_class(self.is_ascii, "-ascii")
        self.run_worker(self._keep_looking)
        self.call_after_refresh(self._first_frame_painted)

    def on_terminal_answer(self, event: textual_private.TerminalAnswer) -> None:
        """Take the theme for the terminal's ground, and believe it to have the focus if it would say otherwise."""
        if event.tells_focus:
            self.alerts.has_focus = True
        if event.is_light is not None and self._is_theme_open:
            self._saved_theme = LIGHT_THEME if event.is_light else THEME
            self.theme = self._saved_theme
            self._is_theme_open = False

    def _first_frame_painted(self) -> None:
        if not self.first_frame.is_set():
            self.first_frame.set()
            self.run_worker(partial(load_the_rest, self.host, self.main, self.complete, self.pressed))

    def _remember_theme(self, theme: Theme) -> None:
        if theme.name == self._saved_theme:
            return
        self._saved_theme, self._is_theme_open = theme.name, False
        from tui_host.settings.save import save_state

        try:
            save_state(self.host.settings, {"theme": theme.name})
        except TuiHostError as error:
            words = f"The theme applies until the program ends, but could not be saved: {error}"
            self.notify(line(words, 300), severity="warning", markup=False)

    @override
    def exit(self, result: int | None = None, return_code: int = 0, message: RenderableType | None = None) -> None:
        try:
            if self.main is not None:
                self.main.submissions.keep_draft()
        except Exception as error:  # noqa: BLE001 - nothing may keep the program from its end
            self.report_error(error)
        if not self.is_lent:
            self.alerts.show_title("")
        super().exit(result, return_code, message)
        self.workers.cancel_all()  # their screens are being taken down
        self.ending.set()

    def report_error(self, error: BaseException) -> None:
        """Log a bug that the app survives; the first one is shown too."""
        report = self.host.mistake(error)
        if not self._has_reported and self.is_running:
            self.notify(str(report), severity="error", markup=False)
        self._has_reported = True

    @override
    def panic(self, *renderables: RenderableType) -> None:
        """Replace Textual's traceback on the screen. A lost terminal gets here too, through Textual's input thread."""
        if os.isatty(0):
            self._fatal_error()
        else:
            self.exit(return_code=HANGUP)

    @override
    def _fatal_error(self) -> None:
        """Replace Textual's traceback, which shows local variables, by a log without them; exit code 1."""
        error = textual_private.first_exception(self) or RuntimeError("the terminal could not be read")
        if self.crash is None:
            self.crash = self.host.mistake(error)
        self.exit(return_code=1)
        textual_private.end_messages(self)

    # News.

    def on_notify(self, event: Notify) -> None:
        event.notification.message = hanging(event.notification.message, min(TOAST_CELLS, self.size.width - 3))
        if textual_private.is_shown(self, event.notification):
            event.prevent_default()

    def wake(self) -> None:
        """Look for changes now, and often for a while."""
        self._awake_until = time.monotonic() + AWAKE_SECONDS
        self._woken.set()

    async def _keep_looking(self) -> None:
        """Ask at a steady rate what is new, and show it; nothing else polls."""
        while True:
            await asyncio.sleep(RATE)
            if time.monotonic() >= self._awake_until:
                with suppress(TimeoutError):
                    async with asyncio.timeout(RESTING_SECONDS - RATE):
                        await self._woken.wait()
            self._woken.clear()
            if not self.is_lent:  # else nobody reads what is written to the terminal
                self.alerts.look()
            main, host = self.main, self.host
            is_host_at_rest = host.fault is None and self._notices_shown == len(host.notices)
            if main is None or main.seen != main.revisions() or not is_host_at_rest:
                self.wake()
            is_due = self._woken.is_set() or self.screen is not main or time.monotonic() < self._awake_until
            if is_due and self.is_running and not self._is_looking:
                self._is_looking = self.call_later(self._look)

    def _look(self) -> None:
        """Show what has changed on the current screen and on the main one."""
        self._is_looking = False
        main = self.main
        if not self.is_running or main is None:
            return  # the screens are being taken down
        if not self.first_frame.is_set():
            if self.screen is not main:
                self._first_frame_painted()  # another screen covers the main one, whose first frame will not come
            return
        if self.host.fault is not None:
            self.exit(return_code=1)  # run_app reports the fault
            return
        notices = self.host.notices[self._notices_shown :]
        self._notices_shown += len(notices)
        for notice in notices:
            self.notify(line(self.host.mask(notice), 300), severity="warning", markup=False, timeout=10)
        is_covered = self.screen is not main and not self.screen.is_modal
        if not is_covered or time.monotonic() >= self._covered_at:
            self._covered_at = time.monotonic() + COVERED_SECONDS
            main.look()
        look = getattr(self.screen, "look", None)
        if self.screen is not main and self.screen.is_mounted and callable(look):
            look()

    # Deciding.

    async def decide(self, questions: Sequence[Question]) -> None:
        """Wait until all questions are answered. The main screen shows `session.questions` meanwhile."""
        while any(question.open for question in questions):
            await asyncio.sleep(RATE)

    async def decide_limit(self, limit: StepLimit) -> None:
        """Wait until the user has answered. The main screen shows `session.step_limit` meanwhile."""
        while limit.goes_on is None:
            await asyncio.sleep(RATE)

    def _announce(self, ask: OpenAsk) -> None:
        """Say what a server asks where another screen covers the question."""
        self.wake()
        if not hasattr(self.screen, "overlay"):  # no screen that shows questions
            self.notify(f"{line(ask.server, 40)} {ask.words} (in the chat)", markup=False)

    @override
    async def on_event(self, event: events.Event) -> None:
        """Pass an event on, unless the quiet period ignores it: a key typed before a question was shown never decides.

        Keys typed before any widget has the focus are kept for the first that gets it; Textual would drop them.
        """
        if self._early_keys is not None and isinstance(event, events.Key | events.Paste):
            self._early_keys.append(event)
            return
        if isinstance(event, events.InputEvent | events.Paste | events.Resize):
            self.wake()
        if isinstance(event, events.AppFocus | events.AppBlur):
            self.alerts.has_focus = isinstance(event, events.AppFocus)
        elif isinstance(event, PRESSES):
            self.alerts.attend()
        main = self.main
        if isinstance(event, PRESSES) and main is not None:
            # The first click after a pause gives no more than the focus: it may have been for the terminal's window.
            if isinstance(event, events.MouseDown) and not event.is_forwarded:
                self._is_first_click = event.time - main.pressed_at > AWAY_SECONDS
                if self._is_first_click and self.screen.is_running:
                    widget, _ = self.screen.get_widget_at(*event.screen_offset)
                    own = (node for node in widget.ancestors_with_self if isinstance(node, Widget))
                    self.screen.set_focus(next((node for node in own if node.focusable), None) or self.screen.focused)
            if not event.is_forwarded:
                main.pressed_at = event.time  # not of now: the app may get to it late
                if self._is_first_click and isinstance(event, events.MouseEvent):
                    return
            self.pressed.set()
            if main.question is not None and self.screen is not main:
                main.question.note(event)
            overlay: QuestionOverlay | None = getattr(self.screen, "overlay", None)
            if overlay is not None and overlay.panel is not None and overlay.panel.swallow(event):
                return
        await super().on_event(event)

    def on_key(self, event: events.Key) -> None:
        """Say of a key that means nothing here where it means something."""
        if self.screen.query("QuestionPanel") or event.key in self.screen.active_bindings:
            return
        from tui_host.tui.screens.help_screen import places
        from tui_host.tui.widgets.lines.line_view import LineView

        back = "" if self.focused is not None and self.focused.id == "prompt" else "escape: back"
        here = [title for title, keys in places().items() if any(event.key in key.names for key in keys)]
        if here or (back and event.is_printable):
            name = event.character if event.is_printable else event.key
            where = f"{name} works in: {', '.join(here)}" if here else ""
            self.post_message(LineView.Hinted("   ".join(filter(None, (where, back)))))

    def on_line_view_hinted(self, event: LineView.Hinted) -> None:
        for keys in self.screen.query("#keys, #page-keys").results(status_lines.StatusLine):
            keys.hint(event.words)

    async def on_descendant_focus(self) -> None:
        early, self._early_keys = self._early_keys, None
        for event in early or ():
            await self.on_event(event)

    # Drawing.

    @override
    def get_line_filters(self) -> Sequence[LineFilter]:
        """Return one filter: Textual's own, then the exit filter that keeps control characters from the terminal."""
        filters = tuple(super().get_line_filters())
        if filters != self._exit_filter.others:
            self._exit_filter = replace(self._exit_filter, others=filters)
        return [self._exit_filter]

    @override
    def _display(self, screen: Screen[object], renderable: RenderableType | None) -> None:
        """Skip frames while the terminal does not read, then draw everything: a full queue would block the loop."""
        if self.is_lent or textual_private.writes_waiting(self) >= textual_private.MOST_WAITING:
            self._has_skipped_frame = True
            return
        if self._has_skipped_frame:
            self._has_skipped_frame = False
            self.call_later(self.screen.refresh, layout=True)
        super()._display(screen, renderable)  # pyright: ignore[reportUnknownMemberType] - Textual leaves its screen open

    # Sessions and screens.

    @property
    def session(self) -> Session:
        return self._begin() if self.main is None else self.main.submissions.session

    @property
    def main(self) -> MainScreen | None:
        return next((screen for screen in self.screen_stack if isinstance(screen, MainScreen)), None)

    def to_main(self) -> MainScreen:
        """Close whatever covers the main screen, and return it."""
        while not isinstance(self.screen, MainScreen):
            self.pop_screen()
        return self.screen

    # Actions: by key, from the palette, or by `/name` in the prompt.

    def on_prompt_command(self, event: Prompt.Command) -> None:
        """Run the action of a `/name`, fill in a server's prompt by `/server:prompt`, or show what is named: `/bill LLM 4`."""
        name = event.name
        command, _, words = name.partition(" ")
        actions = {action.name: action.action for action in ACTIONS}
        if words or actions.get(name) == "":
            from tui_host.answers.names import subject_named
            from tui_host.tui.screens.export_screen import ask_for_export, parts_named
            from tui_host.tui.widgets.details.tabs import row_with

            main, page = self.to_main(), next((page for page in PAGES if page.command == command), None)
            try:
                if main.source is None or not len(main.source.ladder.rows):
                    self.notify("Nothing is recorded yet.", markup=False, timeout=4)
                elif page is not None:
                    main.show_page(subject_named(main.source, page, words), page.name)
                elif command.title() in WIRE_TABS:
                    main.show_page(row_with(command.title(), main.source, words), command.title())
                elif command == "filter":
                    main.filter_by(words)
                else:
                    ask_for_export(main, self.host, main.source.session.id, *parts_named(main.source, words))
            except TuiHostError as error:
                self.notify(line(f"/{command}: {error}", 400), severity="warning", markup=False, timeout=8)
        elif name in actions:
            self.call_later(self.run_action, actions[name])
        prompt = self.main.offers.prompts().get(name) if self.main is not None and ":" in name else None
        if prompt is not None and self.main is not None and self.main.submissions.may_send(at_once=False):
            from tui_host.tui.screens.prompt_screen import open_prompt

            open_prompt(self.main, prompt)
        for key, pane in self._pane_keys():
            if key.command == name:
                self.call_later(partial(self.action_on_main, key.action, pane, shows=True))

    def action_command(self, name: str) -> None:
        self.post_message(Prompt.Command(name))

    def _pane_keys(self) -> Iterator[tuple[Key, str]]:
        """Yield the keys of chat and inspector that are commands too, with the name of the pane."""
        panes = () if self.main is None else self.main.query("Transcript, Inspector")
        return ((key, type(pane).__name__) for pane in panes for key in keys_of(type(pane)) if key.command)

    @override
    def get_system_commands(self, screen: Screen[object]) -> Iterable[SystemCommand]:
        """Return the palette's entries: the table of actions, and the documents that come with the program."""
        from tui_host.tui.screens.help_screen import DOCUMENTS, DocumentScreen

        commands = [
            (action.name, key_of(action.key or action.name), action.help)
            for action in ACTIONS
            if action.name != "palette"
        ]
        for key, _ in self._pane_keys():
            commands.append((key.command, key.shown, f"{key.help[:1].upper()}{key.help[1:]}"))
        for name, shown, words in commands:
            yield SystemCommand(f"{name:<20}{shown:<8}{words}", "", partial(self.action_command, name))
        for name, words in DOCUMENTS.items():
            title = f"{f'read: {name}':<28}{words}"
            yield SystemCommand(title, "", lambda name=name: self.push_screen(DocumentScreen(name)))

    def action_help(self) -> None:
        from tui_host.tui.screens.help_screen import HelpScreen

        if isinstance(self.screen, HelpScreen):
            self.pop_screen()
        else:
            self.push_screen(HelpScreen(kinds_at(self.screen)))

    def action_open_screen(self, path: str, words: str = "") -> None:
        """Open a screen by its module and class, or close it if it is open, unless the session on screen has none."""
        module, _, name = path.partition(".")
        made_for: Callable[..., PageScreen] = getattr(import_module(f"tui_host.tui.screens.{module}"), name)
        if self.main is None:
            return
        if getattr(made_for, "IS_OWN", False) and not self.main.submissions.may_send(at_once=False):
            return
        screen, before = made_for(self.main, words) if words else made_for(self.main), self.screen
        self.to_main()
        if not isinstance(before, type(screen)):
            self.push_screen(screen)

    @override
    def action_suspend_process(self) -> None:
        if os.getpgrp() == os.getsid(0):
            words = "tui-host was not started from a shell, so nothing could bring it back."
            self.notify(words, severity="warning", markup=False)
        else:
            super().action_suspend_process()

    def action_edit_prompt(self, by_key: bool) -> None:
        """Let the person write the prompt in an editor, or show the login that waits, which has the same key."""

        async def edit() -> None:
            from tui_host.tui.editor import edited

            await self.complete.wait()  # signals that pause the program are heeded from the first frame on
            self.is_lent = True
            try:
                text = prompt.marks.whole(prompt.text)
                prompt.put(await edited(self, self.host.guard, self.host.settings.environment, text), can_undo=True)
            except TuiHostError as error:
                self.notify(line(f"Not edited: {error}.", 300), severity="warning", markup=False, timeout=8)
            finally:
                self.is_lent = False
            self.screen.refresh(layout=True)
            if main.question is not None:  # which is new to who comes back
                main.question.look_again()

        main = self.to_main()
        prompt = main.prompt
        if by_key and main.overlay is not None and main.overlay.login is not None:
            main.action_login()
        elif not self.is_lent:
            self.run_worker(edit(), group="editor", exclusive=True)

    def action_new(self) -> None:
        main, session = self.to_main(), self.session
        if session.turn:
            drafts = (new for new in self.host.sessions.values() if new.draft and not new.turn and not new.parent)
            session = next(drafts, None) or self.host.sessions.new()
        main.show_session(session)

    def action_again(self, by_key: bool) -> None:
        """Ask the last question again, in a branch unless it failed; the key looks for what is written in the prompt."""
        from tui_host.chat.opening import last_asked
        from tui_host.chat.session import oldest_turns

        focused, main, session = self.focused, self.to_main(), self.session
        if by_key and focused is main.prompt and main.prompt.text.strip():
            main.prompt.find_earlier()
            return
        note = session.end_note
        if session.parent is not None and session.turn == session.parent.parent_turn:
            note = None  # it is about a turn of the parent
        if session.busy:
            self.notify("A turn is running; escape stops it.", markup=False, timeout=4)
        elif note is not None and note.is_full and oldest_turns(session):
            self.action_open_screen("sessions_screen.turns_screen")
        elif note is not None and note.again:
            self.host.again(session)
        elif (turn := last_asked(session.conversation)) == 0:
            self.notify("Nothing was asked yet, so there is nothing to ask again.", markup=False, timeout=4)
        elif main.prompt.text:
            words = f"What is written stays: in an empty prompt, {key_of('again')} asks the last question again."
            self.notify(words, markup=False, timeout=4)
        else:
            main.submissions.start("again", turn)

    def action_reload(self) -> None:
        try:
            self.notify(line(f"Servers: {self.host.reload_servers()}", 300), markup=False)
        except TuiHostError as error:
            self.notify(line(f"Nothing was reloaded: {error}", 300), severity="error", markup=False)

    def action_stop(self) -> None:
        self.host.turns.stop(self.session)

    async def action_on_main(self, action: str, pane: str = "", *, shows: bool = False) -> None:
        """Close whatever covers the main screen, and do what a key does on it, or in a pane of it, which `shows` first."""
        main = self.to_main()
        for node in main.query(pane) if pane else (main,):
            if shows and not node.region:
                main.action_arrange()
            await self.run_action(action, node)

    def action_copy(self) -> None:
        """Copy the text that the focused view, or its nearest ancestor, has to copy; else what the chat has."""
        what = text = ""
        nodes = () if self.focused is None else (*self.focused.ancestors_with_self, *self.screen.query("Transcript"))
        for node in nodes:
            source: Callable[[], tuple[str, str]] | None = getattr(node, "current_source", None)
            if source is not None and not text:
                what, text = source()
        clipboard.send(self, what, text)

    def on_transcript_asked(self, event: Transcript.Asked) -> None:
        from tui_host.chat.conversation import AnswerItem, CallItem
        from tui_host.tui.screens.contents_screen import open_contents
        from tui_host.tui.screens.values_screen import show_values

        main = self.to_main()
        if isinstance(event.item, CallItem):
            open_contents(main, event.item)
        elif isinstance(event.item, AnswerItem) and main.source is not None:
            main.run_worker(show_values(main, main.source, event.item))

    def on_line_view_copy_asked(self, event: LineView.CopyAsked) -> None:
        clipboard.send(self, event.what, event.text)
