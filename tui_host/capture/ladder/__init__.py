"""Makes the rows of the inspector from records."""
