"""The forms in which nvidia-smi answers, one module each; `qops.probes.gpus` and others put them together."""
