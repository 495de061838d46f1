"""Everything in memory, and every write in a SQLite file before anybody outside is told of it.

`store` is a `MemoryStore` whose writes are queued; `journal` commits what is queued, many writes at once; `ledger`
knows which rows are needed; `rows` is what a row says; `file` is the SQLite file, `header` its first bytes; `loading`
makes the memory of it at the start; `undoing` says the opposite of what could not be kept.
"""
