"""Messages of engine."""
