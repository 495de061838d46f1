"""Benchmarks: a running server measured from outside, next to what the platform itself can do (see README.md)."""
