"""What hosts ask models, and what these answer: conversations with their turns, calls and results, and who speaks."""
