"""HTTP/1.1 out of the bytes of a TCP connection, by hand: heads as they stand, bodies after transfer framing.

Written for comparisons alone, so that a fault in the program's parsers cannot hide here. Source: RFC 9112, sections 2, 6 and 7.
"""

from dataclasses import dataclass

Headers = tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """A request or a response: its first line, names and values as they stand, its body before content decoding, whether it ended."""

    start: str
    headers: Headers
    body: bytes = b""
    is_whole: bool = True

    def value(self, name: str) -> str | None:
        return next((value.lower() for key, value in self.headers if key.lower() == name), None)


@dataclass(frozen=True, slots=True, kw_only=True)
class RawExchange:
    request: Message
    response: Message | None


def exchanges_in(sent: bytes, answered: bytes) -> list[RawExchange]:
    found: list[RawExchange] = []
    while sent:
        request, sent = _message(sent, is_response=False)
        response = None
        while answered:
            response, answered = _message(answered, is_response=True)
            if not response.start.split(" ")[1].startswith("1"):
                break
        found.append(RawExchange(request=request, response=response))
    return found


def _message(data: bytes, *, is_response: bool) -> tuple[Message, bytes]:
    head, separator, rest = data.partition(b"\r\n\r\n")
    assert separator, f"half a head: {head[:200]!r}"
    start, *lines = head.decode("latin-1").split("\r\n")
    headers = tuple((name, value.strip(" \t")) for name, _, value in (line.partition(":") for line in lines))
    bare = Message(start=start, headers=headers)
    body, is_whole = b"", True
    if "chunked" in (bare.value("transfer-encoding") or ""):
        body, rest, is_whole = _chunked(rest)
    elif (length := bare.value("content-length")) is not None:
        body, rest = rest[: int(length)], rest[int(length) :]
        is_whole = len(body) == int(length)
    elif is_response and start.split(" ")[1] not in {"204", "304"} and not start.split(" ")[1].startswith("1"):
        body, rest = rest, b""  # it ends with the connection
    return Message(start=start, headers=headers, body=body, is_whole=is_whole), rest


def _chunked(data: bytes) -> tuple[bytes, bytes, bool]:
    body = bytearray()
    while True:
        size_line, separator, data = data.partition(b"\r\n")
        if not separator:
            return bytes(body), b"", False
        size = int(size_line.partition(b";")[0], 16)
        if size == 0:
            break
        body += data[:size]
        if len(data) < size + 2:
            return bytes(body), b"", False
        assert data[size : size + 2] == b"\r\n", "a chunk without its end"
        data = data[size + 2 :]
    line = b"trailers"
    while line and separator:
        line, separator, data = data.partition(b"\r\n")
    return bytes(body), data, bool(separator)
