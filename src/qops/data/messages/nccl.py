"""Messages of nccl."""
