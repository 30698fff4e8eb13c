"""What is set up on this machine, and what is missing."""
