"""Where start scripts find the server: ``python -m cog.server.http``."""
