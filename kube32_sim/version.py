"""The two versions: our own, and the Kubernetes release whose API is answered."""

VERSION = "0.1.0"
KUBERNETES = "v1.36.0"
GIT_VERSION = f"{KUBERNETES}+kube32-sim"
"""As `GET /version` and the boards' nodeInfo say it."""
