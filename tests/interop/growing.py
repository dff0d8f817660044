"""A server made with FastMCP 2 that offers one tool more once it is asked to. Runs in an environment of its own, not in the project's.

python growing.py          over stdio
python growing.py PORT     over streamable HTTP, on the loopback interface
"""

# pyright: basic, reportMissingImports=false, reportAttributeAccessIssue=false
# (the project does not have FastMCP installed)

from __future__ import annotations

import asyncio
import sys

from fastmcp import Context, FastMCP

server = FastMCP("growing")


@server.tool
async def grow(ctx: Context) -> str:
    """Add the tool `late`."""
    await ctx.info("growing ✓")
    server.tool(late)
    return "grown"


@server.tool
async def rest() -> str:
    """Have a turn last until its host has listed the tools again."""
    await asyncio.sleep(3)
    return "rested"


def late(word: str) -> str:
    """Say it again."""
    return word


if len(sys.argv) > 1:
    server.run(transport="http", host="127.0.0.1", port=int(sys.argv[1]), show_banner=False)
else:
    server.run(show_banner=False)
