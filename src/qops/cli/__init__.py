"""The command line: a lazy group, one module per command."""
