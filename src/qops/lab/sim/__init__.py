"""A simulator of GPU hosts: it answers nvidia-smi, lspci, dmesg and /sys for a practice host.

The package imports nothing but the standard library, because it is copied into a host as it stands.
Every number it prints is invented from a scenario file. No GPU is behind it.
"""

VERSION = "1"
NOTICE = "qops-lab hardware simulator " + VERSION + ": what it prints is simulated, no GPU is behind it"
