"""Admission webhooks as pure functions: which of them a request concerns, what they are sent, what they answer.

`matching` decides by rules, selectors and conditions, `review` writes AdmissionReviews and reads answers.  Calls are
made by `kube32_sim.webhooks`.
"""
