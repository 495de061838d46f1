"""Stores: where objects and their history live."""
