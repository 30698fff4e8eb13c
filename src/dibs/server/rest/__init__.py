"""The REST API: one table of routes, generated OpenAPI, and one error envelope."""
