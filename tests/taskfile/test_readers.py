"""The two YAML readers: where the fast one returns something, the full one returns the same."""

from hypothesis import example, given, settings
from hypothesis import strategies as st

from dibs.taskfile import yaml_fast, yaml_full
from dibs.taskfile.document import NotYaml, decode
from dibs.taskfile.reading import read

NAME = "a.yaml"

#: Pieces of lines: what the layout consists of, and what could be mistaken for it.
VALUES = st.sampled_from(
    [
        *(
            "x",
            "no",
            "12:30",
            "1.10",
            "~",
            "null",
            "a b",
            "a#b",
            "a # note",
            "a: b",
            "a:",
            "-",
            "- x",
        ),
        *(
            '"q"',
            "'q'",
            '"a" # n',
            '"a"b',
            '"a\\n"',
            "'it''s'",
            '"open',
            "''",
            '""',
            '"#"',
            "' # '",
        ),
        *(
            "[a, b]",
            "[]",
            "[a, 'b', \"c\"]",
            "[a",
            "[a,]",
            "[a: b]",
            "[ a ] # n",
            "[,]",
            "{}",
            "{a: b}",
        ),
        *(
            "|",
            "|-",
            "|+",
            ">",
            ">-",
            ">+",
            "|2",
            "| # n",
            "&a",
            "*a",
            "!t",
            "!!str x",
            "%",
            "@a",
            "`",
        ),
        *(
            "é",
            "日本",
            "\xa0x",
            "x\xa0",
            "x ",
            "# only",
            "#x",
            "...",
            "---",
            "? a",
            "<<",
            "(a)",
            "+1",
            ".5",
        ),
        *(
            "/a/b",
            "http://x/y",
            "a,b",
            "a]b",
            "a}b",
            "a - b",
            "~x",
            "$x",
            "=",
            "<",
            "{",
            "[a]b",
            "[a] b",
        ),
        *("[é]", "[a b, c]", "['a, b']", "[-1]", "[a#b]", "[~]", "['~']", "\ufffd", "😀"),
    ]
)
KEYS = st.sampled_from(
    ["a", "b", "c", "a-b", "a_b", "A", "1a", '"a"', "a b", "<<", "?", "null", "-"]
)
ROWS = st.one_of(
    st.builds("{}{}: {}".format, st.sampled_from(["", "  ", "    ", " "]), KEYS, VALUES),
    st.builds("{}{}:".format, st.sampled_from(["", "  ", "    "]), KEYS),
    st.builds("{}- {}".format, st.sampled_from(["", "  ", "    "]), VALUES),
    st.builds("{}{}".format, st.sampled_from(["", "  ", "    ", "   "]), VALUES),
    st.sampled_from(["", "  ", "    ", "# note", "  # note", "---", "...", "-", "  -"]),
)
ANY_ROWS = st.lists(ROWS, max_size=9)

#: Values that are valid anywhere, as the lines of a value after its key, and below it.
RIGHT = st.sampled_from(
    [
        *(
            "x",
            "no",
            "12:30",
            "~",
            "a b",
            "a#b",
            "a # note",
            '"q"',
            "'q' # n",
            '"a\\n"',
            "'it''s'",
            "''",
        ),
        *(
            '"#"',
            "[a, b]",
            "[]",
            "[a, 'b'] # n",
            "{}",
            "{a: b, c: [d]}",
            "é",
            "http://x/y",
            "a - b",
            "+1",
        ),
        *(
            '"two\n{} lines"',
            "two\n{} lines",
            "[a,\n{} b]",
            "|\n{} x\n\n{}   y\n{} # z",
            "|-\n{} x\n{} y",
        ),
        *(
            ">\n{} x\n{} y",
            ">-\n{} x\n\n{} y\n",
            "|+\n{} x\n\n",
            "|\n{}   x\n{}  # y",
            "| # n\n{} x: y",
        ),
        *(
            "|2\n{}   x\n{}  y",
            "-5",
            "<x>",
            "'a\n\n{} b'",
            "{{a: 'b # c'}} # d".replace("{{", "{").replace("}}", "}"),
        ),
    ]
)
RIGHT_KEYS = st.lists(
    st.sampled_from(["a", "b", "c", "a-b", "A", "status", "title", '"q r"', "'s'", "d e", "null"]),
    unique=True,
    min_size=1,
    max_size=4,
)
BETWEEN = st.sampled_from(["", "", "", "", "\n", "{}# note\n", "# note\n", "   \n"])


def filled(value, margin):
    return value.replace("{}", margin) if "{}" in value and "\n" in value else value


@st.composite
def mappings(draw, margin="", depth=0):
    """Write a mapping in some valid layout."""
    text = ""
    for key in draw(RIGHT_KEYS):
        text += draw(BETWEEN).replace("{}", margin)
        kind = draw(st.sampled_from("vvvvvlmn" if depth < 3 else "vl"))
        if kind == "v":
            text += f"{margin}{key}: {filled(draw(RIGHT), margin + '  ')}\n"
        elif kind == "n":
            text += f"{margin}{key}:{draw(st.sampled_from(['', ' ', ' # note']))}\n"
        else:
            text += f"{margin}{key}:{draw(st.sampled_from(['', ' # note']))}\n"
            inner = margin + draw(st.sampled_from(["  ", "    ", " "]))
            if kind == "m":
                text += draw(mappings(inner, depth + 1))
            else:
                inner = draw(st.sampled_from([margin, inner]))
                for item in draw(st.lists(RIGHT, min_size=1, max_size=3)):
                    text += f"{inner}- {filled(item, inner + '  ')}\n"
                    text += draw(BETWEEN).replace("{}", inner)
    return text


STRAY = st.builds("\n".join, ANY_ROWS)
TEXTS = st.one_of(
    mappings(),
    mappings(),
    st.builds("{}{}".format, mappings(), STRAY),
    st.builds("{}{}".format, STRAY, mappings()),
    st.builds("\n".join, ANY_ROWS),
    st.builds("---\n{}".format, mappings()),
    mappings().map(str.rstrip),
)


@settings(max_examples=500, deadline=None)
@given(TEXTS)
@example("a: |\n  x\n\n\n")
@example("a: |+\n  x\n\n\nb: y\n")
@example("a: |+\n  x\n\n")
@example("a: >\n  x\n  y\n\n# note\nb: z")
@example("a:\n- x\n- y\nb:\n  - z\n")
@example("a:\n  b:\n    c:\n    - x\n  d: y\n")
@example("a: x\n  # note\n  y\n")
@example("a:\n\n  # note\n\nb:\n")
def test_the_full_reader_agrees_with_the_fast_one(text):
    found = yaml_fast.parse(text)

    if found is not None:
        assert yaml_full.parse(text) == found


@settings(max_examples=250, deadline=None)
@given(TEXTS | st.text(max_size=60))
def test_the_full_reader_reads_or_says_why(text):
    remark = None
    try:
        yaml_full.parse(decode(text.encode("utf-8", "surrogatepass")))
    except NotYaml as error:
        remark = error.remark

    assert remark is None or remark.code
    assert remark is None or remark.line <= text.count("\n") + 2


@settings(max_examples=250, deadline=None)
@given(TEXTS.map(str.encode) | st.binary(max_size=80))
def test_reading_never_raises(content):
    reading = read(content, NAME)

    assert (reading.task is None) == any(remark.fatal for remark in reading.remarks)


def test_a_description_is_every_text_in_which_people_describe_the_work():
    from dibs.taskfile.reading import description_of

    text = "title: x\ndescription: |\n  two\n  lines\ncontext:\n  notes: [one, 2]\nnotes: more\n"

    assert description_of(text) == ["two\nlines", "more", "one", "2"]
    assert description_of("title: [x\n") == []
    assert description_of("context: [notes]\n") == []
