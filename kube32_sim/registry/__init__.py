"""The verbs of the API, once: what a request means, apart from how it arrived."""
