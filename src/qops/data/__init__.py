"""Facts of the world, each row with its source."""
