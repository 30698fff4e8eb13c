"""Mask secrets in text that is about to be stored or shown.

Pure. Three rules find them: the token formats of issuers, words that precede a secret (``password=``,
``Bearer``), and long random text. A secret becomes ``[masked github token]``, so a reader still sees what was
there. A plain word used as a password in a sentence looks like prose and is not masked.

Most texts contain no secrets. Each rule names what a text must contain before its expression is compiled, so
a short ordinary text costs a few microseconds.
"""

from __future__ import annotations

from dibs.startup.records import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from re import Match
    from typing import Any


class Form(Record):
    """The format of one issuer's tokens."""

    kind: str
    #: Every such token contains one of these, in lower case.
    marks: tuple[str, ...]
    expression: str
    #: The shortest such token.
    least: int = 16


_START = r"(?<![A-Za-z0-9])"
_WORD = r"[A-Za-z0-9_-]"

FORMS = (
    Form("aws key", ("akia", "asia", "abia", "acca"), _START + r"A(?:KIA|SIA|BIA|CCA)[A-Z0-9]{16}"),
    Form("github token", ("ghp_", "gho_", "ghu_", "ghs_", "ghr_"), r"gh[pousr]_[A-Za-z0-9]{20,}"),
    Form("github token", ("github_pat_",), r"github_pat_\w{20,}"),
    Form("dibs token", ("dibs_",), r"dibs_[0-9a-f]{40,}"),
    Form("gitlab token", ("gl",), _START + r"gl[a-z]{1,6}-(?=[\w-]{0,99}\d)[\w-]{20,}"),
    Form("slack token", ("xox", "xapp-"), r"(?:xox[a-z]|xapp)-[A-Za-z0-9-]{10,}"),
    Form("slack webhook", ("hooks.slack",), r"hooks\.slack\.com/services/[A-Za-z0-9/]{20,}"),
    Form("stripe key", ("_live_", "_test_"), _START + r"[prs]k_(?:live|test)_[A-Za-z0-9]{10,}"),
    Form("webhook secret", ("whsec_",), r"whsec_[A-Za-z0-9+/=]{16,}"),
    Form("anthropic key", ("sk-ant-",), _START + rf"sk-ant-{_WORD}{{16,}}"),
    Form("openai key", ("sk-",), _START + rf"sk-(?={_WORD}{{0,99}}\d){_WORD}{{20,}}"),
    Form("google key", ("aiza",), rf"AIza{_WORD}{{30,}}"),
    Form("google token", ("ya29.", "gocspx-", "1//0"), rf"(?:ya29\.|GOCSPX-|1//0){_WORD}{{20,}}"),
    Form("npm token", ("npm_",), _START + r"npm_[A-Za-z0-9]{30,}"),
    Form(
        "pypi token",
        ("pypi-",),
        rf"pypi-(?={_WORD}{{0,99}}\d)(?={_WORD}{{0,99}}[A-Z]){_WORD}{{30,}}",
    ),
    Form("jwt", ("eyj",), rf"(?<![\w-])eyJ{_WORD}{{8,}}\.{_WORD}{{8,}}(?:\.{_WORD}*)?"),
    Form("sendgrid key", ("sg.",), _START + rf"SG\.{_WORD}{{16,}}\.{_WORD}{{16,}}"),
    Form("twilio key", ("ac", "sk"), _START + r"(?:AC|SK)[0-9a-f]{32}(?![0-9a-f])", 34),
    Form("telegram token", (":aa",), rf"\d{{8,10}}:AA{_WORD}{{30,}}"),
    Form(
        "discord token",
        (".",),
        _START + rf"[MNO]{_WORD}{{22,27}}\.{_WORD}{{6}}\.{_WORD}{{27,}}",
        58,
    ),
    Form("hugging face token", ("hf_",), _START + r"hf_[A-Za-z0-9]{30,}"),
    Form("digitalocean token", ("_v1_",), r"do[opr]_v1_[a-f0-9]{40,}"),
    Form("heroku key", ("hrku-",), rf"HRKU-{_WORD}{{30,}}"),
    Form("azure secret", ("q~",), r"[A-Za-z0-9]{3}\dQ~[\w.~-]{31,}"),
    Form("azure signature", ("sig=",), r"(?<=sig=)[A-Za-z0-9%+/=]{40,}"),
    Form("shopify token", ("shp",), r"shp[a-z]{2}_[a-fA-F0-9]{32}"),
    Form("square token", ("sq0",), rf"sq0[a-z]{{3}}-{_WORD}{{22,}}"),
    Form("mailgun key", ("key-",), _START + r"key-[0-9a-f]{32}"),
    Form("mailchimp key", ("-us",), r"[0-9a-f]{32}-us\d{1,2}"),
    Form("databricks token", ("dapi",), _START + r"dapi[0-9a-f]{32}"),
    Form("new relic key", ("nrak-",), r"NRAK-[A-Z0-9]{20,}"),
    Form("linear key", ("lin_",), r"lin_(?:api|oauth)_[A-Za-z0-9]{30,}"),
    Form("vault token", ("hvs.", "hvb."), _START + rf"hv[sb]\.{_WORD}{{20,}}"),
    Form("docker token", ("dckr_pat_",), rf"dckr_pat_{_WORD}{{20,}}"),
    Form("supabase token", ("sbp_",), r"sbp_[a-f0-9]{40}"),
    Form("groq key", ("gsk_",), r"gsk_[A-Za-z0-9]{30,}"),
    Form("xai key", ("xai-",), _START + r"xai-[A-Za-z0-9]{30,}"),
    Form("replicate token", ("r8_",), _START + r"r8_[A-Za-z0-9]{30,}"),
    Form("postman key", ("pmak-",), r"PMAK-[a-f0-9-]{40,}"),
    Form("grafana token", ("glsa_", "glc_"), _START + r"gl(?:sa|c)_[A-Za-z0-9+/=_]{30,}"),
    Form("terraform token", (".atlasv1.",), rf"[A-Za-z0-9]{{10,40}}\.atlasv1\.{_WORD}{{30,}}"),
    Form("age key", ("age-secret-key-",), r"AGE-SECRET-KEY-1[A-Z0-9]{50,}"),
)

_PASSWORD = r"pass(?:word|wd|phrase)|pwd"  # noqa: S105 - an expression
_SECRET = (
    _PASSWORD + r"|secret|token|credentials?|api[_-]?key|access[_-]?key|private[_-]?key"
    r"|account[_-]?key|auth[_-]?key|encryption[_-]?key|signing[_-]?key|client[_-]?key|authorization"
)
_UNMASKED = r"(?!\[masked)"
_QUOTED = r""""(?:[^"\\\n]|\\.)+"|'(?:[^'\\\n]|\\.)+'"""
_BARE = r"(?![=>])[^\s,;\"'`)\]}&]+"

#: Certain: the group ``secret`` is always masked.
_BLOCK = r"-----BEGIN [A-Z0-9 ]*PRIVATE KEY-----(?s:.*?)(?:-----END [A-Z0-9 ]*PRIVATE KEY-----|\Z)"
_URL = rf"(?<=://)(?P<user>[^\s/:@]*):{_UNMASKED}(?P<secret>[^\s/]+)(?=@)"
_ENTRY = (
    rf"(?im)^[ \t]*[\w.-]{{0,60}}(?:{_PASSWORD}):[ \t]+{_UNMASKED}(?P<secret>[^\s\[{{]\S*)[ \t]*$"
)

#: Likely: the group ``secret`` is masked unless it is a plain word or code.
_HEADER = rf"(?i)\b(?:bearer|basic)[ ]+{_UNMASKED}(?P<secret>[A-Za-z0-9._~+/=-]{{6,}})"
_ASSIGNED = (
    rf"(?i)(?P<key>{_SECRET})(?P<rest>[\w-]{{0,40}})[\"']?\s*(?P<sign>:=|=>|==?|:)\s*"
    rf"(?:(?:bearer|basic|token|digest)[ ]+)?+(?P<secret>{_QUOTED}|{_BARE})"
)
_SAID = rf"(?i)(?P<key>{_SECRET})(?:[ ]+(?:is|was)[ ]+|[ ]+)[\"'`]?{_UNMASKED}(?P<secret>{_BARE})"

_ANNOUNCING = (
    *("pass", "pwd", "secret", "token", "credential", "key", "bearer", "basic", "authorization"),
)


def storable(text: str) -> str:
    """Return ``text`` for storage: secrets masked, and invalid Unicode escaped."""
    return mask(text.encode("utf-8", "backslashreplace").decode("utf-8"))


def mask(text: str) -> str:
    """Return ``text`` with secrets replaced; masking the result again changes nothing."""
    lowered = text.lower()
    longest = max(map(len, lowered.split()), default=0)
    if longest >= Form._field_defaults["least"]:
        for form in FORMS:
            if longest >= form.least and any(mark in lowered for mark in form.marks):
                text = _replace(form.expression, f"[masked {form.kind}]", text)
    if "private key" in lowered:
        text = _replace(_BLOCK, "[masked private key]", text)
    if "://" in lowered and "@" in lowered:
        text = _replace(_URL, r"\g<user>:[masked password]", text)
    if any(word in lowered for word in _ANNOUNCING):
        text = _mask_announced(text)
    if longest >= RANDOM_MIN:
        text = _mask_random(text)
    return text


def _replace(expression: str, replacement: str, text: str) -> str:
    import re

    return re.sub(expression, replacement, text)


def _mask_announced(text: str) -> str:
    import re

    text = re.sub(_ENTRY, lambda match: _without(match, "password"), text)
    text = re.sub(_HEADER, _mask_header, text)
    text = re.sub(_ASSIGNED, _mask_assigned, text)
    return re.sub(_SAID, _mask_said, text)


def _without(match: Match[str], kind: str) -> str:
    start, end = match.span("secret")
    whole = match.string
    return f"{whole[match.start() : start]}[masked {kind}]{whole[end : match.end()]}"


def _mask_header(match: Match[str]) -> str:
    return match[0] if _is_prose(match["secret"]) else _without(match, "credentials")


def _mask_assigned(match: Match[str]) -> str:
    value, key = match["secret"].strip("\"'"), match["key"].lower()
    quoted = value != match["secret"]
    if _is_code(value) or (key == "token" and value.isdigit()):
        return match[0]
    if not quoted and _is_prose(value) and (match["sign"] == ":" or match["rest"].startswith("s")):
        return match[0]
    return _without(match, _kind(key))


def _mask_said(match: Match[str]) -> str:
    value = match["secret"].rstrip(".:!?")
    # In prose, only a mix of letters and digits counts.
    if len(value) < 6 or not _mixed(value) or _is_code(value) or "/" in value:  # noqa: PLR2004
        return match[0]
    return _without(match, _kind(match["key"].lower()))


def _kind(key: str) -> str:
    if key.startswith(("pass", "pwd")):
        return "password"
    return key.replace("_", " ").replace("-", " ")


def _mixed(value: str) -> bool:
    return any(c.isdigit() for c in value) and any(c.isalpha() for c in value)


def _is_prose(value: str) -> bool:
    """Return whether a value is a word or a short number, such as ``Required.``, not a password."""
    word = value.strip(".:!?*_<>()-")
    return not word or (word.isalpha() and word[1:].islower()) or (len(word) < 4 and word.isalnum())  # noqa: PLR2004


def _is_code(value: str) -> bool:
    """Return whether a value is a name, a call, a placeholder, or a constant, not a literal."""
    if value[0] in "$<*%({[" or value in ("None", "null", "True", "False", "true", "false", "..."):
        return True
    head, opened, _ = value.replace("[", "(").partition("(")
    names = head.split(".")
    if opened:
        return all(name.isidentifier() for name in names)
    if any(not name.replace("_", "a").replace("-", "a").isalpha() for name in names):
        return False
    return len(names) > 1 or "_" in head.strip("_") or head.lower() in _NAMES


#: Placeholders for secrets in code, and their types.
_NAMES = ("str", "string", "password", "token", "secret")

#: Shorter random text is not masked, because many names look like it.
RANDOM_MIN = 24

_SEPARATORS = "+/_-"
#: The most common letter pairs of names and words. Of the pairs in random text, one in five is among them.
_COMMON_PAIRS = frozenset(
    """
    ac ad ag al am an ap ar as at bl bu ca ce ch ck cl co cr ct da de di do ea ec ed eg ej el em
    en er es et ev ex fi fo ge gi ha he ho hu ib ic id ig il im in io ip is it ke la le li ll lo
    ls lu ma me mi mm mo mp na nc nd ne nf ng ni no ns nt nu oc od ol om on op or ou pa pe pl po
    pr pt pu py ra rc re ri rm ro rr rs rt ry sa se sh si sl sr ss st su ta te th ti tl to tr ts
    tt ty ub ud ul un ur us ut ve xt yp
    """.split()  # noqa: SIM905 - a literal would take sixty lines
)
_HEX = frozenset("0123456789abcdefABCDEF-")
_CROCKFORD = frozenset("0123456789ABCDEFGHJKMNPQRSTVWXYZ")
_ULID_LENGTH = 26


def _mask_random(text: str) -> str:
    import re

    return re.sub(
        r"(?i:sha\d{1,3}[-:])?[A-Za-z0-9+/_-]{22,}={0,2}",
        lambda match: "[masked token]" if _is_random(match[0]) else match[0],
        text,
    )


def _is_random(token: str) -> bool:
    """Return whether a text is random, not a name, a path, or a hash."""
    if len(token) < RANDOM_MIN or _HEX.issuperset(token) or token[:3].lower() == "sha":
        return False
    if len(token) == _ULID_LENGTH and _CROCKFORD.issuperset(token):
        return False
    bare = token.rstrip("=")
    separators = sum(map(bare.count, _SEPARATORS))
    digits = sum(map(bare.count, "0123456789"))
    mixed = bare != bare.lower() and bare != bare.upper()
    if separators * 8 > len(bare) + 8:
        return False
    if not mixed and (separators or digits * 8 < len(bare)):
        return False
    return _regularity(bare) < (4.2 if digits else 3.8)


def _regularity(token: str) -> float:
    """Return a score that is low for random text: the length of its runs, and its share of common pairs.

    A run is a word, a number or an acronym, as in ``get|HTTP|Response|2``.
    """
    runs = pairs = common = letters = 0
    before, before_that = "", ""
    for character in token:
        if character in _SEPARATORS:
            before = before_that = ""
            continue
        letters += 1
        kind = "9" if character.isdigit() else "a" if character.islower() else "A"
        last = _kind_of(before)
        joins = kind == last or (last == "A" and kind == "a" and _kind_of(before_that) != "A")
        runs += not joins
        if kind != "9" and last in ("a", "A"):
            pairs += 1
            common += (before + character).lower() in _COMMON_PAIRS
        before, before_that = character, before
    return letters / max(runs, 1) + 3 * common / max(pairs, 1)


def _kind_of(character: str) -> str:
    if not character:
        return ""
    return "9" if character.isdigit() else "a" if character.islower() else "A"


_SECRET_KEYS = (
    *("password", "passwd", "passphrase", "pwd", "secret", "token", "credential", "credentials"),
    *("api_key", "apikey", "access_key", "private_key", "account_key", "authorization", "cookie"),
)


def mask_value(value: Any) -> Any:
    """Return a JSON value with secrets masked in its texts and under keys that name secrets.

    A number under a key such as ``token`` stays: it is a fencing token, or a count.
    """
    if isinstance(value, str):
        return mask(value)
    if isinstance(value, dict):
        return {
            mask(key) if isinstance(key, str) else key: _mask_entry(key, inner)
            for key, inner in value.items()
        }
    if isinstance(value, list | tuple):
        return [mask_value(inner) for inner in value]
    return value


def _mask_entry(key: object, value: Any) -> Any:
    name = str(key).lower().replace("-", "_").replace(" ", "_")
    if not name.endswith(_SECRET_KEYS):
        return mask_value(value)
    number = isinstance(value, int | float) or (isinstance(value, str) and value.isdigit())
    if value in (None, "", True, False) or (number and name.endswith("token")):
        return value
    if isinstance(value, dict | list | tuple):
        return mask_value(value)
    return f"[masked {_kind(next(end for end in _SECRET_KEYS if name.endswith(end)))}]"
