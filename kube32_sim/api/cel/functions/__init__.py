"""Kubernetes' own functions in CEL: what they are called, which types they take, and what they do."""
