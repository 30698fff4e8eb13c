"""The rows of a store. The only package that knows keys and uses transactions."""
