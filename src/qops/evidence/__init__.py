"""Typed evidence: what a host, a log or a bundle said. Pure values; nothing here reads or runs anything."""
