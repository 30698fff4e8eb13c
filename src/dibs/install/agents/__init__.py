"""What each coding agent needs."""
