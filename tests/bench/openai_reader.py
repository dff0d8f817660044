# pyright: basic, reportMissingImports=false
# ruff: noqa: ANN001, ANN201
# The vendor's package is not in this project's environment, so nothing here has a type: this file runs in one of its own.
"""OpenAI's own client reading a stream to its end: once for each line that comes, which is the base URL; prints wall and CPU seconds."""

import asyncio
import sys
import time

import openai


async def read(url):
    async with openai.AsyncOpenAI(base_url=url, api_key="none", max_retries=0) as client:
        began, worked = time.perf_counter(), time.process_time()
        stream = await client.chat.completions.create(
            model="m", messages=[{"role": "user", "content": "hello"}], stream=True
        )
        pieces = []
        async for chunk in stream:
            pieces += [choice.delta.content for choice in chunk.choices if choice.delta.content]
        text = "".join(pieces)
        return time.perf_counter() - began, time.process_time() - worked, len(text)


print(openai.__version__, flush=True)
for line in sys.stdin:
    print(*asyncio.run(read(line.strip())), flush=True)
