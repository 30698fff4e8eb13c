"""Code that several engines share: clock, turn-taking, folder checks, pending writes."""
