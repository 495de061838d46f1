"""Why a pod is where it is, or is not: a chain of causes, from the journal and from what objects still say."""
