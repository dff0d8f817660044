"""Starts programs many times for the price of one import: each start is a fork of this process, with everything of its own.

A line of JSON, sent with the three descriptors to the socket that the first argument names, says what to run. The second says what is
imported before: what our program needs, or what servers made with the SDK do. Who closes the socket's connection kills the program.
Each program is the child of a waiter, which becomes the parent of whatever the program leaves behind: so nothing that is left
can hide.
"""

import atexit
import contextlib
import ctypes
import gc
import importlib
import io
import json
import os
import resource
import select
import signal
import socket
import sys
import termios
import threading
import time
import traceback
from fcntl import ioctl
from pathlib import Path
from typing import NoReturn, NotRequired, TypedDict

PR_SET_CHILD_SUBREAPER = 36
PROGRAM = (
    "anyio._backends._asyncio",
    "certifi",
    "httpcore",
    "httpx",
    "tui_host.__main__",
    "tui_host.answers.pages",
    "tui_host.answers.session_exports",
    "tui_host.chat.turn",
    "tui_host.cli.arguments",
    "tui_host.cli.commands.ask",
    "tui_host.cli.commands.compare",
    "tui_host.cli.commands.request",
    "tui_host.cli.commands.server_check",
    "tui_host.cli.commands.sessions",
    "tui_host.cli.answerers",
    "tui_host.cli.hosting",
    "tui_host.host.demo_model",
    "tui_host.host.server_watch",
    "tui_host.llm.model_client",
    "tui_host.servers.connection",
    "tui_host.settings.load",
)
SERVERS = (
    "anyio._backends._asyncio",
    "mcp.server.mcpserver",
    "mcp.server.sse",
    "mcp.server.stdio",
    "rich.logging",
    "tui_host.demo.servers.math",
    "uvicorn.protocols.http.h11_impl",
)
HAS_SUBREAPER = sys.platform == "linux"
PATIENCE = 30.0
"""Seconds; what was told to end may take some of them on a machine that does much else."""


class Request(TypedDict):
    words: list[str]
    environment: dict[str, str]
    folder: str
    terminal: NotRequired[bool]
    file_limit: NotRequired[int]
    module: NotRequired[str]  # a server's, whose `main` gets the words
    path: NotRequired[str]


def load(names: tuple[str, ...]) -> None:
    for name in names:
        importlib.import_module(name)
    sys.dont_write_bytecode = True  # a program may be changed while servers run
    gc.freeze()  # else each program would copy all of it at its end, to clear it away


def become(request: Request, descriptors: list[int]) -> NoReturn:
    os.setsid()
    for number, descriptor in enumerate(descriptors):
        os.dup2(descriptor, number)
    os.closerange(3, 256)
    if request.get("terminal"):
        ioctl(0, termios.TIOCSCTTY, 0)
    os.chdir(request["folder"])
    if limit := request.get("file_limit"):
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
    os.environ.clear()
    os.environ.update(request["environment"])
    for number in (signal.SIGCHLD, signal.SIGHUP, signal.SIGTERM):
        signal.signal(number, signal.SIG_DFL)
    sys.stdin = io.TextIOWrapper(io.BufferedReader(io.FileIO(0, closefd=False)), encoding="utf-8")
    sys.stdout = io.TextIOWrapper(io.BufferedWriter(io.FileIO(1, "w", closefd=False)), encoding="utf-8")
    errors = io.BufferedWriter(io.FileIO(2, "w", closefd=False))
    sys.stderr = io.TextIOWrapper(errors, encoding="utf-8", errors="backslashreplace", line_buffering=True)
    sys.argv = ["tui-host", *request["words"]]
    if module := request.get("module"):
        sys.path.insert(0, request.get("path", ""))
        try:
            importlib.import_module(module).main(request["words"])
        finally:
            os._exit(0)
    end(run())


def run() -> int:
    import tui_host.__main__

    try:
        tui_host.__main__.main()
    except SystemExit as ended:
        return ended.code if isinstance(ended.code, int) else 1
    except BaseException:  # noqa: BLE001 - as the interpreter does, which ends here too
        traceback.print_exc()
    return 1


def end(code: int) -> NoReturn:
    """End as the interpreter does, but for clearing away what was imported, which is most of what it would take."""
    for thread in threading.enumerate():
        if thread is not threading.current_thread() and not thread.daemon:
            thread.join()
    atexit._run_exitfuncs()  # pyright: ignore[reportPrivateUsage] - there is no public name for it
    for stream in (sys.stdout, sys.stderr):
        stream.flush()
    os._exit(code)


def wait_for(program: int, link: socket.socket) -> NoReturn:
    link.sendall(json.dumps({"pid": program}).encode() + b"\n")
    if HAS_SUBREAPER:
        ended = os.pidfd_open(program)
        if ended not in select.select([link, ended], [], [])[0]:
            os.kill(program, signal.SIGKILL)
    _, status = os.waitpid(program, 0)
    answer = {"code": os.waitstatus_to_exitcode(status), "left": left()}
    with contextlib.suppress(OSError):  # nobody waits for it any more
        link.sendall(json.dumps(answer).encode() + b"\n")
    os._exit(0)


def left() -> list[str]:
    """The processes that the program left and that do not end by themselves."""
    end = time.monotonic() + PATIENCE
    while HAS_SUBREAPER:
        try:
            if os.waitpid(-1, os.WNOHANG)[0] == 0:
                if time.monotonic() > end:
                    return [command(int(pid)) for pid in children().split()]
                time.sleep(0.01)
        except ChildProcessError:
            break
    return []


def children() -> str:
    return Path(f"/proc/self/task/{os.getpid()}/children").read_text()


def command(pid: int) -> str:
    return f"{pid} {Path(f'/proc/{pid}/cmdline').read_bytes().replace(bytes(1), b' ').decode(errors='replace')}"


def serve(place: str) -> NoReturn:
    """Fork for each connection; in the process that is to be the program, ends with it."""
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(place)
        listener.listen()
        print("ready", flush=True)
        signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # the waiters are nobody's to wait for
        while True:
            link, _ = listener.accept()
            if os.fork() != 0:
                link.close()
                continue
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            if HAS_SUBREAPER:
                ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
            data, descriptors, _, _ = socket.recv_fds(link, 1 << 20, 3)
            while not data.endswith(b"\n"):
                data += link.recv(1 << 20)
            request: Request = json.loads(data)
            program = os.fork()
            if program == 0:
                listener.close()
                link.close()
                become(request, descriptors)
            for descriptor in descriptors:
                os.close(descriptor)
            wait_for(program, link)


if __name__ == "__main__":
    load(SERVERS if sys.argv[2] == "servers" else PROGRAM)
    serve(sys.argv[1])
