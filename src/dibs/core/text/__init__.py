"""Text for people and agents: names, durations, secrets, text that other agents wrote."""
