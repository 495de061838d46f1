"""The server's side of `kube32-sim snapshot load`: objects that are stored as they are, all at once.

`snapshots` takes the parts of a load, `judging` looks at each object, `translating` makes a real cluster's objects
such as the simulator's loops and boards go on with, `conflicts` says what is in the way, `storing` stores them.
"""
