"""The lab's image registry: Debian's docker-registry with small images made on the spot."""
