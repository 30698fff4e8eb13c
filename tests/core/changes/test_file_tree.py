"""Which files a pattern means, and the counts of folders."""

from hypothesis import example, given
from hypothesis import strategies as st

from dibs.core.changes.file_tree import FilesHere, FileTree, Interest, PathFinder
from dibs.core.patterns.pattern import matches, parse

NAMES = st.sampled_from(["a", "A", "ab", "ß", "ss", "\u212a", "k", "é", "x.py", "X.py", "[1]"])
PATHS = st.lists(st.lists(NAMES, min_size=1, max_size=3).map("/".join), max_size=8, unique=True)
GLOBS = st.sampled_from(
    ["**", "a/", "A/**", "**/*.py", "*/x.py", "a*/k", "{a,ab}/k", "[ak]/*", "ß/", "port:1"]
)
LITERALS = st.lists(NAMES.filter(lambda name: "[" not in name), min_size=1, max_size=3).map(
    "/".join
)


@given(PATHS, GLOBS | LITERALS, st.booleans())
@example(["ss"], "ß", True)
def test_the_index_finds_exactly_the_files_that_a_pattern_matches(paths, text, folded):
    pattern = parse(text, fold_case=folded)

    expected = {path for path in paths if matches(pattern, f"./{path}")}

    assert set(PathFinder(paths).matching(pattern)) == expected


def test_a_claim_on_many_files_counts_once_in_each_folder_above_them():
    here = FilesHere({"a/b/1": 2, "a/b/2": 3, "a/c": None, "d": 1}, {"a/b/1": "modified"})
    tree = FileTree(here, "", 2)
    tree.add_claims([Interest((parse("a/**"),), "ada"), Interest((parse("A/C"),), "bob")])
    tree.add_contention([Interest((parse("a/b/1"), parse("a/b/2")), times=3)])

    nodes = {node.path: node for node in tree.nodes()}

    assert list(nodes) == ["a", "d", "a/b", "a/c"]
    assert (nodes["a"].files, nodes["a"].bytes, nodes["a"].claims) == (3, 5, 2)
    assert nodes["a"].owners == (("ada", 3), ("bob", 1))
    assert (nodes["a/b"].contention, nodes["a"].contention, nodes["d"].contention) == (3, 3, 0)
    assert (nodes["a/c"].missing, nodes["a/b"].changed, tree.top.files) == (True, 1, 4)
