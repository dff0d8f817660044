"""The database: its schema, its writer, its readers."""
