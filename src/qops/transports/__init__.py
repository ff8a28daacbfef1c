"""How a host is asked: on this machine, over SSH, or from what was recorded."""
