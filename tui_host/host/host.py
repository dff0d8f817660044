"""The host: opens the store, runs servers and turns, and ends them in order."""

from __future__ import annotations

import asyncio
import importlib
import os
import time
from contextlib import AsyncExitStack, suppress
from dataclasses import replace
from functools import cached_property, partial
from types import MappingProxyType
from typing import TYPE_CHECKING, Literal, NamedTuple

from tui_host.answers.masks import Mask
from tui_host.errors import JSON, ModelError, TuiHostError
from tui_host.host.open_sessions import OpenSessions
from tui_host.host.running_turns import Turns
from tui_host.settings.paths import DATABASE
from tui_host.settings.schema import Template

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping, Sequence
    from pathlib import Path

    from anyio.abc import TaskGroup

    from tui_host.capture.recorder import Recorder
    from tui_host.capture.redact.redaction import Redactor
    from tui_host.capture.session_summary import Source
    from tui_host.capture.store.store import Store
    from tui_host.chat.attachments import Attached
    from tui_host.chat.opening import Opening
    from tui_host.chat.policy import Approver
    from tui_host.chat.session import Session
    from tui_host.chat.step import Services
    from tui_host.guard.guard_client import Guard
    from tui_host.host.demo_model import DemoModelProcess
    from tui_host.host.helper_process import SchemaChecker
    from tui_host.host.keyring_status import KeyringKeys
    from tui_host.host.watched_resources import Watches
    from tui_host.llm.model_client import ModelClient
    from tui_host.servers.catalog import Tool
    from tui_host.servers.login_store import LoginStore
    from tui_host.servers.pool import Pool
    from tui_host.servers.server_questions import Answerer
    from tui_host.settings.schema import ModelRef, Provider, Rule, Settings

# Imported in a thread after the first frame: importing any of these takes longer than a key press may wait.
LATE = (
    "anyio",
    "anyio._backends._asyncio",  # anyio would import this on the event loop at its first use
    "tui_host.llm.model_client",
    "tui_host.servers.pool",
    "tui_host.chat.turn",
    "tui_host.capture.recorder",
)


class Reported(NamedTuple):
    """A provider's models, in its order, or why it returned no list."""

    provider: str
    models: Mapping[str, int | None] = MappingProxyType({})  # with the sizes of their contexts, if it says them
    error: TuiHostError | None = None


class Host:
    """Owns the store, the servers and the turns. Create a host, run `serve` in a task, await `ready`, and end with `stop`.

    Records to the configured database, or to the database passed in. `recorder`, `store`, `pool` and `watches` are None until
    `ready`, the store always if nothing is recorded.

    Attributes:
        mask: Hides the secrets that the host knows.
        approver: Asks the user; set by the app or the command. Without an approver, every question is refused.
        answerer: Asks the user what servers want to know; set like `approver`. Without one, every question is declined.
        logins: Keeps logins at servers; None for the keyring or the data folder.
        watches: The resources whose changes the chat tells.
        client: The HTTP client for providers, from `ready` on.
        misfits: Checks a value against a foreign schema, from `ready` on; gives None if the schema is unusable or takes too long.
        fault: Why the host failed to open, None if it did not.
        notices: Messages for the user, one sentence per message.
        sessions: The open sessions.
        turns: The running turns, and how the last ones ended.
        reported: Model lists by provider name, for providers that have answered.
    """

    client: ModelClient
    misfits: Callable[[JSON, JSON], Awaitable[Sequence[str] | None]]
    _checker: SchemaChecker
    _demo: DemoModelProcess
    _group: TaskGroup

    def __init__(
        self,
        settings: Settings,
        *,
        source: Source = "chat",
        record: bool = True,
        allow_all: bool = False,
        guard: Guard | None = None,
        database: Path | None = None,
    ) -> None:
        self.settings = settings
        self.mask = Mask(lambda: self.redactor)
        self.approver: Approver | None = None
        self.answerer: Answerer | None = None
        self.logins: LoginStore | None = None
        self.recorder: Recorder | None = None
        self.store: Store | None = None
        self.pool: Pool | None = None
        self.watches: Watches | None = None
        self.fault: TuiHostError | None = None
        self.notices: list[str] = list(settings.notices)
        self.sessions = OpenSessions(settings, source=source, allow_all=allow_all, redact=self._redacted)
        self.turns = Turns(self._defect, sends_queue=source == "chat")
        self.reported: dict[str, Reported] = {}
        self._source: Source = source
        self._record = record
        self._database = database or settings.data_dir / DATABASE
        self.guard = guard
        self._ready = asyncio.Event()
        self._stop = asyncio.Event()
        self._closing = AsyncExitStack()  # closes in reverse order, and closes the rest even if one fails

    async def serve(self) -> None:
        """Open the store and the servers, run until `stop`, then end everything. Never raises; see `fault`."""
        try:
            await self._safely(self._live)
        finally:
            import anyio

            self._ready.set()
            if self.store is not None:
                for session in self.sessions:
                    self.store.sessions.release(session)
            with anyio.CancelScope(shield=True):  # pending records are written even if a failure has cancelled the host
                await self._safely(self._closing.aclose)

    async def _safely(self, work: Callable[[], Awaitable[None]]) -> None:
        """Do a part of the work; its first failure becomes the host's fault."""
        try:
            await work()
        except TuiHostError as error:
            self.fault = self.fault or error
        except Exception as error:  # noqa: BLE001 - the supervisor of everything: an unforeseen failure becomes its state
            self.fault = self.fault or self.mistake(error)

    async def _live(self) -> None:
        from tui_host.llm.httpx_import import import_httpx

        for module in LATE:
            # stopped while opening, without anything to store
            if self._stop.is_set() and not any(session.turn or session.draft for session in self.sessions.values()):
                return
            await asyncio.to_thread(import_httpx)  # before any module here does; has an effect only the first time
            await asyncio.to_thread(importlib.import_module, module)
        services = await self._open()
        import anyio

        from tui_host.host.server_watch import ServerWatch
        from tui_host.host.session_storage import finish_left
        from tui_host.host.store_cleanup import tend_store
        from tui_host.host.watched_resources import Watches

        assert self.pool is not None  # noqa: S101 - opened just before
        async with anyio.create_task_group() as group:
            self._group = group
            group.start_soon(self.pool.run)
            if self._source == "chat":
                json_text = self.redactor.json_text
                watch = ServerWatch(self.pool, lambda: self.settings, json_text, self.notices, self._record)
                group.start_soon(watch.run)
            self.watches = Watches(self.pool)
            group.start_soon(self.watches.run)
            if self.store is not None:
                policy, redact = self.sessions.policy(), self.redactor.text
                finish = partial(finish_left, self.store, policy, redact, opened=self.sessions)
                group.start_soon(tend_store, self.store, finish, self.settings.store, self._stop, self.notices)
            self._ready.set()
            self.turns.open(group, lambda: replace(services, approver=self.approver or services.approver))
            await self._stop.wait()
            await self.turns.end()
            await self._checker.close()  # while it is there, the guard would wait two seconds for it
            with suppress(TimeoutError):  # after that, the end of the task group stops the servers
                await self.pool.stop_all()
            group.cancel_scope.cancel()

    async def ready(self) -> None:
        """Wait until the host is open and turns can run. Raises TuiHostError if it failed to open."""
        await self._ready.wait()
        if self.fault is not None:
            raise self.fault

    def stop(self) -> None:
        """Make `serve` return."""
        self._stop.set()

    async def _open(self) -> Services:
        from tui_host.capture.recorder import Recorder
        from tui_host.capture.session_summary import session_id
        from tui_host.capture.store.store import Store
        from tui_host.chat.policy import Refuse
        from tui_host.chat.sampling import ModelSampler
        from tui_host.chat.session import note_turning
        from tui_host.chat.step import Services
        from tui_host.host.demo_model import DemoModelProcess
        from tui_host.host.helper_process import SchemaChecker
        from tui_host.llm.model_client import ModelClient
        from tui_host.servers.login_store import LoginStore
        from tui_host.servers.pool import Pool
        from tui_host.servers.server_questions import Answering, Declines

        def model_of(session: str | None) -> ModelRef:
            asking = self.sessions.get(session or "")
            return self.sessions.model if asking is None else asking.model

        settings, later = self.settings, self._closing.push_async_callback
        if self._record:
            self.store = await asyncio.to_thread(Store.open, self._database, notices=self.notices)
            later(asyncio.to_thread, self.store.close)
        capture = session_id(time.time_ns(), os.urandom(8))
        kind: Literal["app", "ask"] = "ask" if self._source == "ask" else "app"
        self.recorder = Recorder(self.store, self.redactor, capture=capture, kind=kind)
        later(asyncio.to_thread, self.recorder.close)
        self.pool = Pool(
            settings.servers,
            self.recorder,
            settings.environment,
            guard=self.guard,
            answering=Answering(
                answerer=lambda: self.answerer or Declines(),
                sampler=ModelSampler(lambda: self.client, self.provider, model_of, settings.providers),
                misfits=lambda schema, value: self.misfits(schema, value),  # noqa: PLW0108 - it comes later
                logins=self.logins or LoginStore(settings.data_dir),
            ),
            for_command=self._source == "ask",
            turned=partial(note_turning, self.sessions.values(), settings),
        )
        self.pool.take(settings.servers, settings.switches)
        self._checker = SchemaChecker("tui_host.chat.schema_check", settings.environment, self.pool.guard)
        self.misfits = self._checker.misfits
        later(self._checker.close)
        self.client = ModelClient(self.recorder, settings.environment)
        later(self.client.aclose)
        self._demo = DemoModelProcess(self.recorder, settings.environment)
        if self.store is not None:
            self.sessions.keep_in(self.store)
        return Services(
            settings=settings,
            recorder=self.recorder,
            pool=self.pool,
            client=self.client,
            provider=self.provider,
            approver=Refuse(),
            misfits=self.misfits,
            clock=time.monotonic,
        )

    async def provider(self, model: ModelRef) -> Provider:
        """Return a model's provider. Starts the demo's process on first use; each of the demo's models is a dialect."""
        provider = self.settings.providers.get(model.provider)
        if provider is None:
            remedy = "choose a model with /model or --model, or configure the provider"
            raise ModelError(f"no provider {model.provider}", remedy=remedy)
        if not provider.embedded:
            return await self.with_key(provider)
        for session in () if self._demo.urls else self.turns:
            if session.model.provider == model.provider and session.activity.waits == "model":
                session.wait_for("demo model")
        url = await self._demo.url(self._group, model.model)
        return replace(provider, dialect=model.model, base_url=Template(text=url, literal=True))

    def window(self, session: Session) -> int | None:
        """Return the tokens that the context of a session's model holds: as configured, as the last request or its provider says."""
        model, provider = session.model, self.settings.providers.get(session.model.provider)
        listed = self.reported.get(model.provider)
        return (
            (None if provider is None else provider.context.get(model.model))
            or session.spent.window
            or (None if listed is None else listed.models.get(model.model))
            or self.settings.context.get(str(model))
        )

    def reload_servers(self) -> str:
        """Read the configuration again and apply its servers; returns what changed. Blocks. Raises SettingsError, with nothing applied."""
        from tui_host.host.server_watch import reload_servers

        if self.pool is None:
            return "nothing changed"
        self.settings, words = reload_servers(self.settings, self.pool, self.redactor)
        self.sessions.rules[:] = self.settings.rules
        return words

    def unkept(self, session: Session, tool: Tool) -> str:
        """Say why no rule for a tool can be kept for good; empty if one can."""
        spec = self.settings.servers.get(tool.server)
        if spec is None or not (spec.file or spec.bundled):
            return "its server is in no configuration file"
        if "*" in tool.name or not tool.name.isprintable():
            return "a rule cannot hold its name"
        asking = session.policy.asking(tool)
        if asking is None:
            return ""
        return f"the rule ask {asking.server}.{asking.tool} in {asking.place} beats one that allows"

    async def change_rule(self, rule: Rule, *, is_kept: bool) -> None:
        """Keep a rule for good, in rules.toml, or take it out; sessions go by it at once. Raises SettingsError, with nothing changed."""
        from tui_host.settings.rules import change_rule

        rules = self.sessions.rules
        rules[:] = await asyncio.to_thread(partial(change_rule, self.settings.config_dir, rules, rule, is_kept=is_kept))
        self.settings = replace(self.settings, rules=tuple(rules))

    @cached_property
    def keys(self) -> KeyringKeys:
        """Keys from the system's keyring."""
        from tui_host.host.keyring_status import KeyringKeys

        return KeyringKeys(self.settings.environment, lambda: self.redactor, self.notices)

    async def with_key(self, provider: Provider) -> Provider:
        """Return a provider with its key from the keyring. Raises TuiHostError as `ready` and `KeyringKeys.filled` do."""
        await self.ready()  # the redactor exists only once the host is ready
        return await self.keys.filled(provider)

    def send(
        self,
        session: Session,
        text: str,
        attached: Sequence[Attached] = (),
        *,
        filled: Opening | None = None,
        joins_step: bool = False,
    ) -> None:
        """Begin a turn, as `Session.begin_turn` says.

        While a turn is running, a text waits until that turn has ended, or joins its next step. A server's prompt is refused.
        """
        from tui_host.chat.queued_messages import Queued

        if not session.busy:
            session.is_direct = False
            session.begin_turn(text, attached, filled=filled)
            self.turns.begin(session)
        elif filled is None:
            session.queued.append(Queued(text=text, attached=tuple(attached), joins_step=joins_step))
            session.save()

    def again(self, session: Session) -> None:
        """Send the last turn's request again after a failure."""
        if not session.busy and session.messages:
            session.keep()
            self.turns.begin(session)

    def leave(self, session: Session) -> None:
        """Free a session that no screen shows any more, unless a turn is running in it."""
        if self.sessions.leave(session):
            self.turns.results.pop(session.id, None)
            if self.recorder is not None:
                self.recorder.make_room(0)

    def mistake(self, error: BaseException) -> TuiHostError:
        """Describe an unexpected error; details go to a crash log, unless nothing is recorded."""
        from tui_host.host.crash_log import write_crash

        return write_crash(error, self.settings.data_dir if self._record else None, self._redacted)

    def _defect(self, error: Exception) -> TuiHostError:
        """Describe an unexpected error that ends a single turn."""
        from tui_host.host.crash_log import innermost, place_in

        remedy = "report it, and try again"
        if self._record:
            remedy = f"{self.mistake(error).remedy}; {remedy}"
        fault = innermost(error)
        return TuiHostError(f"a bug in tui-host ended this turn ({type(fault).__name__})", place_in(fault), remedy)

    def _redacted(self, text: str) -> str:
        return self.redactor.text(text)  # by the recorder's redactor, once there is one

    @property
    def redactor(self) -> Redactor:
        """The recorder's redactor; until the recorder exists, a redactor with the same secrets."""
        from tui_host.capture.redact.redaction import redactor_of

        return redactor_of(self.settings) if self.recorder is None else self.recorder.redactor
