"""The rules that decide calls: those of this session and of the files; and why the session's calls were allowed or asked about."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, ClassVar, TypeAlias

from textual.binding import Binding, BindingType
from typing_extensions import override

from tui_host.capture.visible import line, tool_name
from tui_host.chat.conversation import CallItem
from tui_host.chat.policy import CallRequest, Grant, is_about, lasting, written
from tui_host.settings.rules import RULES_FILE
from tui_host.settings.schema import Rule
from tui_host.tui.keys import bound, key_of
from tui_host.tui.screens.page_screen import Browse
from tui_host.tui.widgets.choices import Choice
from tui_host.tui.widgets.inspector.inspector_pane import Inspector
from tui_host.tui.widgets.pages.text_page import TextPage
from tui_host.tui.widgets.transcript.transcript_view import Transcript

if TYPE_CHECKING:
    from tui_host.servers.catalog import Tool
    from tui_host.tui.screens.main_screen import MainScreen

MOST_CALLS, MOST_ITEMS = 100, 2_000  # that are listed, and that are looked at for them
_WORDS = "Deny beats ask beats allow; a call that nothing here decides is asked about. Below: the calls of this session, the last first."
Subject: TypeAlias = "Grant | Rule | CallItem"


class RulesScreen(Browse):
    """The rules of the session, those of the files, and the session's calls; about each, where it comes from and what it does."""

    HEADING = "Rules"
    empty = "No rule and no call yet. In an approval, «this tool» twice gives a rule for the session, or one for good."
    HORIZONTAL_BREAKPOINTS: list[tuple[int, str]] | None = [(0, "-below"), (100, "-beside")]  # noqa: RUF012 - names need room
    BINDINGS: ClassVar[list[BindingType]] = [
        bound("keep_rule", "twice('keep_rule')", "for good", priority=True, tooltip="twice: keep a session's for good"),
        bound("take_back", "twice('take_back')", "take back", display="delete, twice", priority=True, tooltip="end it"),
        Binding("tab", "app.focus_next", tooltip="go to what is said about the line, and back"),
    ]

    def __init__(self, main: MainScreen) -> None:
        super().__init__(words=_WORDS)
        self._main, self._host, self._session = main, main.host, main.submissions.session
        self._subjects: Mapping[str, Subject] = {}  # what the lines are about

    @override
    def on_mount(self) -> None:
        """Go to the call that is selected in the chat, or in the inspector where that has the focus."""
        transcript, inspector = self._main.query_one(Transcript), self._main.query_one(Inspector)
        item, row = transcript.blocks.items.item(transcript.current), inspector.ladder.selected
        wanted = item.call if isinstance(item, CallItem) else ""
        if not wanted and row is not None and inspector.has_focus_within:
            wanted = min(row.calls, default="")
        self.list_again(wanted)

    # What is shown.

    @override
    def look(self) -> None:
        policy, tools = self._session.policy, self._tools()
        self.revision = [*policy.grants], [*policy.rules], self._session.conversation.revision, tools
        super().look()

    def _tools(self) -> tuple[Tool, ...]:
        return () if self._host.pool is None else self._host.pool.tools()

    @override
    def items(self) -> Mapping[str, Choice]:
        policy, tools, listed = self._session.policy, self._tools(), dict[str, Choice]()
        subjects = self._subjects = dict[str, Subject]()
        for grant in policy.grants:
            fits = lasting_of(grant, tools) is not None
            name, right = tool_name(grant.server, grant.tool), "session" if fits else "session, void"
            subjects[f"session {name}"] = grant
            listed[f"session {name}"] = Choice(words=f"allow {name}", right=right, subject=(grant, fits))
        for number, rule in enumerate(policy.rules):
            fitting = [tool for tool in tools if is_about(rule, tool)]
            is_void = bool(fitting) and not any(rule.definition in {"", tool.fingerprint} for tool in fitting)
            right = f"{rule.where.rpartition('/')[2]}{', void' * is_void}"
            name = f"{rule.server}.{rule.tool}" if rule.tool.isascii() else tool_name(rule.server, rule.tool)
            words = f"{rule.action} {name}"
            subjects[f"rule {number}"] = rule
            listed[f"rule {number}"] = Choice(words=words, right=right, subject=(rule, fitting))
        conversation = self._session.conversation
        for number in reversed(range(len(conversation))[-MOST_ITEMS:]):
            item = conversation[number]
            if isinstance(item, CallItem):
                right = {"person": "asked", "rule": "by a rule", "flag": "by a flag"}.get(item.by, item.state)
                name = tool_name(item.server, item.tool, is_decided=True)
                subject = item, tools, policy.grants[:]
                subjects[item.call] = item
                listed[item.call] = Choice(words=name, note=item.asked, right=right, subject=subject)
            if len(listed) >= MOST_CALLS + len(policy.rules) + len(policy.grants):
                break
        return listed

    @override
    def sheet(self, key: str) -> TextPage:
        lines = [*self._about(self._subjects[key])]
        text = "\n".join(f"{head:<9} {line(self._host.mask.marks(words), 2_000)}" for head, words in lines)
        return TextPage("rule", text, form="plain")

    def _about(self, subject: Subject) -> Iterator[tuple[str, str]]:
        """Yield what is said about a line, each with a word before it."""
        tools, policy = self._tools(), self._session.policy
        if isinstance(subject, Grant):
            tool = lasting_of(subject, tools)
            yield "rule", f"allow {tool_name(subject.server, subject.tool)}, as it was defined when you approved it"
            yield "from", "an approval of this session; it ends when tui-host ends"
            if tool is None:
                yield "void", "its server offers no tool that is defined so now: calls are asked about"
            elif unkept := self._host.unkept(self._session, tool):
                yield key_of("keep_rule"), f"cannot keep it for good: {unkept}"
            else:
                yield key_of("keep_rule"), f"keeps it for good, in {RULES_FILE}: {written(lasting(tool))}"
        elif isinstance(subject, Rule):
            fitting = [tool for tool in tools if is_about(subject, tool)]
            counts = [tool for tool in fitting if subject.definition in {"", tool.fingerprint}]
            yield "rule", written(subject)
            yield "from", subject.place
            yield "for", ", ".join(tool_name(tool.server, tool.name) for tool in counts) or "no tool of now"
            if fitting and not counts:
                yield "void", "it is for another definition of the tool: calls are asked about"
        else:
            yield "call", f"{tool_name(subject.server, subject.tool, is_decided=True)} {subject.sent or subject.asked}"
            yield "turn", f"{subject.turn}, step {subject.step}"
            if subject.why:
                yield "asked", f"because {subject.why}"
            yield "decided", subject.words or subject.state
            tool = next((tool for tool in tools if (tool.server, tool.name) == (subject.server, subject.tool)), None)
            if tool is not None:
                again = policy.decide(CallRequest(call="", tool=tool, arguments=b""))
                yield "again", f"asked: {policy.why_asked(tool)}" if again is None else again.words

    # What a person does.

    async def action_twice(self, name: str) -> None:
        """Say what an action does to the current rule, or why nothing; pressed again, do it."""
        if not self.choices.current:
            return
        subject, tool, reason = self._subjects[self.choices.current], None, ""
        if isinstance(subject, CallItem):
            reason = "This line is a call, not a rule."
        elif isinstance(subject, Rule):
            if name == "keep_rule":
                reason = "This rule stands in a file already."
            elif subject.where.rpartition("/")[2] != RULES_FILE:
                reason = f"This rule is yours: change it in {subject.place}; /reload reads it again."
        elif name == "keep_rule":
            tool = lasting_of(subject, self._tools())
            unkept = "its server offers no tool that is defined so now"
            if tool is not None:
                unkept = self._host.unkept(self._session, tool)
            reason = f"No rule for good: {unkept}." if unkept else ""
        what = f"keep {written(lasting(tool))} in {RULES_FILE}" if tool else "take this rule back"
        words = f"{key_of(name)} again: {what}. Any other key changes nothing."
        if reason or isinstance(subject, CallItem):
            self.ask_again()
            self.notify(line(reason, 300), severity="warning", markup=False)
        elif self.is_again(name, self._main.pressed_at, words):
            with self.telling():
                if tool is not None:
                    await self._host.change_rule(lasting(tool), is_kept=True)
                elif isinstance(subject, Rule):
                    await self._host.change_rule(subject, is_kept=False)
                if isinstance(subject, Grant):
                    self._session.policy.grants.remove(subject)
            self.look()


def lasting_of(grant: Grant, tools: tuple[Tool, ...]) -> Tool | None:
    """Return the tool that a permission is for; None if none is defined so."""
    named = (tool for tool in tools if (tool.server, tool.name) == (grant.server, grant.tool))
    return next((tool for tool in named if tool.fingerprint == grant.fingerprint), None)
