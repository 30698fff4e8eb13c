"""The files of a task board that ``dibs init --board`` creates."""
