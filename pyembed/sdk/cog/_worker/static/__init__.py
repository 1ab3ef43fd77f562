"""Reading a model's source without running it."""
