"""The lab: practice hosts with simulated GPUs, as containers on this machine, reached by real SSH."""
