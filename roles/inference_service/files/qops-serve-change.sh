#!/bin/sh
# Isolated: what lies in the current folder or in PYTHONPATH is none of its business.
exec python3 -IB /usr/local/lib/qops/serve change "$@"
