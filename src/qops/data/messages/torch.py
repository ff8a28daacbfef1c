"""Messages of torch."""
