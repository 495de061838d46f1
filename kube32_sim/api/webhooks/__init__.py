"""Admission webhooks as pure functions: which of them a request concerns, what they are sent, what they answer.

`compiled` makes the webhooks of a configuration ready, `review` writes AdmissionReviews and reads answers; rules and
selectors are `api.dynamic_admission.matching`'s, for policies have them too.  Calls are made by `kube32_sim.webhooks`.
"""
