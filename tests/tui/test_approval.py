"""The approval: what each key decides, and in which order the calls are asked."""

from __future__ import annotations

import pytest

from tests.cases import first_values
from tests.tui.asking import LONG, Asking, armed, at_once, decide, question, text, until_said, verdict, words
from tui_host.chat.call_arguments import canonical


async def test_it_looks_as_designed() -> None:
    app = Asking(question(), question("add"))
    async with app.run_test(size=(110, 24)) as pilot:
        await armed(pilot, app)
        lines = [line.strip("│╭╮ ").rstrip() for line in text(app).splitlines()]
        assert lines[0].startswith("─ Approve 2 calls?  1 of 2")
        assert lines[1].startswith("> math.multiply")
        assert lines[1].endswith("server claims: read-only")
        assert lines[2].strip().startswith("math.add")
        assert lines[3] == "Multiply two numbers."
        assert [line for line in lines if line.startswith(('"a"', '"b"'))] == ['"a": 6,', '"b": 5']
        assert "all shown" in text(app)
        for key in ("y once", "Y all remaining", "A this tool, this session", "e edit", "n no", "r no, because…"):
            assert key in text(app)
        assert "esc no, and stop the turn" in text(app)
        await until_said(pilot, app, "ready")


@pytest.mark.parametrize("key", ["y", "a"])
async def test_y_and_a_approve_once_exactly_what_was_shown(key: str) -> None:
    asked = question()
    app = Asking(asked)
    async with app.run_test(size=(100, 24)) as pilot:
        await decide(pilot, app, key)
        assert asked.decision is not None
        assert (asked.decision.verdict, asked.decision.arguments) == ("approved", b'{"a":6,"b":5}')


async def test_the_calls_stay_where_they_are_and_the_mark_moves() -> None:
    names = [f"tool{number}" for number in range(8)]
    app = Asking(*(question(name) for name in names), quiet=0.0)

    def listed() -> list[str]:
        rows = [line.strip("│ ") for line in text(app).splitlines()]
        return [
            row.split()[0] + row.split()[1] if row[0] == ">" else row.split()[0] for row in rows if "math.tool" in row
        ]

    async with app.run_test(size=(100, 30)) as pilot:
        await armed(pilot, app)
        assert listed() == [">math.tool0", *(f"math.tool{n}" for n in range(1, 5))]
        for marked in ("math.tool1", "math.tool2"):
            await pilot.press("right")
            await pilot.pause()
            assert [row.strip(">") for row in listed()] == [f"math.tool{n}" for n in range(5)]
            assert f">{marked}" in listed()
        await pilot.press("left", "left", "left")
        await pilot.pause()
        assert listed() == [*(f"math.tool{n}" for n in range(3, 7)), ">math.tool7"]
        assert all(len(line) == len(text(app).splitlines()[0]) for line in text(app).splitlines())
        await pilot.press("right")
        await pilot.pause()
        assert listed() == [">math.tool0", *(f"math.tool{n}" for n in range(1, 5))]


async def test_how_many_more_calls_come_after_those_that_are_asked_is_told() -> None:
    questions = [question(f"tool{number}") for number in range(3)]
    for asked in questions:
        asked.later = 24
    app = Asking(*questions)
    async with app.run_test(size=(110, 24)) as pilot:
        await armed(pilot, app)
        assert "Approve 3 calls?  1 of 3, then 24 more" in text(app)
        assert "Y all of these" in text(app)


async def test_n_rejects_and_goes_on_to_the_next() -> None:
    first, second = question(), question("add")
    app = Asking(first, second)
    async with app.run_test(size=(100, 24)) as pilot:
        await decide(pilot, app, "n")
        assert (verdict(first), verdict(second)) == ("rejected", "")
        await armed(pilot, app)
        assert "> math.add" in text(app)
        await pilot.press("y")
        await pilot.pause()
        assert verdict(second) == "approved"


async def test_escape_rejects_and_stops() -> None:
    asked = question()
    app = Asking(asked)
    async with app.run_test(size=(100, 24)) as pilot:
        await decide(pilot, app, "escape")
        assert asked.decision is not None
        assert (asked.decision.verdict, asked.decision.stop) == ("rejected", True)


@pytest.mark.parametrize("key", first_values(["enter", "space", "x", "Z", "ctrl+j"], 2))
async def test_no_other_key_decides(key: str) -> None:
    asked = question()
    app = Asking(asked)
    async with app.run_test(size=(100, 24)) as pilot:
        await decide(pilot, app, key)
        assert asked.open


async def test_arguments_whose_end_was_not_seen_are_first_shown_to_their_end() -> None:
    asked = question(arguments=LONG)
    app = Asking(asked, quiet=0.5)
    async with app.run_test(size=(100, 30)) as pilot:
        await armed(pilot, app)
        assert "more lines: pagedown, end" in text(app)
        await at_once(pilot, app, "y", "y")
        assert asked.open
        assert "all shown" in text(app)
        assert "You hadn't seen" in text(app)
        await decide(pilot, app, "y")
        assert asked.decision is not None
        assert asked.decision.arguments == canonical(LONG)


async def test_all_that_remain_are_approved_only_once_each_was_seen() -> None:
    short, long, last = question(), question("long", LONG), question("add")
    app = Asking(short, long, last)
    async with app.run_test(size=(100, 30)) as pilot:
        await decide(pilot, app, "Y")
        assert [verdict(asked) for asked in app.questions] == ["", "", ""]
        await armed(pilot, app)
        assert "> math.long" in text(app)
        await decide(pilot, app, "Y", "Y")  # to its end; then to the third, which was not shown yet
        assert [verdict(asked) for asked in app.questions] == ["", "", ""]
        await armed(pilot, app)
        assert "> math.add" in text(app)
        await decide(pilot, app, "Y")
        assert [words(asked) for asked in app.questions] == ["approved with all remaining calls"] * 3


async def test_a_session_rule_takes_a_second_a_after_it_was_told() -> None:
    asked = question()
    app = Asking(asked, quiet=0.5)
    async with app.run_test(size=(100, 26)) as pilot:
        await armed(pilot, app)
        await at_once(pilot, app, "A", "A", "A")
        assert asked.open
        await armed(pilot, app)
        assert "Press A again to run every call of math.multiply, as defined now" in " ".join(
            text(app).replace("│", " ").split()
        )
        await pilot.press("A")
        await pilot.pause()
        assert app.granted == [asked]
        assert words(asked) == "approved for the session"


async def test_another_decision_in_between_forgets_the_first_a() -> None:
    first, second = question(), question("add")
    app = Asking(first, second)
    async with app.run_test(size=(100, 26)) as pilot:
        await decide(pilot, app, "A", "n", "A")
        assert second.open
        assert app.granted == []
