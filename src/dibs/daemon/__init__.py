"""The background process that makes hooks faster."""
