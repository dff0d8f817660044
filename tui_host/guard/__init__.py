"""What outlives a crash: child processes, and the state of the terminal."""
