"""`kube32-sim top`: what boards have left and what runs on them, drawn anew as it changes.

`picture` is what is known, `drawing` makes text of it, `live` keeps it true and a terminal up to date.
"""
