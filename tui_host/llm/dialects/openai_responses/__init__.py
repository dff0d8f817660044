"""openai_responses."""
