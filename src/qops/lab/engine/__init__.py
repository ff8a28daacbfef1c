"""The real serving engines of practice hosts: vLLM and SGLang on the CPU, with tiny models made on the spot."""
