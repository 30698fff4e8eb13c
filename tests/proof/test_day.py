"""A working crew learns what changed with a fraction of the tokens of full briefings."""

from bench.briefing import tell
from bench.day import Day


def test_a_working_crew_is_briefed_with_less_than_half_of_the_tokens():
    told = tell(Day(hours=0.15))

    assert told.moments > 20
    assert told.ours < told.cut / 2
    assert told.ours < told.digest / 2
