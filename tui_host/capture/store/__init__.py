"""The database: schema, writer and readers."""
