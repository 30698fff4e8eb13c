"""Untrusted text in Markdown."""

import pytest

from dibs.core.text.untrusted import markdown_code as code
from dibs.core.text.untrusted import markdown_text as plain


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("Fix a_b in docs/x.md (R&D), 50 % done!", "Fix a_b in docs/x.md (R&D), 50 % done!"),
        ("![x](http://spy.example/p.png)", r"!\[x\](http://spy.example/p.png)"),
        ("\\[x](javascript:1)", r"\\\[x\](javascript:1)"),
        ("<img src=x>", "&lt;img src=x>"),
        ("**2020-01-01** `", r"\*\*2020-01-01\*\* \`"),
        ("__so__ &lt; & &#60;", r"\_\_so\_\_ \&lt; & \&#60;"),
        ("a\n## b\x1b[0m", r"a\\n## b\\x1b\[0m"),
    ],
)
def test_untrusted_text_is_not_rendered_as_markup(text, shown):
    assert plain(text) == shown


def test_a_path_is_one_code_span_whatever_it_contains():
    assert code("a`b\n<c>*[d](e)*") == r"`a'b\n<c>*[d](e)*`"
