"""Rows 67 to 85 of the table of bad input that concern a file's name and content: one clear line each."""

import pytest

from dibs.errors import BadInput
from dibs.taskfile.fields import late_times
from dibs.taskfile.reading import error_of, read
from dibs.taskfile.writing import edit

NAME = "t1.yaml"
OK = "status: new\n"


def test_two_spellings_that_agree_or_may_differ_are_read():
    same = read(b"artifacts: [a]\nartefacts: [a]\n", NAME)
    other = read(b"agent: curator\nassigned_to: bob\n", NAME)

    assert same.task.artefacts == ("a",)
    assert other.task.agent == "curator"
    assert [(r.line, r.message) for r in other.remarks] == [(2, "ignored in favor of 'agent'")]


def refused(content, name=NAME):
    reading = read(content if isinstance(content, bytes) else content.encode(), name)
    assert reading.task is None
    first = reading.remarks[0]
    error = error_of(first, f"inbox/{name}")
    assert isinstance(error, BadInput)
    assert error.code == first.code
    assert error.message.startswith(f"inbox/{name}")
    assert error.message.isprintable() or "\n" in name
    return first


def test_67_a_tag_is_refused_and_never_resolved(tmp_path):
    mark = tmp_path / "ran"
    for text in (
        f"title: !!python/object/apply:os.system ['touch {mark}']\n",
        f'title: !!python/object/new:os.system ["touch {mark}"]\n',
        "title: !custom x\n",
        "!!map\ntitle: x\n",
        "title: !!str 12\n",
        "%TAG ! tag:example.com,2000:\n---\ntitle: !x y\n",
    ):
        assert refused(text).code in {"YAML_TAG", "YAML_SHAPE"}
    assert not mark.exists()


@pytest.mark.parametrize(
    "text",
    [
        "a: &x 1\nb: *x\n",
        "a: &x\n  <<: *x\n",
        "<<: {a: b}\n",
        "a: &a [x, x]\nb: &b [*a, *a]\nc: &c [*b, *b]\nd: [*c, *c]\n",
        "&top\nself: *top\n",
        "*x : y\n",
    ],
)
def test_68_anchors_aliases_and_merge_keys_are_refused(text):
    assert refused(text).code == "YAML_ALIAS"


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ("status: new\ntitle: x\nstatus: done\n", (1, 3)),
        ("context:\n  a: 1\n  b: 2\n  a: 3\n", (2, 4)),
        ('status: new\n"status": done\n', (1, 2)),
        ("{status: new,\n status: done}\n", (1, 2)),
        ("artifacts: [a]\ntitle: x\nartefacts: [b]\n", (3, 1)),
        ("artefacts: [a]\nartifact: b\n", (1, 2)),
    ],
)
def test_69_a_duplicate_key_is_refused_with_both_lines(text, lines):
    remark = refused(text)

    assert remark.code == "YAML_DUPLICATE"
    assert remark.line == lines[1]
    assert f"in lines {lines[0]} and {lines[1]}" in remark.message


@pytest.mark.parametrize(
    ("content", "line", "column"),
    [
        (b"context:\n\tnotes: x\n", 2, 1),
        (b"status:\tnew\n", 1, 8),
        (b"status: new\r\nagent: x\r\n", 1, 12),
        (b"\xef\xbb\xbfstatus: new\n", 1, 1),
        ("status: new\n".encode("utf-16"), 1, 1),
        ("status: new\n".encode("utf-16-be"), 1, 1),
        ("a: 1\ntitle: é\n".encode("latin-1"), 2, 8),
        (b"a: 1\ntitle: x\x00y\n", 2, 9),
        (b"title: \x0cx\n", 1, 8),
        (b"title: \x1b[31mred\n", 1, 8),
        ("title: a\u2028b\n".encode(), 1, 9),
        (b"title: [a\n", 2, 1),
        (b"a: b: c\n", 1, 5),
    ],
)
def test_70_invalid_yaml_is_refused_with_line_and_column(content, line, column):
    remark = refused(content)

    assert (remark.code, remark.line) == ("YAML_SYNTAX", line)
    assert f"(column {column})" in remark.message


@pytest.mark.parametrize(
    "text",
    [
        "a: 1\n---\nb: 2\n",
        "",
        "\n\n",
        "# only\n",
        "- a\n- b\n",
        "text\n",
        "12\n",
        "---\n",
        "[]\n",
        "~\n",
    ],
)
def test_71_a_file_contains_one_mapping(text):
    assert refused(text).code == "YAML_SHAPE"


@pytest.mark.parametrize("quote", ["", "'", '"'])
def test_72_scalars_stay_text(quote):
    def q(text):
        return f"{quote}{text}{quote}"

    text = (
        f"agent: {q('no')}\ntitle: {q('1.10')}\nmode: {q('2025-11-23')}\ncreated_by: {q('0x1F')}\n"
    )
    task = read(text.encode(), NAME).task

    assert (task.agent, task.title, task.mode, task.created_by) == (
        "no",
        "1.10",
        "2025-11-23",
        "0x1F",
    )


def test_72_an_id_that_looks_like_a_number_is_compared_as_written():
    assert read(b"id: 0010\n", "0010.yaml").task.id == "0010"
    assert "'12:30'" in refused("id: 12:30\n").message


def test_72_a_value_of_another_type_gets_a_hint_to_quote_it():
    remark = refused("title: [draft] new parser\n".replace("] new parser", "]"))

    assert (remark.code, remark.line, remark.field) == ("TASK_FIELD", 1, "title")
    assert "quotes" in remark.message


def nested(levels):
    return "".join(f"{'  ' * at}k:\n" for at in range(levels - 1)) + "  " * (levels - 1) + "k: v\n"


@pytest.mark.parametrize(
    "content",
    [
        b"title: x\n" + b"# " + b"x" * (256 * 1024) + b"\n",
        b"title: '" + b"x" * (1024 * 1024) + b"'\n",
        b"# " + b"x" * (65 * 1024) + b"\ntitle: x\n",
        nested(21),
        "k: " + "[" * 20 + "]" * 20 + "\n",
        "k: " + "[" * 5000 + "\n",
        "k:\n" + "- x\n" * 9_998,
        "k: [" + "x," * 9_998 + "x]\n",
    ],
    ids=range(8),
)
def test_73_nothing_above_a_limit_is_read(content):
    assert refused(content).code == "LIMIT"


def test_73_a_file_at_a_limit_is_read():
    assert read(nested(20).encode(), NAME).task
    assert read(b"k: " + b"[" * 19 + b"]" * 19 + b"\n", NAME).task
    assert read(("k:\n" + "- x\n" * 9_997).encode(), NAME).task
    assert read(b"# " + b"x" * (63 * 1024) + b"\ntitle: x\n", NAME).task


@pytest.mark.parametrize(
    "name",
    [
        *(
            "-rf.yaml",
            "a;rm.yaml",
            "..yaml",
            "con.yaml",
            "a" * 300 + ".yaml",
            "a\nb.yaml",
            ".a.yaml",
        ),
        *("CON.yml", "nul.x.yaml", "a b.yaml", "$(x).yaml", "é.yaml", "a.txt", "yaml", ".yaml", ""),
    ],
)
def test_76_a_file_name_that_is_not_a_valid_id_is_refused(name):
    assert refused(OK, name).code == "TASK_NAME"


@pytest.mark.parametrize(
    "path",
    [
        *("../x", "a/../../x", "/etc/passwd", "~/x", "C:/x", "C:\\x", "a\\b", "..", "https://x/y"),
        *("a/..", "docs/../../x"),
    ],
)
@pytest.mark.parametrize(
    "text",
    [
        "title: x\nartefacts:\n  - ok\n  - '{}'\n",
        "title: x\nstatus: done\nresult: {{summary: x, next_agent: a,\n  next_artefacts: ['{}']}}\n",
    ],
)
def test_79_an_artefact_outside_the_repository_is_refused(text, path):
    remark = refused(text.format(path))

    assert remark.code == "PATH_ESCAPE"
    assert remark.line >= 3


@pytest.mark.parametrize("agent", ["../x", "a/b", "..", ".x", "-x", "a b", "x" * 65, "é", "$(x)"])
@pytest.mark.parametrize(
    "text", ["agent: '{}'\n", "status: done\nresult:\n  summary: x\n  next_agent: '{}'\n"]
)
def test_80_an_invalid_agent_id_is_refused(text, agent):
    assert refused(text.format(agent)).code == "AGENT_ID"


@pytest.mark.parametrize(
    "moment",
    [
        *("99999-01-01T00:00:00Z", "2025-11-23T14:30:00", "2025-11-23", "yesterday", "1763908200"),
        *(
            "2025-13-01T00:00:00Z",
            "2025-02-30T00:00:00Z",
            "1969-01-01T00:00:00Z",
            "0000-01-01T00:00:00Z",
        ),
    ],
)
@pytest.mark.parametrize("key", ["created_at", "assigned_at", "started_at", "completed_at"])
def test_81_an_invalid_time_is_refused_with_the_right_form(key, moment):
    remark = refused(f"title: x\n{key}: {moment}\n")

    assert (remark.code, remark.line, remark.field) == ("TASK_TIME", 2, key)


def test_81_a_task_cannot_be_completed_before_it_is_started():
    times = "started_at: 2025-11-23T15:00:00Z\ncompleted_at: 2025-11-23T14:59:59Z\n"

    assert refused(times).code == "TASK_TIME"
    assert read(times.replace("14:59:59", "15:00:00").encode(), NAME).task


def test_81_a_time_more_than_a_day_ahead_is_reported():
    task = read(b"created_at: 2025-11-23T14:30:00Z\n", NAME).task

    assert late_times(task, task.created - 86_400) == []
    assert [r.field for r in late_times(task, task.created - 86_401)] == ["created_at"]


def test_84_unknown_keys_are_kept_byte_for_byte_with_a_note():
    text = "statuss: x   # typo\nx-y: {a: [1,  2]}  # odd   spaces \nstatus: new\n"
    reading = read(text.encode(), NAME)

    assert [(r.field, r.line, r.fatal) for r in reading.remarks] == [
        ("statuss", 1, False),
        ("x-y", 2, False),
    ]
    assert "did you mean 'status'?" in reading.remarks[0].message
    assert edit(reading.text, {"status": "done"}) == text.replace("status: new", "status: done")


@pytest.mark.parametrize(
    ("written", "title"),
    [
        ('"\\e[31mred\\e[0m"', "\x1b[31mred\x1b[0m"),
        ("<script>alert(1)</script>", "<script>alert(1)</script>"),
        ("\u202etxt.exe", "\u202etxt.exe"),
        ("x" * 10_000, "x" * 10_000),
    ],
)
def test_85_a_title_is_stored_unchanged(written, title):
    reading = read(f"title: {written}\n".encode(), NAME)

    assert reading.task.title == title
    assert reading.text == f"title: {written}\n"


def test_messages_show_no_control_characters_from_a_file():
    remark = refused('status: "\\e[2Jnew"\n')

    assert remark.message.isprintable()


@pytest.mark.parametrize("artefact", ["task:other", "port:8000", "@git/index"])
def test_a_resource_is_not_an_artefact(artefact):
    reading = read(f'title: x\nartefacts: ["{artefact}"]\n'.encode(), "x.yaml")

    assert reading.task is None
    assert [(remark.code, remark.line) for remark in reading.remarks] == [("PATH_ESCAPE", 2)]
