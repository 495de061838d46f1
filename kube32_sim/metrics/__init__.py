"""What is counted while the simulator runs, and the page that tells it: `/metrics`, in Prometheus' text format.

Names and labels are Kubernetes' where it has them (https://kubernetes.io/docs/reference/instrumentation/metrics/).
Meters are counted up where things happen; everything else is asked for when somebody reads the page.
"""
