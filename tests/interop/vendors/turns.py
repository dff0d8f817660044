# pyright: basic
# ruff: noqa: ANN001, ANN003, ANN201
"""What every vendor's client is made to do, and what it has to tell of that. Runs beside a client, in its environment."""

import json
import sys

URL, QUESTION, PARALLEL, TOOLS, RESULTS = sys.argv[1], *json.loads(sys.argv[2])


def result_of(name, arguments):
    return RESULTS[f"{name} {json.dumps(arguments, sort_keys=True)}"]


def caught(kinds, ask):
    """The name and the words of what a client raises; it may raise while it reads a stream."""
    try:
        answer = ask()
        if not hasattr(answer, "model_dump"):
            for _ in answer:
                pass
    except kinds as error:
        return [type(error).__name__, str(error)]
    return ["", ""]


def turn(question, first, step, *, streamed):
    """A turn to its end.

    `step` takes the messages and gives what to add to them, the calls as names and arguments, the messages with results, and the
    answer, its finish and whether its counts are right.
    """
    messages, steps = first(question), []
    while True:
        answer, calls, results, last = step(messages, streamed=streamed)
        if not calls:
            text, finish, counts = last
            return {"steps": steps, "answer": text, "finish": finish, "usage": counts}
        steps.append([[name, arguments] for name, arguments in calls])
        messages = [*messages, *answer, *results]


def tell(first, step, **more):
    """Print all that the test looks at."""
    turns = {"streamed": (QUESTION, True), "whole": (QUESTION, False), "parallel": (PARALLEL, True)}
    told = {name: turn(question, first, step, streamed=streamed) for name, (question, streamed) in turns.items()}
    print(json.dumps({**told, **more}))
