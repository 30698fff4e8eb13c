"""What a tool of another MCP server may do, by its name and its arguments."""

import pytest

from dibs.core.toolcalls.verbs import Effect, changes_database, effect

CHANGES = [
    "SELECT * FROM t INTO OUTFILE 'src/app.py'", "SELECT 1\nINTO OUTFILE 'src/app.py'",
    "WITH a AS (SELECT 1) INSERT INTO t SELECT * FROM a", "with a as (select 1) delete from t",
    "ATTACH 'src/app.py' AS z", "/* c */ UPDATE t SET a = 1", "-- c\nUPDATE t SET a = 1", "TRUNCATE t",
    "PRAGMA user_version=3", "pragma user_version(3)", "/*!50000 INSERT INTO t */ VALUES (1)",
    "SELECT 1; DROP TABLE t", "explain analyze delete from t", "SELECT writefile('src/app.py', 'x')",
    "(select 1) into outfile 'a'", "select '" + "x" * 10_000 + "'",
]  # fmt: skip
READS = [
    "SELECT 1", " (SELECT 'a; delete') ", "select replace(a, b, c) from t where x = 'insert into'",
    "WITH a AS (SELECT 1) SELECT * FROM a", "SHOW TABLES", "DESCRIBE t", "explain select 1",
    "-- delete it\nselect 1", "PRAGMA table_info(t)", "pragma user_version", "select 1;", "",
]  # fmt: skip


@pytest.mark.parametrize("text", CHANGES)
@pytest.mark.parametrize("key", ["sql", "query", "statement"])
def test_a_statement_that_may_write_lets_the_tree_be_compared(text, key):
    assert changes_database(text)
    assert effect(["query"], {key: text}) == Effect.WATCHED


@pytest.mark.parametrize("text", READS)
@pytest.mark.parametrize("key", ["sql", "query", "statement"])
def test_a_statement_that_reads_is_a_read(text, key):
    assert not changes_database(text)
    assert effect(["query"], {key: text}) == Effect.READS


def test_an_unknown_statement_counts_as_a_change_but_free_text_does_not():
    assert effect(["query"], {"sql": "FROBNICATE t"}) == Effect.WATCHED
    assert effect(["query"], {"query": "where is the parser"}) == Effect.READS
