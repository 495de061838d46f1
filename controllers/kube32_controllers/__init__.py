"""The control loops of kube32."""
