"""What is seen of a question before it is decided: all of it, nothing that acts, no secret, on every size."""

from __future__ import annotations

import json
from collections.abc import Sequence

import pytest

from tests.cases import first_values
from tests.tui.asking import HOSTILE, KEY, LONG, SCHEMA, Alone, Asking, armed, decide, question, text, verdict
from tests.tui.waiting import until
from tui_host.capture.visible import hidden
from tui_host.chat.policy import CallRequest
from tui_host.errors import JSON
from tui_host.servers.catalog import Tool
from tui_host.tui.glyphs import ASCII
from tui_host.tui.widgets.approval.approval_words import call_row, description_of, hints_of


@pytest.mark.parametrize("size", first_values([(36, 9), (60, 20), (80, 24), (40, 12)]))
async def test_on_low_screens_arguments_and_keys_stay(size: tuple[int, int]) -> None:
    app = Alone(question(description="words " * 200, arguments={"path": "/"}))
    async with app.run_test(size=size) as pilot:
        await armed(pilot, app)
        assert "math.multiply" in text(app)
        assert '"path"' in text(app) or "more lines" in text(app)
        assert "y once" in text(app)
        assert app.approval.region.height <= size[1]


@pytest.mark.parametrize("size", first_values([(60, 4), (24, 20), (1, 1)]))
async def test_where_the_arguments_cannot_be_seen_nothing_can_be_approved(size: tuple[int, int]) -> None:
    asked = question()
    app = Alone(asked)
    async with app.run_test(size=(100, 24)) as pilot:
        await armed(pilot, app)
        await pilot.resize_terminal(*size)
        chat = app.query_one("#chat")
        await until(pilot, lambda: chat.size.width <= size[0] and chat.size.height <= size[1])  # some frames later
        await decide(pilot, app, "y", "a", "Y", "A", "A")
        assert asked.open
        await decide(pilot, app, "n")
        assert verdict(asked) == "rejected"


async def test_too_small_is_said() -> None:
    app = Alone(question())
    async with app.run_test(size=(26, 14)) as pilot:
        await armed(pilot, app)
        assert "Too small" in text(app)


async def test_every_hidden_character_is_seen_and_nothing_acts() -> None:
    asked = question(HOSTILE, {"command": HOSTILE, HOSTILE: 1}, description=HOSTILE, changed=HOSTILE)
    app = Asking(asked)
    async with app.run_test(size=(120, 40)) as pilot:
        await armed(pilot, app)
        for line in text(app).splitlines():
            assert not hidden(line), line
            assert line[0] in "╭│╰", line
        assert "⟨202e⟩" in text(app)
        assert "hidden characters, written as codes" in text(app)
        await pilot.press("p")
        await pilot.pause()
        assert not hidden(text(app).replace("\n", ""))
        await pilot.press("d")
        await pilot.pause()
        assert not hidden(text(app).replace("\n", ""))
        await pilot.press("d")
        await decide(pilot, app, "y")
        assert asked.decision is not None
        assert json.loads(asked.decision.arguments)["command"] == HOSTILE


async def test_a_name_that_looks_like_another_is_escaped() -> None:
    app = Asking(question("multіply"))
    async with app.run_test(size=(100, 24)) as pilot:
        await armed(pilot, app)
        assert "math.'mult\\u0456ply'" in text(app)


async def test_the_description_can_be_read_whole_and_nothing_is_approved_from_there() -> None:
    asked = question(description="\n".join(f"sentence {number}" for number in range(300)))
    app = Asking(asked)
    async with app.run_test(size=(100, 30)) as pilot:
        await armed(pilot, app)
        await pilot.press("d", "end")
        await pilot.pause()
        assert "sentence 299" in text(app)
        await decide(pilot, app, "y")
        assert asked.open
        await decide(pilot, app, "y")
        assert not asked.open


async def test_a_question_answered_elsewhere_makes_room_and_new_ones_join() -> None:
    first, second, third = question(), question("add"), question("divide")
    app = Asking(first, second)
    async with app.run_test(size=(100, 24)) as pilot:
        await armed(pilot, app)
        first.approve()
        app.approval.take([first, second, third])
        await armed(pilot, app)
        assert "Approve 2 calls?" in text(app)
        assert "> math.add" in text(app)


async def test_ascii_marks_where_the_terminal_wants_them() -> None:
    app = Asking(question(arguments=LONG), glyphs=ASCII)
    async with app.run_test(size=(100, 24)) as pilot:
        await armed(pilot, app)
        assert text(app).isascii()


@pytest.mark.parametrize(
    ("annotations", "words_said"),
    [
        ((("readOnlyHint", True), ("destructiveHint", False), ("idempotentHint", True)), "read-only"),
        ((("readOnlyHint", True), ("openWorldHint", True)), "read-only, reaches outside"),
        ((("readOnlyHint", False), ("destructiveHint", True)), "may change things, may destroy data"),
        ((("destructiveHint", False), ("idempotentHint", True)), "only adds, safe to repeat"),
        ((("readOnlyHint", "yes"),), ""),
    ],
    ids=["read-only", "outside", "destroys", "adds", "nonsense"],
)
def test_hints_are_a_claim_and_stand_where_there_is_room(
    annotations: Sequence[tuple[str, JSON]], words_said: str
) -> None:
    tool = Tool(
        server="math", name="multiply", description="Multiplies.", schema=SCHEMA, annotations=tuple(annotations)
    )
    request = CallRequest(call="c", tool=tool, arguments=b"{}")
    claim = f"server claims: {words_said}" if words_said else ""
    assert hints_of(tool) == claim
    assert call_row(tool, 80, "…", is_current=True).split("multiply")[1].strip() == claim
    assert call_row(tool, 16, "…", is_current=True) == "> math.multiply"
    assert description_of(request, hints_of(tool)).splitlines()[:-1] == ([claim] if claim else [])


async def test_a_secret_in_arguments_or_description_is_marked_and_what_is_approved_holds_it() -> None:
    asked = question(arguments={"a": KEY}, description=f"Send {KEY}.")
    other = question("add", {"b": KEY})
    app = Asking(asked, other)
    async with app.run_test(size=(100, 40)) as pilot:
        await armed(pilot, app)
        assert KEY not in text(app)
        assert '"a": "••• KEY (15)"' in text(app)
        assert "the arguments contain a secret of yours" in text(app)
        assert "Send ••• KEY (15)." in text(app)
        await decide(pilot, app, "y")
        assert asked.decision is not None
        assert KEY in asked.decision.arguments.decode()


async def test_a_secret_is_not_halved_where_a_description_is_cut() -> None:
    app = Asking(question(description=f"{'x' * 8 * 60}{KEY} end"))
    async with app.run_test(size=(100, 40)) as pilot:
        await armed(pilot, app)
        assert "hunter" not in text(app).replace("\n", "")


async def test_an_endless_description_is_cut_beside_the_question_and_whole_behind_d() -> None:
    app = Asking(question(description="word " * 200_000 + "end"))
    async with app.run_test(size=(100, 30)) as pilot:
        await armed(pilot, app)
        assert "…" in text(app)
        assert "all shown" in text(app)
        await pilot.press("d", "end")
        await pilot.pause()
        assert "word end" in text(app)
