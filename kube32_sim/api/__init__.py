"""What Kubernetes objects are: data and pure functions, no I/O, no asyncio."""
