"""Valid and invalid patterns, and their canonical spelling."""

from __future__ import annotations

import os
import pickle
import sys
import time
from random import Random

import pytest
from tests.core.patterns.glob_oracle import random_pattern

from dibs.core.patterns.casefold import CASED, _changed_by_folding, _fold_character
from dibs.core.patterns.pattern import is_everything, matches, overlap, parse, printable
from dibs.errors import BadInput

REFUSED = {
    "PATH_EMPTY": [
        *("", "   ", ".", "./", "././", "\u3000", "{,a}", "task:", "@", "{.,a}", "port:/", "file:"),
        "FILE:./",
    ],
    "PATH_ESCAPE": [
        *("..", "../x", "a/../../x", "a/..", "....//", "a/../", "...", "a/.../b", "*/../x"),
        *("**/../x", "{a,..}", r"\.\./x", "[.]./x", "task:../x", "a{/..,b}", "file:../x"),
    ],
    "PATH_ABSOLUTE": [
        *("/etc/passwd", "C:\\x", "c:/x", "\\\\host\\s", "file:///x", "HTTP://x/y", "~root/x", "~"),
        *("{/etc,a}", "{/etc}", "\\/etc", "task://x", "{C:/x,y}", "a+b.c://x"),
        *("file:/x", "File:///x", "file://localhost/x", "file://host/x", "file://"),
    ],
    "PATH_NUL": ["a\0b", "\0"],
    "PATH_CONTROL": [
        *("a\nb", "a\x1b[2Jb", "a\u202eb", "a\u200bb", "a\u0085b", "a\x7f", "\ufeffa", "a\u2066"),
        *("a\U000e0041", "a\u061c", "a\u2028b", r"a\xc2\x85b", "a{\\xc2,c}\\x85", "[a\u2060]"),
    ],
    "PATH_ENCODING": ["a\ud800b", "a\udc41", "a\udfff*"],
    "PATH_TOO_LONG": [
        *("/".join(["a" * 99] * 41), "a" * 256, "é" * 128, "/".join("a" * 65), "a" * 300 + "/*"),
        *("*" + "/a" * 600, "x" * 20_000, "a/" * 65),
    ],
    "PATH_RESERVED": [
        *(".git", ".git/config", "sub/.git/HEAD", ".GIT/x", "git~1", "a/GIT~1/b", r"\.git/x"),
        *(".gi[t]/x", "{a,.git}", "a/../.git", ".git/", ".git/**"),
    ],
    "GLOB_SYNTAX": [
        *("[", "[]", "[z-a]", "[az-a]", "a[!", "{a,b", "a\\", "a}", "[!]", "[/]", "{{a}", "[a\\", "x[^"),
        *("[\\]", "{task:1,b}", "{file:a,b}"),
    ],
    "GLOB_TOO_COMPLEX": [
        *("*a" * 17, "?" * 17, "[ab]" * 17, "**/a/" * 17, "{a,b}" * 9, "{" + "," * 256 + "}"),
        "{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}x",
    ],
}  # fmt: skip


@pytest.mark.parametrize(
    ("code", "text"), [(code, text) for code, texts in REFUSED.items() for text in texts]
)
def test_an_invalid_pattern_is_refused_with_one_short_message(code, text):
    with pytest.raises(BadInput) as refusal:
        parse(text)

    assert refusal.value.code == code
    assert refusal.value.field == "pattern"
    assert refusal.value.hint
    message = refusal.value.message
    assert len(message) < 300
    assert message.isprintable()
    assert message.encode()
    assert message.startswith(f'"{printable(text)[:20]}'[:20])


@pytest.mark.parametrize(
    ("text", "position"),
    [
        ("[", 1),
        ("[]", 1),
        ("ab[z-a]", 3),
        ("a[!", 2),
        ("x{a,b", 2),
        ("ab\\", 3),
        ("ab}", 3),
        ("file:[", 6),
    ],
)
def test_a_syntax_error_names_its_position(text, position):
    with pytest.raises(BadInput, match=rf"at position {position}$"):
        parse(text)


@pytest.mark.parametrize(
    ("text", "limit"),
    [("x" * 5000, "4096"), ("a" * 256, "255"), ("a/" * 65 + "a", "64"), ("*" + "/a" * 600, "1024")],
)
def test_a_pattern_that_is_too_long_names_the_limit(text, limit):
    with pytest.raises(BadInput, match=limit):
        parse(text)


def test_control_characters_are_shown_escaped():
    with pytest.raises(BadInput) as refusal:
        parse("a\x1b[2J\u202e\udcff\n")

    assert r"a\x1b[2J\u202e\xff\n" in refusal.value.message


def test_an_empty_pattern_suggests_two_stars():
    with pytest.raises(BadInput) as refusal:
        parse(".")

    assert "**" in refusal.value.hint


@pytest.mark.parametrize(
    "text",
    ["a" * 255, "/".join(["a" * 63] * 64), "/".join("a" * 64), "*a" * 16, "{a,b}" * 8, "*" + "/a" * 63],
)  # fmt: skip
def test_a_pattern_at_the_limit_is_accepted(text):
    assert parse(text).text == text


@pytest.mark.parametrize(
    ("text", "canonical"),
    [
        ("./a//b/./c", "a/b/c"),
        ("a/../b", "b"),
        ("x/y/../z/", "x/z/"),
        ("src/", "src/"),
        ("src//", "src/"),
        ("src/**/**/x", "src/**/x"),
        ("a**b", "a*b"),
        ("***", "*"),
        ("{a}", "a"),
        ("{a,A}", "a"),
        ("[a]x", "ax"),
        ("[*]", r"\*"),
        ("[cba]", "[a-c]"),
        ("[]a]", r"[\]a]"),
        ("[^a]", "[!a]"),
        ("[a/b]", "[ab]"),
        (r"\a\*", r"a\*"),
        ("a,b", "a,b"),
        ("e\u0301", "é"),
        ("e\\\u0301", "é"),
        ("a\udcff", r"a\xff"),
        (r"a\xFF", r"a\xff"),
        (r"\xc3\xa9", "é"),
        ("./ab:c", "./ab:c"),
        ("./C:/x", "./C:/x"),
        ("./~x", "./~x"),
        (r"\~x", "./~x"),
        ("./@x", "./@x"),
        ("./a:b", "a:b"),
        ("./ ", "./ "),
        ("task:42", "task:42"),
        ("@git/index", "@git/index"),
        ("port:80??", "port:80??"),
        ("task:{1,2}", "task:{1,2}"),
        ("src/{a,b/c}*", "src/{a,b/c}*"),
        (r"{a\,b,c}", r"{a\,b,c}"),
        ("[!-]x", "[!\\-]x"),
        ("file:a", "a"),
        ("FILE:src/**", "src/**"),
        ("file:./a/../b", "b"),
        ("file:a%20b", "a%20b"),
        ("file:task:1", "./task:1"),
        ("file:@x", "./@x"),
        ("file:file:a", "./file:a"),
        ("./file:a", "./file:a"),
        ("./FILE:a", "./FILE:a"),
    ],
)
def test_a_pattern_has_one_canonical_spelling(text, canonical):
    pattern = parse(text)

    assert pattern.text == canonical
    assert parse(canonical) == pattern
    assert parse(canonical).text == canonical


@pytest.mark.parametrize(
    "name",
    [
        *("a*b", "a?", "[x]", "{a,b}", "a\\b", ":(top)x", "-f", "!x", "#x", " lead", "trail ", "a,b"),
        *("\\xff", "a\udcffb", "é", "]", "}", "a:b", "A:b", "*", "**", "a\\", ".hidden", "a[", "x,{"),
    ],
)  # fmt: skip
def test_a_literal_is_taken_unchanged(name):
    pattern = parse(name, literal=True)

    assert pattern.literal
    assert pattern.path == name
    assert parse(pattern.text) == pattern
    assert parse(pattern.text).path == name
    assert pattern.text.encode()
    assert pattern.key.encode()
    assert matches(pattern, name)
    assert not matches(pattern, name + "x")


def test_a_literal_and_a_glob_of_the_same_characters_differ():
    assert parse("a*b", literal=True) != parse("a*b")
    assert not matches(parse("a*b", literal=True), "axb")
    assert parse("a/", literal=True) == parse("a/**")


@pytest.mark.parametrize(
    ("a", "b"),
    [
        *(("README", "readme"), ("é", "e\u0301"), ("É/x", "e\u0301/X"), ("x/", "x/**")),
        *(("x/**/", "X/"), ("{a,b}", "{B,a}"), ("[A-C]", "[a-c]"), ("straße", "STRASSE")),
        *(("task:A", "task:a"), ("a/./b", "A//b"), ("\\a", "a"), ("ǰ", "J\u030c")),
        *(("[!a]", "[!A]"), ("[!A-C]x", "[^a-c]X"), ("[!aA]", "[!a]"), ("{[!a],[!A]}", "[!a]")),
    ],
)  # fmt: skip
def test_spellings_of_one_pattern_have_one_key(a, b):
    assert parse(a).key == parse(b).key
    assert parse(a) == parse(b)
    assert hash(parse(a)) == hash(parse(b))


@pytest.mark.parametrize(
    ("a", "b"),
    [
        *(("./task:42", "task:42"), ("./:task/42", "task:42"), ("./@git/index", "@git/index")),
        *(("a", "a/**"), ("{a,b}", r"\{a,b\}"), ("*", r"\*"), ("a?", "a*"), (r"\xff", r"./\\xff")),
        *((r"{a\,b,c}", r"{a,b\,c}"), ("./:@/git/index", "@git/index"), ("a:b", "ab:b")),
    ],
)  # fmt: skip
def test_different_patterns_have_different_keys(a, b):
    assert parse(a).key != parse(b).key
    assert parse(a) != parse(b)


def test_case_matters_in_keys_if_the_project_says_so():
    assert parse("README", fold_case=False) != parse("readme", fold_case=False)
    assert parse("é", fold_case=False) == parse("e\u0301", fold_case=False)
    assert not matches(parse("R*", fold_case=False), "readme")
    assert matches(parse("R*"), "readme")


@pytest.mark.parametrize("text", ["a/b.py", "src/**/{a,B}*.py", "task:42", r"\xff", "X/"])
def test_a_pattern_survives_pickling(text):
    pattern = parse(text, fold_case=False)

    again = pickle.loads(pickle.dumps(pattern))

    assert again == pattern
    assert again.folded is False


@pytest.mark.parametrize("seed", range(10))
def test_the_canonical_spelling_of_a_random_pattern_reads_the_same(seed):
    random = Random(seed)
    refused = 0
    for _ in range(1000):
        text = random_pattern(random)
        folded = random.random() < 0.5
        try:
            pattern = parse(text, fold_case=folded)
        except BadInput as refusal:
            assert refusal.code in {"PATH_EMPTY", "PATH_ESCAPE", "PATH_ABSOLUTE"}  # noqa: PT017
            refused += 1
            continue

        again = parse(pattern.text, fold_case=folded)

        assert again == pattern, text
        assert again.text == pattern.text
        assert again.literal == pattern.literal
        assert overlap(again, pattern) is not None
        assert overlap(pattern, pattern) is not None
    assert refused < 30


@pytest.mark.parametrize("seed", range(5))
def test_any_text_is_either_read_or_refused(seed):
    random = Random(seed)
    characters = "ab/.*?[]{},\\!-^:@~ é\u0301ßxf8\udcff\udcc3\udca9\ud800\n\u200bİ"
    for _ in range(4000):
        text = "".join(random.choices(characters, k=random.randint(0, 9)))
        literal = random.random() < 0.3
        try:
            pattern = parse(text, literal=literal)
        except BadInput as refusal:
            assert len(refusal.message) < 300  # noqa: PT017
            continue

        assert pattern.text.encode()
        assert pattern.key.encode()
        assert "//" not in pattern.key
        assert parse(pattern.text) == pattern, (text, pattern.text)
        if pattern.literal:
            assert matches(pattern, pattern.path), text


def test_a_raw_name_from_the_system_is_the_same_as_its_escape():
    name = os.fsdecode(b"caf\xe9/\xc3\xa9")

    assert parse(name, literal=True) == parse(r"caf\xe9/é")
    assert matches(parse(r"caf\xe9/*"), name)
    assert matches(parse("caf?/*"), name)
    assert matches(parse(r"caf[\xe0-\xef]/*"), name)


@pytest.mark.parametrize(
    "text",
    ["**", "*/**", "**/*/**", "**/*", "**/", "*/", "{a,**}", "**/?*", "*?/**", "{*,*/*/**}", "**/**"],
)  # fmt: skip
def test_a_pattern_that_matches_every_path_is_everything(text):
    assert is_everything(parse(text))
    assert matches(parse(text), "a")
    assert matches(parse(text), "a/b/c")


@pytest.mark.parametrize(
    "text",
    ["*", "*/*", "*/*/**", "a/**", "**/a", "**/*.*", "?", "**/??*", "{*,*/*}", "task:**", "@**", "a"],
)  # fmt: skip
def test_a_pattern_that_misses_a_path_is_not_everything(text):
    assert not is_everything(parse(text))


def test_folding_knows_all_letters_that_unicode_has():
    """The table covers a few blocks; this checks all code points of the running Python."""
    inside = {code for low, high in CASED for code in range(low, high)}
    for code in range(sys.maxunicode + 1):
        character = chr(code)
        if character.casefold() != character or character.lower() != character:
            assert code in inside, hex(code)
            folded = _fold_character(character)
            assert _fold_character(folded) == folded
            assert folded.casefold() == character.casefold()


def test_no_letter_that_nfc_replaces_is_in_the_table():
    assert "\u212a" not in dict(_changed_by_folding()[0])


def test_a_plain_path_is_read_in_a_few_microseconds():
    parse("src/auth/login.py")

    best = min(_seconds(lambda: parse("src/auth/login.py"), 2000) for _ in range(7))

    assert best < 12e-6


def test_matching_a_long_name_takes_no_exponential_time():
    pattern = parse("*a*a*a*a*a*a*b")
    hard = parse("*[ab]?[!c]" * 3 + "*c")

    start = time.thread_time()
    assert not matches(pattern, "a" * 10_000)
    assert not matches(hard, "a" * 250)

    assert time.thread_time() - start < 0.05


def _seconds(call, times):
    start = time.thread_time()
    for _ in range(times):
        call()
    return (time.thread_time() - start) / times
