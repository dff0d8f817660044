"""The third form of the database: a session has its profile, and what its person wants of the model.

Published: never changed.
"""

from __future__ import annotations

STATEMENTS = (
    "ALTER TABLE sessions ADD COLUMN profile TEXT NOT NULL DEFAULT ''",  # its name
    "ALTER TABLE sessions ADD COLUMN options TEXT NOT NULL DEFAULT '{}'",  # JSON, by the options' names
)
