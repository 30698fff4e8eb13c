"""Base classes for values that are cheap to define: records and enumerations of strings.

``typing.NamedTuple`` compiles source for each class, and importing ``typing`` takes a fifth of Python's
startup time. To a type checker a ``Record`` is a ``NamedTuple``, and at run time it behaves like one. The
members of a ``TextEnum`` are plain strings, and the class can be iterated.
"""

from __future__ import annotations

__all__ = ["Record", "TextEnum"]

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import NamedTuple as Record
else:
    from _collections import _tuplegetter

    _new = tuple.__new__
    #: Getters of fields by position, shared by all classes.
    _GETTERS = []

    class _RecordMaker(type):
        """Turns annotated names into fields of a tuple."""

        def __new__(cls, name, bases, space):
            fields = tuple(space.get("__annotations__", ()))
            defaults = {field: space.pop(field) for field in fields if field in space}
            space["__slots__"] = ()
            space["__match_args__"] = space["_fields"] = fields
            space["_field_defaults"] = defaults
            while len(_GETTERS) < len(fields):
                _GETTERS.append(_tuplegetter(len(_GETTERS), None))
            space.update(zip(fields, _GETTERS))  # noqa: B905 - there are enough
            space["__new__"] = _maker(len(fields))
            return super().__new__(cls, name, bases, space)

    def _maker(count):
        def make(cls, *values, **named):
            if named or len(values) != count:
                values = _completed(cls, values, named)
            return _new(cls, values)

        return make

    def _completed(cls, values, named):
        """Return all values of a record: positional, by name, and defaults."""
        if len(values) > len(cls._fields):
            raise TypeError(f"{cls.__name__} has {len(cls._fields)} fields, not {len(values)}")
        rest = []
        for field in cls._fields[len(values) :]:
            if field in named:
                rest.append(named.pop(field))
            elif field in cls._field_defaults:
                rest.append(cls._field_defaults[field])
            else:
                raise TypeError(f"{cls.__name__} is missing {field}")
        if named:
            raise TypeError(f"{cls.__name__} got an unexpected or repeated {', '.join(named)}")
        return (*values, *rest)

    class Record(tuple, metaclass=_RecordMaker):
        """An immutable value with named fields."""

        def _replace(self, **changes):
            values, fields = list(self), self._fields
            for field, value in changes.items():
                if field not in fields:
                    unknown = ", ".join(name for name in changes if name not in fields)
                    raise ValueError(f"{type(self).__name__} has no {unknown}")
                values[fields.index(field)] = value
            return _new(type(self), values)

        def _asdict(self):
            return dict(zip(self._fields, self))  # noqa: B905 - always the same length

        def __repr__(self):
            shown = ", ".join(f"{field}={value!r}" for field, value in self._asdict().items())
            return f"{type(self).__name__}({shown})"

        def __getnewargs__(self):
            return tuple(self)


class TextEnum(type):
    """Metaclass of an enumeration of strings: its uppercase names are the members, in order."""

    def __iter__(cls) -> Iterator[str]:
        """Iterate over the members."""
        return iter([value for name, value in vars(cls).items() if name.isupper()])
