"""Pages of the details, made step by step from a row's bytes."""
