"""Settings files as people write them: random JSON with comments, odd blanks, and other hooks."""

from __future__ import annotations

import json

from hypothesis import strategies as st

NAMES = st.text(st.characters(codec="utf-8", exclude_categories=("Cs",)), max_size=8)
PLAIN = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | NAMES
)
VALUES = st.recursive(
    PLAIN,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=3),
    max_leaves=6,
)
GROUP = st.fixed_dictionaries(
    {"hooks": st.lists(st.fixed_dictionaries({"command": NAMES}), max_size=2)},
    optional={"matcher": NAMES},
)
EVENTS = st.sampled_from(["PreToolUse", "PostToolUse", "Stop", "Notification"])
HOOKS = st.dictionaries(EVENTS, st.lists(GROUP, max_size=2), max_size=3)
SERVERS = st.dictionaries(NAMES.filter(lambda name: name != "dibs"), VALUES, max_size=2)
#: The content of a user's settings file.
SETTINGS = st.builds(
    lambda rest, more: {**rest, **more},
    st.dictionaries(
        NAMES.filter(lambda name: name not in {"hooks", "mcpServers"}), VALUES, max_size=3
    ),
    st.fixed_dictionaries({}, optional={"hooks": HOOKS, "mcpServers": SERVERS}),
)


@st.composite
def written(draw, value, *, comments=False, trailing=False):
    """Return ``value`` as JSON with random blanks, line endings, and comments."""
    newline = draw(st.sampled_from(["\n", "\r\n"]))
    blanks = ["", "", " ", newline, newline + "  ", newline + "\t"]
    if comments:
        blanks += [
            f" // why{newline}",
            "/* a */",
            f'{newline}  // one more, with }} and " {newline}',
        ]
    gap = st.sampled_from(blanks)

    def text(part):
        if isinstance(part, dict):
            rows = [
                f"{draw(gap)}{json.dumps(key)}{draw(gap)}:{draw(gap)}{text(inner)}{draw(gap)}"
                for key, inner in part.items()
            ]
            return _closed("{", rows, "}", draw, gap, trailing=trailing)
        if isinstance(part, list):
            rows = [f"{draw(gap)}{text(inner)}{draw(gap)}" for inner in part]
            return _closed("[", rows, "]", draw, gap, trailing=trailing)
        return json.dumps(part, ensure_ascii=draw(st.booleans()))

    return f"{draw(gap)}{text(value)}{draw(gap)}"


def _closed(opening, rows, closing, draw, gap, *, trailing):
    if not rows:
        return opening + draw(gap) + closing
    end = "," + draw(gap) if trailing and draw(st.booleans()) else ""
    return opening + ",".join(rows) + end + closing


def is_within(small, large):
    """Return whether one text is a subsequence of the other."""
    rest = iter(large)
    return all(letter in rest for letter in small)
