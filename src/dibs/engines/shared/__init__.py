"""What several engines need: clock, turns, folders, pending writes."""
