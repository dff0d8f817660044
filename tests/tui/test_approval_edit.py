"""The approval's fields: editing the arguments, giving a reason, and what does not fit."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from tests.tui.asking import HOSTILE, KEY, SCHEMA, Asking, armed, decide, question, text, until_armed, until_said
from tests.tui.waiting import at_work
from tui_host.answers.masks import Mask
from tui_host.capture.redact.redaction import Redactor
from tui_host.capture.visible import hidden
from tui_host.chat.call_arguments import canonical
from tui_host.errors import JSON
from tui_host.tui.widgets.approval.approval_lines import Field
from tui_host.tui.widgets.approval.argument_edit import editable, misfits, read_edit


async def test_an_edit_is_shown_as_it_will_be_sent_and_asked_again() -> None:
    asked = question()
    async with at_work(Asking(asked), (100, 34)) as (app, pilot):
        await decide(pilot, app, "e")
        field = app.query_one("#approval-edit", Field)
        assert field.has_focus
        assert field.cursor_location == (1, len('  "a": '))
        await pilot.press("y", "enter")
        assert "not JSON" in " ".join(text(app).split())
        field.load_text('{"a": "six"}')
        await pilot.press("enter")
        assert "b is missing" in text(app)
        assert "a must be number" in text(app)
        assert asked.open
        field.load_text('{"a": 7,\n "b": 5}')
        await until_said(pilot, app, "press enter to check again")
        await pilot.press("enter")
        assert asked.open
        assert "edited: this will be sent" in text(app)
        assert '"a": 7' in text(app)
        await decide(pilot, app, "y")
        assert asked.decision is not None
        assert (asked.decision.verdict, asked.decision.arguments) == ("edited", b'{"a":7,"b":5}')


async def test_a_reason_is_told_and_letters_in_it_decide_nothing() -> None:
    first, second = question(), question("add")
    async with at_work(Asking(first, second), (100, 30)) as (app, pilot):
        await decide(pilot, app, "r")
        await pilot.press(*"nay", "enter")
        assert first.decision is not None
        assert (first.decision.verdict, first.decision.reason, first.decision.stop) == ("rejected", "nay", False)
        assert second.open
        await armed(pilot, app)
        assert app.approval.has_focus


@pytest.mark.parametrize(
    ("value", "complaints"),
    [
        ({"a": 1, "b": 2}, []),
        ({"a": True, "unit": "km"}, ["b is missing", "a must be number"]),
        ({"a": 1, "b": 2, "unit": "mile"}, ['unit must be one of ["m", "km"]']),
        ({"a": 1, "b": 2, "x": 2}, ["the tool has no argument x"]),
    ],
)
def test_what_does_not_fit_the_schema_is_named(value: Mapping[str, JSON], complaints: list[str]) -> None:
    assert isinstance(SCHEMA, dict)
    assert misfits(value, {**SCHEMA, "additionalProperties": False}) == complaints


async def test_an_edit_shows_marks_and_what_is_sent_has_the_values_where_they_were_left() -> None:
    fake = "⟨secret:KEY⟩"
    asked = question(arguments={"a": KEY, "b": fake})
    async with until_armed(Asking(asked), (100, 40)) as (app, pilot):
        assert '"a": "••• KEY (15)"' in text(app)
        assert f'"b": "{fake}"' in text(app)
        await decide(pilot, app, "e")
        field = app.query_one("#approval-edit", Field)
        assert KEY not in field.text
        assert '"a": "⟨secret:KEY#2⟩"' in field.text
        await until_said(
            pilot, app, "⟨secret:KEY#2⟩: stands for a secret of yours; its value is sent in place of the mark"
        )
        field.load_text('{"a": 1, "b": ⟨secret:KEY#2⟩}')
        await pilot.press("enter")
        await until_said(pilot, app, "not JSON")
        assert "hunter2" not in text(app)
        field.load_text(f'{{"a": 7, "b": 5, "note": "Bearer ⟨secret:KEY#2⟩", "fake": "{fake}"}}')
        await pilot.press("enter")
        await until_said(pilot, app, '"note": "Bearer ••• KEY (15)"')
        await until_said(pilot, app, "its real value would be sent")
        assert "hunter2" not in text(app)
        await decide(pilot, app, "y")
        assert asked.decision is not None
        sent: JSON = {"a": 7, "b": 5, "note": f"Bearer {KEY}", "fake": fake}
        assert asked.decision.arguments == canonical(sent)


@pytest.mark.parametrize("secret", ['quo"te\\zero\u200bwidth-wörter', "12345678"])
def test_marks_left_in_place_give_back_the_same_arguments(secret: str) -> None:
    mask = Mask(lambda: Redactor([("S", secret)]))
    arguments = canonical(
        {"a": secret, "b": int(secret) if secret.isdigit() else 1, "c": f"x{secret}y", "⟨secret:S⟩": HOSTILE}
    )
    shown = editable(arguments, mask)
    assert secret not in shown.text
    assert not hidden(shown.text)
    assert shown.values
    assert read_edit(shown.text, None, shown.values) == arguments
