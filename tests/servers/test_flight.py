"""The last look at a call before it is written: what leaves is what was decided."""

import json

import pytest

from tui_host.errors import JSON, ServerError
from tui_host.servers.catalog import READ
from tui_host.servers.outgoing_request import OutgoingRequest, canonical, frame_bytes

ARGUMENTS: JSON = {"city": "Zürich", "days": 2.50}
DECIDED = OutgoingRequest(tool="get_forecast", arguments=canonical(ARGUMENTS))


def called(tool: str = "get_forecast", arguments: JSON = ARGUMENTS, **more: JSON) -> dict[str, JSON]:
    params: dict[str, JSON] = {"name": tool, "arguments": arguments, **more}
    return {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}


@pytest.mark.parametrize(
    ("value", "outgoing", "words"),
    [
        (called(), None, "was not approved"),
        (called(), OutgoingRequest(tool="get_forecast"), "was not approved"),
        (called("delete_all"), DECIDED, "the tool differs from the one"),
        (called(arguments={"city": "Zürich", "days": 3}), DECIDED, "the arguments differ from those"),
        (called(arguments={"arguments": ARGUMENTS}), DECIDED, "the arguments differ from those"),
        ({"method": "tools/call"}, DECIDED, "the tool differs from the one"),
    ],
)
def test_no_other_call_is_written_or_goes(value: dict[str, JSON], outgoing: OutgoingRequest | None, words: str) -> None:
    with pytest.raises(ServerError, match=words):
        frame_bytes(value, outgoing)


def test_a_call_is_written_with_the_very_bytes_that_were_decided() -> None:
    meta: JSON = {"progressToken": 1}
    data = frame_bytes(called(_meta=meta), DECIDED)
    assert json.loads(data) == called(_meta=meta)
    assert data.endswith(b',"arguments":' + canonical(ARGUMENTS) + b"}}")
    ping: JSON = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
    assert frame_bytes(ping, None) == b'{"jsonrpc":"2.0","id":1,"method":"ping"}'


def test_no_resource_is_read_but_the_one_that_was_decided() -> None:
    value: dict[str, JSON] = {"jsonrpc": "2.0", "id": 1, "method": READ, "params": {"uri": "note://one", "_meta": {}}}
    for decided in (None, b'{"uri":"note://two"}'):
        with pytest.raises(ServerError, match=r"was not approved|differ from those"):
            frame_bytes(value, OutgoingRequest(tool=READ, arguments=decided))
    assert frame_bytes(value, OutgoingRequest(tool=READ, arguments=b'{"uri":"note://one"}')) == canonical(value)
