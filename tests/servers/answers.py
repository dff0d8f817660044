"""Someone who answers the questions of servers by a script."""

from collections.abc import Mapping

import anyio
from typing_extensions import override

from tui_host.errors import JSON
from tui_host.servers.server_questions import Declines, Elicitation, ElicitationAnswer, Reviewed, SamplingRequest


class Scripted(Declines):
    """Answers questions in turn; waits, where the answer is None or none is left, until the question is closed."""

    def __init__(self, *contents: Mapping[str, JSON] | ElicitationAnswer | None) -> None:
        self.contents = list(contents)
        self.questions: list[Elicitation] = []
        self.open = self.most = self.closed = 0
        self.requests: list[object] = []

    @override
    async def elicit(self, request: Elicitation) -> ElicitationAnswer:
        self.questions.append(request)
        self.open += 1
        self.most = max(self.most, self.open)
        try:
            content = self.contents.pop(0) if self.contents else None
            if content is None:
                await anyio.sleep_forever()
            if isinstance(content, ElicitationAnswer):
                return content
            return ElicitationAnswer(action="accept", content=content)
        except anyio.get_cancelled_exc_class():
            self.closed += 1
            raise
        finally:
            self.open -= 1

    @override
    async def review(self, request: SamplingRequest, shown: Reviewed) -> Reviewed | None:
        self.requests += [request] if shown is request else [request, shown]
        return shown
