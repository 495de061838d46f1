"""What clients did to a simulator, and where its pods went: kept while somebody records, and read back from files.

Requests are told as Kubernetes' audit log tells them (audit.k8s.io/v1), so that a real cluster's log can be read too.
`replaying` plays it all again.
"""
