"""`python -m qops` is `qops`."""

from qops.cli import main

main()
