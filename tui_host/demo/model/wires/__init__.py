"""The HTTP APIs that the demo model serves, one module per vendor. `wire` contains their shared parts."""
