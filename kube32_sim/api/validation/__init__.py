"""Validation of objects: why a value is refused, in upstream's words.  Pure functions over plain JSON objects."""
