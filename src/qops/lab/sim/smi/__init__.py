"""The simulated `nvidia-smi`: one module per form of its output."""
