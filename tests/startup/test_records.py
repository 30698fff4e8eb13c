"""Records behave like named tuples, as type checkers assume."""

import copy
import pickle
from typing import NamedTuple

import pytest

from dibs.core.claims.rules import Claim, Conflict
from dibs.startup.records import Record, TextEnum


class Point(Record):
    """A record with a default and a method."""

    x: int
    y: int = 7

    @property
    def total(self):
        return self.x + self.y


class Twin(NamedTuple):
    x: int
    y: int = 7


@pytest.mark.parametrize(
    ("values", "named"), [((1,), {}), ((1, 2), {}), ((), {"x": 1}), ((1,), {"y": 3})]
)
def test_a_record_is_created_like_a_named_tuple(values, named):
    assert tuple(Point(*values, **named)) == tuple(Twin(*values, **named))


@pytest.mark.parametrize(
    ("values", "named"), [((), {}), ((1, 2, 3), {}), ((1,), {"x": 1}), ((1,), {"z": 1})]
)
def test_a_record_refuses_what_a_named_tuple_refuses(values, named):
    with pytest.raises(TypeError):
        Twin(*values, **named)
    with pytest.raises(TypeError):
        Point(*values, **named)


def test_fields_are_read_by_name_and_cannot_be_set():
    point = Point(1, 2)

    assert (point.x, point.y, point.total) == (1, 2, 3)
    with pytest.raises(AttributeError):
        point.x = 5
    with pytest.raises(AttributeError):
        point.other = 5


def test_a_record_can_be_replaced_listed_shown_matched_and_copied():
    point = Point(1, 2)

    assert point._replace(y=9) == Point(1, 9)
    assert point._asdict() == {"x": 1, "y": 2}
    assert repr(point) == "Point(x=1, y=2)"
    match point:
        case Point(x, y):
            assert (x, y) == (1, 2)
    assert copy.deepcopy(point) == point
    assert type(pickle.loads(pickle.dumps(point))) is Point
    with pytest.raises(ValueError, match="no z"):
        point._replace(z=1)
    with pytest.raises(ValueError, match="no z, w"):
        point._replace(z=1, y=3, w=2)


def test_records_compare_hash_and_unpack_like_tuples():
    assert Point(1, 2) == (1, 2)
    assert hash(Point(1, 2)) == hash((1, 2))
    assert [*Point(1, 2)] == [1, 2]


def test_enumeration_members_are_strings_in_order():
    class Colour(metaclass=TextEnum):
        RED = "red"
        BLUE = "blue"

    assert list(Colour) == ["red", "blue"]
    assert "red" in Colour
    assert Colour.RED == "red"


def test_fields_are_in_the_order_of_their_lines():
    assert Claim._fields[:4] == ("id", "pattern", "mode", "agent")
    assert Conflict._field_defaults == {"ticket": 0, "token": 0, "while_running": False}
