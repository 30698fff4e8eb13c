"""Rules as pure functions over values: no clock, no disk, no process; ``now`` is an argument."""
