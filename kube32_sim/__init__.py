"""kube32-sim: a Kubernetes-API-compatible fake control plane for ESP32 boards."""
