"""Kestrel, the scheduling core: pure functions over integers; knows no Kubernetes, no I/O, no clock."""
