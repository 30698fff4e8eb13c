"""A crew at work is told what changed, in a fraction of what sending the whole page would take."""

from bench.briefing import tell
from bench.day import Day


def test_a_crew_at_work_is_told_in_less_than_half_of_the_tokens():
    told = tell(Day(hours=0.15))

    assert told.moments > 20
    assert told.ours < told.cut / 2
    assert told.ours < told.digest / 2
