"""Which prediction each line of output belongs to."""
