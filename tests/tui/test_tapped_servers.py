"""What frames tell of another host's servers: who they are, what they list, what passed, how they are."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from typing_extensions import override

from tests.infer.world import ServerTap, World
from tests.kit.app import PATIENT, running
from tui_host.answers.masks import Mask
from tui_host.capture.ladder.ladder import Ladder
from tui_host.capture.ladder.row import Row
from tui_host.capture.record import Draft, Record
from tui_host.errors import JSON
from tui_host.tui.screens.servers_detail import Parts, flow_of, state_of, tapped_entries, tapped_notes
from tui_host.tui.screens.servers_screen import ServersScreen
from tui_host.tui.sources.live import SessionSource
from tui_host.tui.sources.tapped_servers import TappedServers


class Recorded(SessionSource):
    """A story whose taps are made by hand, without a host."""

    origin = "tapped from Cline"

    def __init__(self) -> None:
        self.world = World()
        self.ladder = Ladder("story")
        self.running = {"c"}
        self.servers = TappedServers(self)
        self._records: dict[tuple[str, int], Record] = {}

    @override
    def look(self) -> None:
        """Fold what is new, and look."""
        new = [record for _, record in self.world.records if record.key not in self._records]
        self._records.update((record.key, record) for record in new)
        self.ladder.feed(new)
        self.servers.look()
        while self.servers.is_behind:
            self.servers.look()

    @override
    def runs(self, capture: str) -> bool:
        return capture in self.running

    @override
    def record(self, key: tuple[str, int]) -> Record | None:
        return self._records.get(key)

    @override
    def body(self, row: Row) -> bytes:
        return self._records[row.capture, row.seq].draft.data

    @override
    def tail(self, row: Row, most: int) -> Sequence[Record]:
        return [self._records[row.capture, seq] for seq in range(row.seq, row.last_seq + 1)][-most:]


def labels(story: Recorded, number: int = 0) -> list[str]:
    """What stands on the screen of a server, but for what is closed."""
    server, mask = story.servers.servers[number], Mask()
    entries = tapped_entries(server, flow_of(server, story.servers), Parts(mask), mask)
    return [" ".join(entry.label.split()) for entry in entries]


def test_frames_tell_who_a_server_and_its_host_are_and_all_pages_of_what_it_lists() -> None:
    story = Recorded()
    tap = ServerTap(story.world, "c", "math")
    tap.start(["add", "sub", "mul"], client="Cline")
    number, _ = tap.ask("resources/list", {})
    tap.answer(number, {"resources": [{"uri": "m://pi", "name": "pi"}]})
    for line in ("up", "ready"):
        tap.keep(
            Draft(wire="stderr", kind="line", peer="math", connection="c1", direction="in", data=f"{line}\n".encode())
        )
    story.look()
    (server,) = story.servers.servers
    assert [tool.name for tool in server.status.tools] == ["add", "sub", "mul"]
    assert (server.status.frames_out, server.status.frames_in) == (4, 4)
    assert server.status.stderr == ("up", "ready")
    assert labels(story) == [
        "host Cline", "capabilities none", "tools (3)", "resources (1)", "frames 4 out, 4 in", "stderr last 2 lines",
    ]  # fmt: skip
    assert tapped_notes(server, story.origin, Mask()) == ["live, tapped from Cline: read only"]
    story.running.clear()
    story.look()
    assert state_of(story.servers.servers[0]) == "ended"


def test_a_server_that_is_listed_anew_has_what_it_lists_now() -> None:
    story = Recorded()
    tap = ServerTap(story.world, "c", "math")
    tap.start(["add", "sub"])
    story.look()
    tap.start(["mul"])
    for _ in range(120):  # more than are told one by one
        tap.result(tap.call("mul", {"a": 1})[0], "1")
    story.look()
    (server,) = story.servers.servers
    assert [tool.name for tool in server.status.tools] == ["mul"]
    assert (server.status.frames_out, server.status.frames_in) == (124, 124)
    assert len(flow_of(server, story.servers).last) == 100


def test_a_server_that_refused_its_host_says_why_and_what_it_was_not_asked_for_is_told() -> None:
    story = Recorded()
    good, bad = ServerTap(story.world, "c", "good"), ServerTap(story.world, "b", "bad")
    good.frame("out", {"id": 2, "method": "initialize", "params": {"capabilities": {"roots": {}}}})
    offered: dict[str, JSON] = {"prompts": {}, "tools": {}}
    info: dict[str, JSON] = {"name": "Good", "version": "2"}
    good.frame(
        "in", {"id": 2, "result": {"protocolVersion": "2025-11-25", "capabilities": offered, "serverInfo": info}}
    )
    bad.frame("out", {"id": 3, "method": "initialize", "params": {}})
    bad.frame("in", {"id": 3, "error": {"code": -32602, "message": "too old"}})
    story.look()
    found = labels(story)
    assert {"host offers roots", "calls itself Good 2"} < {*found}
    assert "protocol 2025-11-25 (stateful), stdio" in found
    assert "not requested tools, prompts" in found
    assert tapped_notes(story.servers.servers[1], story.origin, Mask()) == [
        "failed: too old, tapped from Cline: read only"
    ]


async def test_the_first_of_the_servers_that_are_told_late_is_chosen_until_a_person_has_chosen(tmp_path: Path) -> None:
    story = Recorded()
    own = f'{PATIENT}[servers.own]\nbundled = "math"\nenabled = false\n'
    async with running(tmp_path, config=own) as app:
        app.app.push_screen(ServersScreen(app.host, app.session, story.servers))
        await app.until_shown("none recorded", "> ○ own")
        ServerTap(story.world, "c", "math").start(["add"])
        story.look()
        await app.until_shown("> ● math", "tools (1)")
        await app.press("down")
        await app.until_shown("> ○ own", "bundled math")
        ServerTap(story.world, "d", "time").start(["now"])
        story.look()
        await app.until_shown("2 tapped from Cline", "> ○ own")
