"""A small shell with job control: `shell.py COMMAND…` runs one job in the foreground; SIGUSR1 is `fg`, SIGUSR2 `bg`."""

import fcntl
import os
import signal
import sys
import termios
import types


def main(command: list[str]) -> None:
    fcntl.ioctl(0, termios.TIOCSCTTY, 0)
    signal.signal(signal.SIGTTOU, signal.SIG_IGN)  # it gives and takes the terminal from the background too
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    job = os.fork()
    if job == 0:
        os.setpgid(0, 0)
        os.tcsetpgrp(0, os.getpid())
        signal.signal(signal.SIGTTOU, signal.SIG_DFL)
        signal.signal(signal.SIGHUP, signal.SIG_DFL)
        os.execv("/bin/sh", ["sh", "-c", '"$@"; exit $?', "sh", *command])  # noqa: S606 - between us, as a runner of programs is

    def go_on(number: int, _: types.FrameType | None) -> None:
        if number == signal.SIGUSR1:
            os.tcsetpgrp(0, job)
        os.killpg(job, signal.SIGCONT)

    signal.signal(signal.SIGUSR1, go_on)
    signal.signal(signal.SIGUSR2, go_on)
    while True:
        _, status = os.waitpid(job, os.WUNTRACED)
        os.tcsetpgrp(0, os.getpgrp())
        if not os.WIFSTOPPED(status):
            sys.exit(os.waitstatus_to_exitcode(status))


main(sys.argv[1:])
