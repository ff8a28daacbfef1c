"""The real serving engine of practice hosts: vLLM on the CPU, with a tiny model made on the spot."""
