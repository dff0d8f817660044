"""What is asked about a turn: each answer is computed once, and printed by the screen and the command line."""
