"""Rules that a person gives in an approval: what is shown before, where they stand, and how they are taken back."""

import tomllib
from pathlib import Path

import anyio

from tests.kit.app import MATH, SMALL, USUAL, Running, fast, running
from tui_host.chat.conversation import CallItem
from tui_host.tui.screens.page_screen import HELD_SECONDS

ASKS = '[[rules]]\nserver = "math"\ntool = "div*"\naction = "ask"\n'


def words(app: Running) -> list[str]:
    return [call.words.split(",")[0] for call in app.items(CallItem)]


async def test_a_rule_for_good_is_shown_as_it_will_stand_and_holds_next_time(tmp_path: Path, model_url: str) -> None:
    config, file = fast(model_url) + MATH + ASKS, tmp_path / "rules.toml"
    async with running(tmp_path, config=config, size=SMALL) as app:
        await app.until_ready()
        await app.send('call math.add {"a": 1, "b": 1}', app.asks)
        await app.reach("k", "Press A first", app.asks)
        await app.press_at_once("A", "k")  # within the quiet period
        await app.until_shown("Press A again", "definition = ", "k for good", "k came too early")
        assert not file.exists()
        file.write_text("rules = 1\n")  # by another hand
        await app.until_asked()
        await app.reach("k", told="The rule is not kept, and nothing is decided")
        assert (words(app), file.read_text()) == ([""], "rules = 1\n")
        file.write_text('[[rules]]\nserver = "time"\ntool = "now"\naction = "deny"\n')
        await app.until_asked()
        await app.reach("A", "Press A again", app.asks)
        await app.press("k")
        await app.until_idle()
        kept = tomllib.loads(file.read_text())["rules"]
        assert [(rule["server"], rule["tool"], rule["action"]) for rule in kept] == [
            ("time", "now", "deny"),
            ("math", "add", "allow"),
        ]
        assert file.stat().st_mode & 0o777 == 0o600
        await app.ask('call math.add {"a": 2, "b": 2}')
        assert words(app) == ["approved for good", f"allowed by the rule math.add in {file}"]
        await app.send('call math.divide {"a": 2, "b": 2}')  # of which config.toml asks
        await app.until_asked()
        await app.reach("A", "No rule for good", "ask math.div*")
        assert "k for good" not in app.text
        await app.until_asked()
        await app.reach("k", app.asks)
        await app.answer("n")
    async with running(tmp_path, config=config, size=SMALL) as app:
        await app.until_ready()
        await app.ask('call math.add {"a": 3, "b": 3}')
        assert words(app) == [f"allowed by the rule math.add in {file}"]
        file.write_text(file.read_text().replace(kept[1]["definition"], "0" * 64))
        app.app.action_reload()
        await app.send('call math.add {"a": 4, "b": 4}', app.asks, "the definition changed", "is for another")
        await app.answer("n")


async def test_rules_say_where_from_and_what_they_did_and_are_kept_and_ended(tmp_path: Path, model_url: str) -> None:
    config, file = fast(model_url) + MATH + ASKS, tmp_path / "rules.toml"
    async with running(tmp_path, config=config, size=USUAL) as app:

        async def twice(key: str, *shown: str) -> None:
            await app.reach(key, f"{key} again", *shown)
            await anyio.sleep(HELD_SECONDS)
            await app.press(key)

        await app.until_ready()
        await app.send("/rules", "> ask math.div*", "config.toml", "math.divide")
        await app.reach("delete", told=f"This rule is yours: change it in {tmp_path}/config.toml, line ")
        await app.reach("k", told="stands in a file already")
        await app.press("escape")
        for tool, keys in (("divide", "n"), ("add", "AA")):
            await app.send(f'call math.{tool} {{"a": 1, "b": 1}}')
            for key in keys:
                await app.until_asked()
                await app.press(key)
            await app.until_idle()
        app.transcript.focus()
        await app.until(lambda: app.focused is app.transcript)
        while app.transcript.current is None or not isinstance(
            app.transcript.blocks.items.item(app.transcript.current), CallItem
        ):
            await app.press("up")
        app.app.action_open_screen("rules_screen.RulesScreen")
        await app.until_shown("> math.add", "because no rule allows it", "approved for the session", "session rule")
        await app.reach("delete", told="a call, not a rule")
        await app.reach("down", "> math.divide", "because the rule ask math.div*", "rejected by you")
        await app.reach("home", "> allow math.add", "session", "k         keeps it for good, in rules.toml: server")
        await twice("k", 'keep server = "math", tool = "add", action = "allow"')
        await app.until_shown("> ask math.div*", "allow math.add", "rules.toml", lambda: not app.session.policy.grants)
        await app.reach("down", "> allow math.add", f"{tmp_path}"[:20], "line 1")
        await app.reach("delete", "delete again")
        await app.reach("up down", "> allow math.add")  # another key is a no
        assert file.exists()
        await twice("delete")
        await app.until(lambda: len(app.session.policy.rules) == 1)
        assert tomllib.loads(file.read_text()) == {"rules": []}
        await app.press("escape")
        app.prompt.focus()
        await app.send('call math.add {"a": 2, "b": 2}')
        await app.answer("n")
