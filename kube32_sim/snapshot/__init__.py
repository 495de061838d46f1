"""`kube32-sim snapshot save|load`: the state of a cluster as a file, and back.

`saving` reads a cluster, `reading` takes files apart, `loading` sends what is in them to a simulator (whose side is
`importing`), `files` knows where bytes go and come from, `command` is what the command line runs.
"""
