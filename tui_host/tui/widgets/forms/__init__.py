"""Forms made from schemas."""
