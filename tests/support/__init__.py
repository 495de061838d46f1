"""What tests share: servers to talk to, kubectl, a plain HTTP client, waiting without sleeping blindly."""
