"""`kube32-sim record` and `replay`: what clients did to a cluster, once more, on the virtual clock of a private one."""
