"""Kestrel Preview: where the pods of manifests would go, and why not elsewhere; nothing is created.

`manifests` and `workloads` turn files into pods, `state` reads the cluster, `kube32` and `kestrel` place the pods by
the rules of their profile, `printing` shows the answer.  `commands.preview` puts them together for the command, and
`answering` for the API: there `live` reads the store and asks the scheduler's own picture.

`explaining` tells what would make a pod fit, `capacity` how many more do, `surviving` what is left when nodes are lost,
all of them on `trials`: clusters on paper that pods can leave again.
"""
