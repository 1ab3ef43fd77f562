"""Inputs and outputs: from JSON to Python and back."""
