"""The sessions open in this process: new sessions, reopened sessions, and recordings of other hosts."""

from __future__ import annotations

import os
import time
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING

from tui_host.errors import StoreError, TuiHostError
from tui_host.settings.schema import ModelRef

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tui_host.capture.session_summary import SessionInfo, Source
    from tui_host.capture.store.store import Store
    from tui_host.chat.policy import Policy
    from tui_host.chat.session import Session
    from tui_host.settings.schema import Settings

DEFAULT_MODEL = ModelRef(provider="demo", model="openai")


class OpenSessions(dict[str, "Session"]):
    """The sessions open in this process by id, in the order of opening.

    Attributes:
        model: Model of new sessions: the configured model, or the model chosen last.
        protocol: Tool protocol of new sessions.
        profile: Profile name of new sessions, empty for no profile.
        rules: The rules of the configuration, of all sessions: changed in place.
    """

    def __init__(self, settings: Settings, *, source: Source, allow_all: bool, redact: Callable[[str], str]) -> None:
        super().__init__()
        self.model = settings.model or DEFAULT_MODEL
        self.protocol = settings.protocol
        self.profile = settings.profile
        self.rules = list(settings.rules)
        self._settings = settings
        self._source: Source = source
        self._allow_all = allow_all
        self._redact = redact
        self._store: Store | None = None
        self._policies: dict[str, Policy] = {}  # also of sessions that were left, for reopening

    def keep_in(self, store: Store) -> None:
        """Store the sessions from now on, including everything that happened before."""
        from tui_host.host.session_storage import StoreKeeper

        self._store = store
        for session in self.values():
            session.keep_in(StoreKeeper(store))

    def policy(self) -> Policy:
        """Return the rules for a session."""
        from tui_host.chat.policy import Policy

        return Policy(self.rules, flags=self._settings.allow, allow_all=self._allow_all)

    def new(self, *, model: ModelRef | None = None) -> Session:
        """Create an empty session. The session is stored when its first turn begins."""
        from tui_host.capture.session_summary import session_id
        from tui_host.chat.session import Session

        session = Session(
            id=session_id(time.time_ns(), os.urandom(8)),
            source=self._source,
            created_ns=time.time_ns(),
            model=model or self.model,
            protocol=self.protocol,
            profile=self.profile,
            policy=self.policy(),
            redact=self._redact,
        )
        return self._added(session)

    def _added(self, session: Session) -> Session:
        from tui_host.host.session_storage import StoreKeeper

        self[session.id] = session
        if self._store is not None:
            session.keep_in(StoreKeeper(self._store))
        return session

    def branch(self, session: Session, turn: int) -> Session:
        """Create a session that shares the turns of another up to `turn`, 0 for none. Stored when something is asked in it.

        Raises TuiHostError while the last turn to share is running.
        """
        from tui_host.capture.session_summary import Parent, SharedPart, session_id
        from tui_host.chat.conversation import CallItem, Conversation, NoteItem
        from tui_host.chat.session import Session

        if session.is_foreign:
            raise TuiHostError("another program's session has no branches", session.id, "/new begins a session")
        if session.busy and turn >= session.turn:
            raise TuiHostError(
                "this turn still runs", f"turn {session.turn}", "stop it with escape, or wait for its end"
            )
        messages, items, policy = session.messages.up_to(turn), session.conversation.up_to(turn), session.policy
        name, title, older = session.id, session.title, () if session.parent is None else session.parent.shared
        earlier = [of_older for of_older in older if of_older.turn < turn]
        if session.parent is not None and turn <= session.parent.parent_turn:  # it is an older session's own turn
            name, title = older[len(earlier)].session, session.parent.parent_title
        shared = *earlier, SharedPart(name, turn, messages.count, len(items))
        parent = Parent(parent=name, parent_title=title, parent_turn=turn, shared=shared)
        later = (session.conversation[number] for number in range(len(items), len(session.conversation)))
        has_run = any(isinstance(item, CallItem) and item.state in {"running", "done", "failed"} for item in later)
        what = parent.words(at="behind") + ("; tool calls that ran there are not undone" if has_run else "")
        branch = Session(
            id=session_id(time.time_ns(), os.urandom(8)),
            source=self._source,
            created_ns=time.time_ns(),
            model=session.model,
            protocol=session.protocol,
            profile=session.profile,
            options=session.options,
            policy=replace(policy, grants=[*policy.grants], approved=dict(policy.approved)),
            redact=self._redact,
            parent=parent,
            is_kept=False,
            title=session.title if turn else "",
            turn=turn,
            messages=messages,
            # left out once too much had been said; but a branch before that would have nothing left
            omitted_turns=session.omitted_turns if session.omitted_turns < turn else 0,
            refused_images={name: min(last, turn) for name, last in session.refused_images.items()},
            conversation=Conversation([*items, NoteItem(turn=turn, kind="note", what=what)]),
        )
        return self._added(branch)

    def family(self, session: Session) -> Sequence[str]:
        """Return the ids of a session and of all that go back to the same one, by their creation. Reads the disk; raises StoreError."""
        stored = () if self._store is None else self._store.sessions.list()
        created_ns, eldest = dict[str, int](), dict[str, str]()
        for member in (*stored, *self.values()):
            created_ns[member.id] = member.created_ns
            eldest[member.id] = member.id if member.parent is None else member.parent.shared[0].session
        first = eldest.get(session.id)  # none for a story, which is no branch
        return sorted((name for name in eldest if eldest[name] == first), key=created_ns.__getitem__)

    def open(self, name: str) -> Session:
        """Reopen a stored session, by its id, a unique prefix, or `last`; raises TuiHostError if not exactly one matches. Blocks."""
        from tui_host.host.session_storage import stored_session

        if name in self:
            return self[name]  # a new session may not be on the disk yet
        if self._store is None:
            raise StoreError("nothing is stored here", remedy="start without --no-record")
        with suppress(StoreError):  # on a full disk, the sessions already stored can still be read
            self._store.run(lambda _: None)  # wait for pending writes of a session that was left a moment ago
        info = self._store.sessions.find(name)
        if info.is_foreign:
            where = "imported from a file" if info.imported else "recorded by a tap"
            what = f"this session cannot be continued: it was {where}"
            raise TuiHostError(what, info.id, "/sessions in the app opens it")
        if info.id not in self:
            policy = self._policies.pop(info.id, None) or self.policy()
            self[info.id] = stored_session(self._store, info, policy, self._redact)
        return self[info.id]

    def leave(self, session: Session) -> bool:
        """Free a session that is stored completely; reopening reads it from the disk. Returns whether it was freed."""
        store = self._store
        if not (session.is_kept or session.draft):  # a branch in which nothing was asked leaves nothing behind
            self.pop(session.id, None)
            return True
        # What is going to be shared stays this process's own, so that no other deletes it.
        parents = (branch.parent for branch in self.values() if branch.parent is not None and not branch.is_kept)
        if not session.is_kept or any(part.session == session.id for parent in parents for part in parent.shared):
            return False
        if store is None or store.fault or session.busy or not session.turn or session.id not in self:
            return False
        del self[session.id]
        self._policies[session.id] = session.policy
        store.sessions.release(session.id)
        return True

    def foreign(self, info: SessionInfo) -> Session:
        """Return what a tap recorded, or a file brought, as a read-only session, which is not stored again."""
        from tui_host.chat.session import Session

        is_tap = info.source == "tap"
        session = Session(
            id=info.id,
            source="tap" if is_tap else "import",
            created_ns=info.created_ns,
            model=ModelRef(provider="tap" if is_tap else "file", model=info.title),
            protocol=info.protocol,
            policy=self.policy(),
            redact=self._redact,
            title=info.title,
            turn=max(info.turns, 1),
        )
        session.asked = info.model
        return session

    def take_profile(self, session: Session, name: str) -> None:
        """Use a profile for a session from the next turn on, with the profile's model and tool protocol.

        An empty name removes the profile and keeps model and tool protocol.
        """
        profile = self._settings.profiles[name] if name else None
        session.profile = name
        if profile is not None:
            session.model = profile.model or session.model
            session.protocol = profile.protocol or session.protocol
        if session.turn:
            session.save()
