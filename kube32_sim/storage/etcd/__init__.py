"""The store on etcd: objects in etcd, reads from a cache that etcd's watch feeds.

`store` is what the rest of the program holds; `keys` says what is kept where, `requests` what is asked of etcd,
`connection` whom and with how much patience; `following` keeps the cache true, `guards` decisions on several objects.
Only this package knows the library `aetcd` and gRPC, and only `storage.opening` imports it, when it is wanted.
"""

import os

# nothing here goes on in a forked child; otherwise gRPC says on stderr, for every program started, that it did nothing
os.environ.setdefault("GRPC_ENABLE_FORK_SUPPORT", "0")
