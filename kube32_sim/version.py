"""The two versions, our own and that of the Kubernetes release whose API is answered, and our name as a provider."""

VERSION = "0.1.0"
KUBERNETES = "v1.36.0"
GIT_VERSION = f"{KUBERNETES}+kube32-sim"
"""As `GET /version` and the boards' nodeInfo say it."""

PROVIDER = "kube32-sim://"
"""What the providerID of a simulated node begins with; then comes the name of its profile."""
