"""What is different between two states of a cluster: where pods run, what happened, which objects there are."""
