"""The SDK is imported in part, and nobody can tell: seen in a fresh interpreter."""

from __future__ import annotations

import subprocess
import sys

CODE = """
import sys
from tui_host.servers.sdk_import import put_off
put_off()
import tui_host.servers.connection
print(*sorted({name.partition(".")[0] for name in sys.modules} & {"starlette", "uvicorn", "cryptography", "jsonschema", "httpx2"}))

import mcp.client
print(getattr(mcp, "__wrapped__", None), "mcp.server" in sys.modules, mcp.client.session.ClientSession.__name__)
from mcp import *
from mcp.client import Client as same
print(Client is mcp.Client is same, ClientSession is tui_host.servers.client.ClientSession, mcp.types.Tool is Tool)
print(hasattr(mcp, "nothing"), hasattr(mcp.client, "nothing"))
put_off()
"""


def test_the_server_half_of_the_sdk_is_imported_only_for_who_asks_for_it() -> None:
    run = subprocess.run([sys.executable, "-c", CODE], capture_output=True, text=True, check=True)
    none_of_it, without_it, all_of_it, nothing_else = run.stdout.splitlines()
    assert none_of_it == ""
    assert without_it == "None False ClientSession"
    assert all_of_it == "True True True"
    assert nothing_else == "False False"
