"""Looking into what lies on a disk, an image or a model, without running or loading it."""
