"""Loading a model, and what it says about itself."""
