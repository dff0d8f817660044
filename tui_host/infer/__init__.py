"""Infer which records of a tapped host belong together: conversations, calls, frames and results."""
