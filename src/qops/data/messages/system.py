"""Messages of system."""
