"""The crew's rows and what is done with them: start, assign, crash, restart, stop, and text commands."""
