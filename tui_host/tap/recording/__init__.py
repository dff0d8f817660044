"""The recorder beside a relay, and the channel between the two. No relay waits for recording."""
