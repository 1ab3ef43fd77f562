"""Serving functions with @batch."""
