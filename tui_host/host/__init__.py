"""The host: owns the recorder, servers, turns and the demo model's process. Used by the app and the command line."""
