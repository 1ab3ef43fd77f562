"""The worker's side of the server. Private: models import `cog` only."""
