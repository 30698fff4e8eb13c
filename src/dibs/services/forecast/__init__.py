"""Forecast which work would conflict if it were merged now."""
