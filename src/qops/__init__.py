"""qops: from a bare GPU machine to a verified LLM endpoint, and why it broke."""

__version__ = "0.1.0"
