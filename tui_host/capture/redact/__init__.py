"""Removing secrets before anything is stored: by value, by place, in compressed bodies, in logins."""
