"""`python -m tui_host.demo.servers NAME`."""

import sys

from tui_host.demo.servers.serve_bundled import main

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
