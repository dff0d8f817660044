"""Rules that a person gives in an approval: what is shown before, where they stand, and how they are taken back."""

import tomllib
from pathlib import Path

from tests.kit.app import MATH, SMALL, Running, fast, running
from tui_host.chat.conversation import CallItem

ASKS = '[[rules]]\nserver = "math"\ntool = "div*"\naction = "ask"\n'


def words(app: Running) -> list[str]:
    return [call.words.split(",")[0] for call in app.items(CallItem)]


async def test_a_rule_for_good_is_shown_as_it_will_stand_and_counts_after_a_restart(
    tmp_path: Path, model_url: str
) -> None:
    config, file = fast(model_url) + MATH + ASKS, tmp_path / "rules.toml"
    async with running(tmp_path, config=config, size=SMALL) as app:
        await app.until_ready()
        await app.send('call math.add {"a": 1, "b": 1}')
        await app.until_asked()
        await app.reach("k", "Press A first")
        await app.until_asked()
        await app.reach("A", "Press A again", "definition = ", "k for good")
        await app.press_at_once("k")  # within the quiet period
        await app.until_shown("k came too early")
        assert not file.exists()
        file.write_text("rules = 1\n")  # by another hand
        await app.until_asked()
        await app.press("k")
        await app.until_told("The rule is not kept, and nothing is decided")
        assert (words(app), file.read_text()) == ([""], "rules = 1\n")
        file.write_text('[[rules]]\nserver = "time"\ntool = "now"\naction = "deny"\n')
        await app.until_asked()
        await app.reach("A", "Press A again")
        await app.until_asked()
        await app.press("k")
        await app.until_idle()
        kept = tomllib.loads(file.read_text())["rules"]
        assert [(rule["server"], rule["tool"], rule["action"]) for rule in kept] == [
            ("time", "now", "deny"),
            ("math", "add", "allow"),
        ]
        assert file.stat().st_mode & 0o777 == 0o600
        await app.ask('call math.add {"a": 2, "b": 2}')
        assert words(app) == ["approved for good", f"allowed by a rule in {file}"]
        await app.send('call math.divide {"a": 2, "b": 2}')  # of which config.toml asks
        await app.until_asked()
        await app.reach("A", "No rule for good", "asks, which beats")
        assert "k for good" not in app.text
        await app.until_asked()
        await app.press("k")
        await app.until_asked()
        await app.decide("n")
        await app.until_idle()
    async with running(tmp_path, config=config, size=SMALL) as app:
        await app.until_ready()
        await app.ask('call math.add {"a": 3, "b": 3}')
        assert words(app) == [f"allowed by a rule in {file}"]
        file.write_text(file.read_text().replace(kept[1]["definition"], "0" * 64))
        app.app.action_reload()
        await app.send('call math.add {"a": 4, "b": 4}')
        await app.until_asked()
        await app.until_shown("the definition changed", "is for another")
        await app.decide("n")
        await app.until_idle()
