"""`python -m tui_host.demo.model`."""

import sys

from tui_host.demo.model.serve import main

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
