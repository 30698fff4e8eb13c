"""Rules for briefings: what they contain, in which order, and what is left out when space is short."""
