"""The commands of the command line: one module each, whose `run` takes the parsed arguments and answers the exit code.

The module of a command is imported when the command is run, for most of what they stand on is heavy.
"""
