"""The HTTP server: the only user of the web framework's server side."""
