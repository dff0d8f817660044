"""The recorder, a process beside each relay, and the channel between the two. The relay never waits for the recorder."""
