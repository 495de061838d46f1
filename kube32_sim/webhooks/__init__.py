"""Admission webhooks: who is called, in which order, over HTTPS, and what follows from the answers.

`following` knows the configurations as they are stored, `dispatching` asks the webhooks that a request concerns
(`registry.dynamic_admission.Webhooks`), `calling` makes a call, `connecting` finds where to, and says in Go's words
what went wrong.  What is sent and what an answer means is decided by `api/webhooks`.
"""
