"""Nodes and pods of Kubernetes in the terms of Kestrel's own profile, and what these terms cannot say.

The preview and the scheduler of the profile `kestrel` read objects through it, so that the two cannot disagree.
"""
