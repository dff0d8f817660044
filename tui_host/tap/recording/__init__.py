"""What a relay reports, and the process beside it that makes records of it: no relay waits for that, and neither goes down with the other."""
