"""A corpus of tapped turns: hosts that differ in dialect, names, order and patience, whose truth is known."""

from __future__ import annotations

import random
from collections.abc import Generator, Sequence

from tests.chat.infer.forms import FORMS, Answer, Call, Entry, Form, Results, User
from tests.chat.infer.world import MS, Asked, Frame, ModelTap, ServerTap, World
from tui_host.errors import JSON

NAMINGS = (
    "{server}__{tool}",
    "mcp__{server}__{tool}",
    "{server}.{tool}",
    "{server}-{tool}",
    "mcp_{server}_{tool}",
    "{tool}",
)
TOOLS = {
    "math": ("add", "multiply"),
    "time": ("now", "convert"),
    "clock": ("now",),
    "jobs": ("status", "get_status", "start"),
}
Wanted = tuple[str, str, dict[str, JSON]]


class Host:
    """One host with its taps, in one world.

    Args:
        chance: What decides.
        form: How it speaks.
        off: By how much the clocks of its servers' taps are wrong, in ms.
    """

    def __init__(self, chance: random.Random, form: Form, *, off: int = 0) -> None:
        self.chance = chance
        self.form = form
        self.world = World()
        self.model: ModelTap = self.world.model(boot=chance.randrange(1 << 40))
        self.off = off
        plain = form in {FORMS["cline"], FORMS["cherry"], FORMS["older cherry"]}
        self.naming = NAMINGS[0] if plain else chance.choice(NAMINGS)
        self.servers: dict[str, ServerTap] = {name: self._server(name) for name in TOOLS}
        self.counter = 0
        self._meant: dict[str, tuple[str, str]] = {}
        self.is_parallel = form.several and chance.random() < 0.5

    def _server(self, name: str) -> ServerTap:
        tap = self.world.server(name, boot=self.chance.randrange(1 << 40), off=self.off * MS)
        tap.start(TOOLS[name])
        return tap

    def wait(self, low: int, high: int) -> int:
        """Some milliseconds."""
        return self.chance.randint(low, high) * MS

    # One conversation.

    def talk(self, turns: int) -> Generator[int]:
        """A conversation of several turns."""
        entries: list[Entry] = []
        self.counter += 1
        number = self.counter
        yield self.wait(0, 300)
        for turn in range(turns):
            entries.append(User(f"conversation {number}, turn {turn}: what is it?"))
            told: list[Asked] = []
            for _ in range(self.chance.randint(1, 4)):
                calls = self._calls()
                answer = Answer(self.chance.choice(["", "Let me see."]), calls)
                told = yield from self._step(entries, answer, told)
                entries.append(answer)
                texts = yield from self._run(told, calls)
                results = list(zip(calls, texts, strict=True))
                if self.chance.random() < 0.1 and self.form in {FORMS["openai"], FORMS["anthropic"]}:
                    results.reverse()  # told as they came; ids tell which is which
                entries.append(Results(results))
            answer = Answer(f"It is {self.chance.randrange(1000)}.")
            yield from self._step(entries, answer, told)
            entries.append(answer)
            yield self.wait(100, 3000)

    def _calls(self) -> list[Call]:
        count = self.chance.choice([1, 1, 1, 2, 3]) if self.form.several else 1
        wanted = [self._wanted() for _ in range(count)]
        if count > 1 and self.chance.random() < 0.3:
            wanted = [wanted[0]] * count
        return [self._call(*each) for each in wanted]

    def _wanted(self) -> Wanted:
        chance = self.chance
        server, tool = chance.choice([(server, tool) for server, tools in TOOLS.items() for tool in tools])
        match tool:
            case "add" | "multiply":
                return server, tool, {"a": chance.randrange(40), "b": chance.choice([1, 2.0, 3.5])}
            case "convert":
                return (
                    server,
                    tool,
                    {"to": chance.choice(["Asia/東京", 'a "b"\n<c>']), "at": {"h": chance.randrange(24)}},
                )
            case "status" | "get_status" | "start":
                return server, tool, {"id": chance.randrange(60)}
            case _:
                return server, tool, {}

    def _call(self, server: str, tool: str, arguments: dict[str, JSON]) -> Call:
        self.counter += 1
        name = self.naming.format(server=server, tool=tool)
        call = Call(f"call_{self.counter}_{self.chance.randrange(1 << 30):x}", name, arguments)
        self._meant[call.id] = server, tool
        return call

    def _step(
        self, entries: Sequence[Entry], answer: Answer, told: Sequence[Asked]
    ) -> Generator[int, None, list[Asked]]:
        """An exchange, sent again while it fails; gives the calls that the host acts on."""
        chance = self.chance
        if chance.random() < 0.04:
            self.model = self.world.model(boot=chance.randrange(1 << 40))  # the tap was started again
        model = self.model
        while True:
            exchange = model.ask(self.form, entries)
            for call in told:
                self.world.told(call, model.id, exchange)
            yield self.wait(5, 400)
            failing = chance.random()
            if failing < 0.06:
                model.refuse(exchange)
                yield self.wait(50, 900)
                continue
            if failing < 0.1:
                yield from model.answer(self.form, exchange, answer, cut=True)
                yield self.wait(50, 900)
                continue
            yield from model.answer(self.form, exchange, answer)
            return [(model.id, exchange, number) for number in range(len(answer.calls))]

    # Its calls.

    def _run(self, asked: Sequence[Asked], calls: Sequence[Call]) -> Generator[int, None, list[str]]:
        """Run them in order, or all at once; gives what the model is told of each."""
        yield self.wait(1, 2000 if self.chance.random() < 0.3 else 20)
        texts: dict[int, str] = {}
        running: list[tuple[int, ServerTap, int, str]] = []
        for place, (key, call) in enumerate(zip(asked, calls, strict=True)):
            if self.chance.random() < 0.08:
                texts[place] = "The user denied this operation."
                continue
            server, tool = self._meant[call.id]
            text = self._result(server, tool, call)
            tap = self.servers[server]
            identity, seq = tap.call(tool, call.arguments)
            self.world.carried(key, (tap.id, seq))
            if self.chance.random() < 0.03:  # the server dies before it answers, and is asked again
                yield self.wait(10, 500)
                tap = self.servers[server] = self._server(server)
                identity, seq = tap.call(tool, call.arguments)
                self.world.carried(key, (tap.id, seq))
            if self.is_parallel:
                running.append((place, tap, identity, text))
                continue
            yield self.wait(1, 60)
            tap.result(identity, text)
            texts[place] = text
            yield self.wait(1, 20)
        self.chance.shuffle(running)
        for place, tap, identity, text in running:
            yield self.wait(1, 60)
            tap.result(identity, text)
            texts[place] = text
        yield self.wait(2, 30)
        return [texts[place] for place in range(len(calls))]

    def _result(self, server: str, tool: str, call: Call) -> str:
        match tool:
            case "add" | "multiply":
                a, b = float(str(call.arguments["a"])), float(str(call.arguments["b"]))
                return f"{a + b if tool == 'add' else a * b:g}"
            case "now":
                self.counter += 1
                return f"{server} says 2026-11-22T10:{self.counter // 60:02}:{self.counter % 60:02}.{self.chance.randrange(1000):03}"
            case "convert":
                return 'it is "noon" in <c>\n\tthere, 12 o’clock'
            case _:
                return self.chance.choice(["pending", "done"])


def play(seed: int, name: str) -> World:
    """A host of a form, with one or several conversations at once, and clocks that may be wrong."""
    chance = random.Random(f"{seed} {name}")  # noqa: S311 - the same each time
    host = Host(chance, FORMS[name], off=chance.choice([0, 0, 0, 5, 400, -700, 3_600_000]))
    host.world.run(*(host.talk(chance.randint(2, 6)) for _ in range(chance.choice([1, 1, 2, 3]))))
    return host.world


def frames_of(world: World) -> set[Frame]:
    """The frames that carry calls."""
    return {(str(where[0]), int(str(where[1]))) for kind, _, where in world.truth if kind == "sent"}
