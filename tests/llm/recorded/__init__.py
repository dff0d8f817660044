"""Streams as the vendors send them, one module for each dialect, all of the same shape (`case.Recorded`)."""
