"""The palette's order: what is named as the query comes first, then what says it, then what only resembles it."""

from __future__ import annotations

from textual.command import Hit, Hits
from textual.system_commands import SystemCommandsProvider
from typing_extensions import override


class Palette(SystemCommandsProvider):
    """The commands of the app."""

    @override
    async def search(self, query: str) -> Hits:
        matcher, wanted = self.matcher(query), query.strip().lower()
        for title, _, callback, _ in self.app.get_system_commands(self.screen):  # pyright: ignore[reportUnknownMemberType] - of any app
            if (score := matcher.match(title)) > 0:
                name, words = title.partition(" ")[0], title.lower()
                rank = 2 * name.startswith(wanted) + (wanted in name) + (wanted in words)
                yield Hit(rank + score / (1 + score), matcher.highlight(title), callback)
