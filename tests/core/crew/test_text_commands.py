"""Text commands are found in any chunking of an agent's output, and only outside quotations."""

import json
import re
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from dibs.core.crew.text_command_fields import COMMANDS, MAX_ITEMS, STRINGS
from dibs.core.crew.text_commands import (
    MAX_COMMAND,
    CommandError,
    CommandReader,
    TextCommand,
    without_commands,
)

LOCK = '⟦⟦ LOCK_FILE {"filePath": "a.py"} ⟧⟧'
LOCKED = TextCommand("LOCK_FILE", {"filePath": "a.py"})
STATUS = '⟦⟦ DIBS {"tool": "status"} ⟧⟧'
QUERY = TextCommand("DIBS", {"tool": "status"})
PAGE = Path(__file__).parents[3] / "docs" / "reference" / "text-commands.md"


def read(*chunks, nonce=""):
    """Return everything that a reader finds in the chunks of one text."""
    reader = CommandReader(nonce)
    return [item for chunk in chunks for item in reader.feed(chunk)] + reader.close()


def command(name, /, **fields):
    return f"⟦⟦ {name} {json.dumps(fields)} ⟧⟧"


def error(text, **options):
    """Return the message of the only thing in a text, an error."""
    (found,) = read(text, **options)
    assert isinstance(found, CommandError), found
    assert "\n" not in found.message
    return found.message


# -- any chunking

PIECES = [
    "`", "``", "```", "````", "~~~", "~", "⟦", "⟦⟦", "⟧", "⟧⟧", "\n", "\r\n", " ", "   ", "    ", "{", "}",
    '"', "\\", ":", ",", "x", "true", "1", "LOCK_FILE", "DIBS", "NOTHING", "k3f9", " k3f9 ",
    '{"filePath": "a.py"}', '{"content": "⟧⟧", "to": "b"}', LOCK, STATUS,
    STATUS.replace("⟦⟦", "⟦⟦k3f9"), "⟦⟦ LOCK_FILE {", "info", "a" * 301, "é",
]  # fmt: skip
TEXTS = st.lists(st.sampled_from(PIECES), max_size=30).map("".join)


@given(TEXTS, st.data(), st.sampled_from(["", "k3f9"]))
@example("⟦⟦ LOCK_FILE " + "x" * 300, None, "")
@example(" " * 290 + "⟦⟦" + " " * 298 + "LOCK_FILE {}", None, "")
def test_every_chunking_of_a_text_yields_the_same_commands(text, data, nonce):
    cuts = []
    if data is not None:
        cuts = sorted(data.draw(st.lists(st.integers(0, len(text)), max_size=8)))
    places = [0, *cuts, len(text)]
    chunks = [text[start:end] for start, end in pairwise(places)]

    whole = read(text, nonce=nonce)

    assert read(*chunks, nonce=nonce) == whole
    assert read(*text, nonce=nonce) == whole


VALUES = st.text(
    st.sampled_from(list('⟦⟧{}[]"\\`~ \n\tab🙂é')) | st.characters(exclude_categories=["Cs"]),
    min_size=1,
    max_size=40,
).filter(str.strip)


@given(VALUES, VALUES, st.integers(1, 9), st.booleans())
def test_a_payload_arrives_as_it_was_written(to, content, size, plain):
    text = json.dumps({"tool": to, "content": content}, ensure_ascii=plain, indent=size % 3 or None)
    whole = f"before\n⟦⟦ DIBS {text} ⟧⟧ after"

    found = read(*(whole[at : at + size] for at in range(0, len(whole), size)))

    assert found == [TextCommand("DIBS", {"tool": to, "content": content})]


# -- what a command is


@pytest.mark.parametrize(
    "text",
    [
        LOCK,
        '⟦⟦LOCK_FILE{"filePath":"a.py"}⟧⟧',
        '⟦⟦\n  LOCK_FILE\n  {\n    "filePath": "a.py"\n  }\n⟧⟧',
        f"I lock it now: {LOCK}, and then I edit it.",
        f"> {LOCK}",
        f"- `code` {LOCK} `code`",
        '⟦⟦ LOCK_FILE {"filePath": "a.py", "reason": null} ⟧⟧',
    ],
)
def test_a_command_may_be_anywhere_in_a_text_and_on_several_lines(text):
    assert read(text) == [LOCKED]


def test_a_command_is_found_as_soon_as_it_is_closed():
    reader = CommandReader()

    assert reader.feed(LOCK) == [LOCKED]


def test_nested_braces_and_closing_brackets_in_strings_belong_to_the_payload():
    details = {"a": {"b": [{"c": "}} ⟧⟧ ⟦⟦ COMMIT {} ⟧⟧ \\"}]}}

    assert read(command("DIBS", tool="⟧⟧", details=details)) == [
        TextCommand("DIBS", {"tool": "⟧⟧", "details": details})
    ]


def test_a_string_may_contain_line_breaks():
    text = '⟦⟦ COMMIT {"message": "one\n```\ntwo"} ⟧⟧'

    assert read(text) == [TextCommand("COMMIT", {"message": "one\n```\ntwo"})]


def test_a_command_quoted_in_a_broken_message_does_not_act():
    text = f'⟦⟦ COMMIT {{"message": "print\n{LOCK}\nnow"}} ⟧⟧\n{LOCK}'

    assert [type(item) for item in read(text)] == [CommandError, TextCommand]


@pytest.mark.parametrize(
    "text", ["⟦x⟧", "⟦⟦", "⟦⟦ see above ⟧⟧", f"⟦{LOCK}⟧", "a ⟦⟦ b", "⟦⟦ ⟧⟧", "⟦⟦ x.y ⟧⟧"]
)
def test_other_text_in_brackets_is_not_a_command(text):
    assert read(f"{text}\n{LOCK}") == [LOCKED]


# -- quotations


@pytest.mark.parametrize(
    "text",
    [
        f"```\n{LOCK}\n```",
        f"~~~ text\n{LOCK}\n~~~",
        f"   ````md\n```\n{LOCK}\n```\n{LOCK}\n  ````",
        f"```\n{LOCK}\n```` \t",
        f"```\n{LOCK}\n~~~\n{LOCK}\n``` x\n{LOCK}\n    ```\n{LOCK}\n```",
        f"``` {LOCK}\n{LOCK}\n```",
        f"~~~ ` {LOCK}\n{LOCK}\n~~~",
        f"```\r\n{LOCK}\r\n```\r",
        f"`{LOCK}`",
        f"a ``{LOCK} ` {LOCK}`` b",
        f"`` ` {LOCK} `",
        f"```{LOCK}``` is code",
        "`⟦⟦` and `⟦⟦ LOCK_FILE {` begin a command",
        "`⟦⟦ LOCK_FILE {...} ⟧⟧`",
    ],
)
def test_a_command_in_code_is_a_quotation(text):
    assert read(f"{text}\n{STATUS}") == [QUERY]


@pytest.mark.parametrize(
    "text",
    [
        f"    ```\n{LOCK}",
        f"``\n{LOCK}",
        f"```\ncode\n```\n{LOCK}",
        f"~~~\n~~~~\n{LOCK}",
        f"a ```\n{LOCK}",
        f"``` ` ```\n{LOCK}",
        f"it`s {LOCK}",
        f"``TeX quotes'' {LOCK}",
        f"`a` {LOCK} `",
        f"`\n{LOCK}\n`",
        f"` {LOCK[:-3]}\n⟧⟧ `",
    ],
)
def test_a_command_outside_code_counts(text):
    assert read(text) == [LOCKED]


def test_a_command_after_an_unpaired_backtick_waits_for_the_end_of_its_line():
    reader = CommandReader()

    assert reader.feed(f"it`s {LOCK}") == []
    assert reader.feed("\n") == [LOCKED]


def test_a_line_with_too_many_unpaired_backticks_counts_as_code():
    runs = " ".join("`" * length for length in range(1, 80))

    assert read(f"{runs} {LOCK}\n{LOCK}") == [LOCKED]


def test_the_next_text_of_a_reader_starts_outside_code():
    reader = CommandReader()

    assert reader.feed(f"```\n{LOCK}") == []
    assert reader.close() == []
    assert reader.feed(LOCK) == [LOCKED]


# -- the nonce


def test_with_a_nonce_only_commands_that_name_it_count():
    mine, other = (STATUS.replace("⟦⟦", f"⟦⟦{nonce}") for nonce in ("k3f9", "k3f8"))
    text = f"{LOCK} ⟦⟦ NOTHING ⟧⟧ {other} ⟦⟦ LOCK_FILE oops ⟧⟧ {mine}"

    assert read(text, nonce="k3f9") == [QUERY]
    assert read('⟦⟦ k3f9 LOCK_FILE {"filePath": "a.py"} ⟧⟧', nonce="k3f9") == [LOCKED]


def test_with_a_nonce_a_command_that_others_left_open_hides_nothing():
    text = '⟦⟦ LOCK_FILE {"filePath": "' + STATUS.replace("⟦⟦", "⟦⟦k3f9")

    assert read(text, nonce="k3f9") == [QUERY]
    assert read("⟦⟦k3f9 ⟧⟧", nonce="k3f9") == []


# -- errors


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("⟦⟦ LOK_FILE {} ⟧⟧", "unknown command 'LOK_FILE' (did you mean LOCK_FILE?)"),
        ('⟦⟦ lock_file {"filePath": "a"} ⟧⟧', "unknown command 'lock_file' (did you mean LOCK_FILE?)"),
        ("⟦⟦ QQQ ⟧⟧", "unknown command 'QQQ'"),
        ("⟦⟦ LOCK_FILE ⟧⟧", "LOCK_FILE: the field filePath is missing"),
        ("⟦⟦ LOCK_FILE src/a.py ⟧⟧", "LOCK_FILE is malformed: its fields must be a JSON object"),
        ('⟦⟦ LOCK_FILE now {"filePath": "a"} ⟧⟧',
         "LOCK_FILE is malformed: its fields must be a JSON object"),
        ("⟦⟦ LOCK_FILE {} x ⟧⟧", "LOCK_FILE is malformed: expected ⟧⟧ after the JSON object"),
        ("⟦⟦ LOCK_FILE {} {} ⟧⟧", "LOCK_FILE is malformed: expected ⟧⟧ after the JSON object"),
        ("⟦⟦ LOCK_FILE {x: 1} ⟧⟧",
         "LOCK_FILE: malformed JSON at character 2: Expecting property name enclosed in double quotes"),
        ('⟦⟦ COMMIT {"files": "a} ⟧⟧\n',
         "COMMIT: malformed JSON at character 11 near '\"a} ⟧⟧': Unterminated string starting at"),
        ('⟦⟦ LOCK_FILE {"filePath"', "LOCK_FILE is not closed: the text ends before ⟧⟧"),
        ('⟦⟦ LOCK_FILE {"filePath": "a"}', "LOCK_FILE is not closed: expected ⟧⟧ after the JSON object"),
        ("⟦⟦ LOCK_FILE", "LOCK_FILE is not closed: its fields must be a JSON object"),
        (command("LOCK_FILE", filePath=""), "LOCK_FILE: filePath is empty"),
        (command("LOCK_FILE", filePath=1), "LOCK_FILE: filePath must be a string"),
        (command("LOCK_FILE", filePath="\ud800"),
         "LOCK_FILE: filePath contains half of a surrogate pair, which is not a character"),
        (command("LOCK_FILE", filePath="a", reasn="x"),
         "LOCK_FILE: unknown field 'reasn' (did you mean reason?)"),
        (command("DIBS", action="done"), "DIBS: the field tool is missing"),
        (command("COMMIT", message="x", files="a.py"),
         "COMMIT: files must be an array of at most 500 items"),
        (command("COMMIT", message="x", files=["a", 1]), "COMMIT: files[1] must be a string"),
    ],
)  # fmt: skip
def test_an_invalid_command_is_an_error_in_one_line(text, message):
    assert error(text) == message
    assert read(f"{text}\n")[0] == CommandError(message) or "not closed" in message


@pytest.mark.parametrize("inside", ["9" * 5_000, "[" * 20_000, "[" * 20_000 + "]" * 20_000])
def test_a_payload_that_a_parser_could_choke_on_is_an_error(inside):
    assert error(f'⟦⟦ DIBS {{"details": {inside}}} ⟧⟧').startswith("DIBS")


def test_a_malformed_command_does_not_hide_the_next_one():
    for broken in ('{"a": b}', '{"a": "b}', '{"a": "b" "c": 1}', '{"a"', "{", '{"a": "\\"}'):
        found = read(f"⟦⟦ LOCK_FILE {broken} ⟧⟧\n{LOCK}\n")

        assert isinstance(found[0], CommandError), broken
        assert found[1:] == [LOCKED], broken


@pytest.mark.parametrize(("kind", "most"), STRINGS.items())
def test_each_kind_of_string_has_a_limit(kind, most):
    name, field = {
        "text": ("COMMIT", "message"),
        "name": ("DIBS", "tool"),
        "path": ("UNLOCK_FILE", "filePath"),
    }[kind]

    assert read(command(name, **{field: "x" * most})) == [TextCommand(name, {field: "x" * most})]
    message = f"{name}: {field} has {most + 1} characters (the limit is {most})"
    assert error(command(name, **{field: "x" * (most + 1)})) == message


def test_an_array_has_a_limit():
    assert isinstance(read(command("COMMIT", message="x", files=["x"] * MAX_ITEMS))[0], TextCommand)
    message = f"COMMIT: files must be an array of at most {MAX_ITEMS} items"
    assert error(command("COMMIT", message="x", files=["x"] * (MAX_ITEMS + 1))) == message


# -- memory


def kept(reader):
    """Return about how many characters a reader keeps."""
    page, one = reader._page, reader._command
    return len(page._held) + len(page.found) + (sum(map(len, one._parts)) if one else 0)


@pytest.mark.parametrize(
    ("start", "chunk", "most"),
    [
        ("", "x" * 10_000, 10),
        ("", "`" * 10_000, 10),
        ("", "` `` ``` ", 100),
        ("", "⟦" * 10_000, 10),
        ("", "⟦⟦ ", 10),
        ("⟦⟦ ", "x" * 1_000, 10),
        ("```\n", f"{LOCK} ", 10),
        ("⟦⟦ LOCK_FILE {", " " * 10_000, MAX_COMMAND),
        ('⟦⟦ LOCK_FILE {"', "⟧⟧" * 5_000, MAX_COMMAND),
    ],
)
def test_output_without_a_line_end_does_not_accumulate(start, chunk, most):
    reader = CommandReader()
    reader.feed(start)

    for _ in range(100):
        reader.feed(chunk)
        assert kept(reader) <= most


def test_a_command_that_is_too_long_is_an_error_and_nothing_inside_it_acts():
    long = "x" * MAX_COMMAND + LOCK.replace('"', '\\"')

    found = read(f'⟦⟦ COMMIT {{"message": "{long}"}} ⟧⟧ {LOCK}')

    assert found == [CommandError("COMMIT is longer than 65536 characters"), LOCKED]


def test_a_command_that_is_never_closed_is_reported_before_the_text_ends():
    reader = CommandReader()
    reader.feed("⟦⟦ LOCK_FILE {")

    assert reader.feed(" " * MAX_COMMAND) == [
        CommandError("LOCK_FILE is longer than 65536 characters")
    ]
    assert reader.close() == []


@given(TEXTS)
def test_text_without_commands_contains_none(text):
    assert read(without_commands(text)) == []


# -- the page


def test_the_page_lists_every_command_and_field():
    rows = dict(re.findall(r"^\| `([A-Z_]+)`.*?\| (.*?) \|", PAGE.read_text("utf-8"), re.MULTILINE))

    assert set(rows) == set(COMMANDS)
    for name, fields in COMMANDS.items():
        written = [f"`{field.name}`{'' if field.required else '?'}" for field in fields]
        assert re.findall(r"`\w+`\??", rows[name]) == written, name


def test_the_page_lists_every_limit():
    text = PAGE.read_text("utf-8")

    for most in (*STRINGS.values(), MAX_ITEMS, MAX_COMMAND):
        assert f"{most:,}" in text
