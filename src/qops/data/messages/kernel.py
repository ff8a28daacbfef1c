"""Messages of kernel."""
