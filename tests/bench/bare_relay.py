"""The smallest stdio relay: two threads that read and write. Recording nothing, it is what a tap is measured against."""

import os
import subprocess
import sys
import threading

child = subprocess.Popen(sys.argv[1:], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
assert child.stdin is not None
assert child.stdout is not None


def pump(source: int, target: int) -> None:
    while chunk := os.read(source, 65536):
        while chunk:
            chunk = chunk[os.write(target, chunk) :]
    os.close(target)


threading.Thread(target=pump, args=(0, child.stdin.fileno()), daemon=True).start()
out = threading.Thread(target=pump, args=(child.stdout.fileno(), 1))
out.start()
out.join()
os._exit(child.wait())
