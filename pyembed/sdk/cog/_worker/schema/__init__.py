"""From a function's annotations to its OpenAPI document."""
