"""The HTTP APIs of the demo model, a module each; `wire` has the shared parts."""
