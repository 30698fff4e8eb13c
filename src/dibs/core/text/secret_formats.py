"""The formats of issuers' tokens, as the issuers and the common scanners describe them.

Most are a prefix and random text of at least some length; ``_PREFIXED`` lists these. The others have an
expression. An expression must not need more than linear time, so each repetition is bounded or its own.
"""

from __future__ import annotations

from dibs.startup.records import Record


class SecretFormat(Record):
    """The format of one issuer's tokens."""

    kind: str
    #: Every such token contains one of these, in lower case.
    marks: tuple[str, ...]
    expression: str
    #: The shortest such token.
    least: int = 16


_START = r"(?<![A-Za-z0-9])"
_WORD = r"[A-Za-z0-9_-]"

_SHAPED = (
    SecretFormat(
        "aws key", ("akia", "asia", "abia", "acca"), _START + r"A(?:KIA|SIA|BIA|CCA)[A-Z0-9]{16}"
    ),
    SecretFormat(
        "github token", ("ghp_", "gho_", "ghu_", "ghs_", "ghr_"), r"gh[pousr]_[A-Za-z0-9]{20,}"
    ),
    SecretFormat("github token", ("github_pat_",), r"github_pat_\w{20,}"),
    SecretFormat("dibs token", ("dibs_",), r"dibs_[0-9a-f]{40,}"),
    SecretFormat(
        "gitlab token",
        ("gl",),
        _START
        + r"gl(?:pat|dt|rt|rtr|cbt|ptt|ft|imt|agent|oas|soat|ffct|wt)-[\w-]{20,}(?:\.[0-9a-z]{9})?",
    ),
    SecretFormat("gitlab token", ("gl",), _START + r"gl[a-z]{1,6}-(?=[\w-]{0,99}\d)[\w-]{20,}"),
    SecretFormat("gitlab session", ("_gitlab_session=",), r"(?<=_gitlab_session=)[0-9a-z]{32}"),
    SecretFormat(
        "slack token", ("xox", "xapp-"), r"(?:xoxe\.)?(?:xox[a-z]|xapp)-[A-Za-z0-9-]{10,}"
    ),
    SecretFormat(
        "slack webhook",
        ("hooks.slack",),
        r"hooks\.slack\.com/(?:services|workflows|triggers)/[A-Za-z0-9/]{20,}",
    ),
    SecretFormat(
        "discord webhook",
        ("/api/webhooks/",),
        rf"(?<=/api/webhooks/)\d{{15,21}}/{_WORD}{{50,}}",
    ),
    SecretFormat("teams webhook", ("webhook.office.com",), r"webhook\.office\.com/[\w@/-]{60,}"),
    SecretFormat("zapier webhook", ("hooks.zapier",), r"hooks\.zapier\.com/hooks/catch/\d+/\w+"),
    SecretFormat(
        "stripe key",
        ("_live_", "_test_", "_prod_"),
        _START + r"[prs]k_(?:live|test|prod)_[A-Za-z0-9]{10,}",
    ),
    SecretFormat(
        "payment key",
        ("live_", "test_"),
        _START + r"(?:live|test)_(?:pub_)?(?=[A-Za-z0-9]{0,60}\d)[A-Za-z0-9]{30,}",
        35,
    ),
    SecretFormat("razorpay key", ("rzp_",), _START + r"rzp_(?:live|test)_[A-Za-z0-9]{14}"),
    SecretFormat("braintree token", ("access_token$",), r"access_token\$\w+\$[a-z0-9$]{24,}"),
    SecretFormat("1password key", ("a3-",), _START + r"A3(?:-[A-Z0-9]{5,11}){5,6}(?![A-Z0-9])", 30),
    SecretFormat("airtable token", ("pat",), _START + r"pat[A-Za-z0-9]{14}\.[a-f0-9]{64}", 80),
    SecretFormat(
        "asana token", (":",), _START + r"(?:[12]/)?\d{13,16}(?:/\d{13,16})?:[0-9a-f]{32}", 46
    ),
    SecretFormat("amazon mws token", ("amzn.mws.",), r"amzn\.mws\.[0-9a-f-]{36}"),
    SecretFormat("cloudflare key", ("v1.0-",), _START + r"v1\.0-[a-f0-9]{24}-[a-f0-9]{100,}"),
    SecretFormat(
        "doppler token",
        ("dp.",),
        _START + r"dp\.(?:pt|st|ct|sa|scim|audit)\.(?:[\w-]{1,35}\.)?[A-Za-z0-9]{40,}",
        44,
    ),
    SecretFormat("dropbox token", ("sl.",), _START + rf"sl\.(?:u\.)?{_WORD}{{100,}}", 100),
    SecretFormat(
        "dynatrace token",
        ("dt0",),
        _START + r"dt0[a-z]\d\d\.[A-Z0-9]{24}\.[A-Z0-9]{60,}",
        80,
    ),
    SecretFormat("facebook token", ("|",), _START + rf"\d{{15,16}}\|{_WORD}{{27,40}}", 43),
    SecretFormat(
        "harness token",
        ("pat.", "sat."),
        _START + rf"[ps]at\.{_WORD}{{22}}\.[A-Za-z0-9]{{24}}\.[A-Za-z0-9]{{20}}",
        70,
    ),
    SecretFormat("hubspot token", ("pat-",), _START + r"pat-[a-z]{2,4}\d-[0-9a-f-]{36}", 40),
    SecretFormat(
        "launchdarkly key",
        ("sdk-", "api-", "mob-"),
        _START + r"(?:sdk|api|mob)-[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}",
        40,
    ),
    SecretFormat(
        "plaid token", ("access-",), r"access-(?:sandbox|development|production)-[0-9a-f-]{36}", 50
    ),
    SecretFormat(
        "langsmith key", ("lsv2_",), _START + r"lsv2_[a-z]{2}_[0-9a-f]{32}_[0-9a-f]{10}", 50
    ),
    SecretFormat(
        "mailgun key", ("-",), _START + r"[0-9a-f]{32}-[0-9a-f]{8}-[0-9a-f]{8}(?![0-9a-f-])", 50
    ),
    SecretFormat(
        "mapbox token", ("k.eyj",), _START + rf"[pst]k\.eyJ{_WORD}{{40,}}\.{_WORD}{{20,}}", 64
    ),
    SecretFormat("maxmind key", ("_mmk",), _START + r"[A-Za-z0-9]{6}_[A-Za-z0-9]{29}_mmk", 40),
    SecretFormat("openshift token", ("sha256~",), rf"sha256~{_WORD}{{43}}", 50),
    SecretFormat("resend key", ("re_",), _START + r"re_[A-Za-z0-9]{8}_[A-Za-z0-9]{20,}", 30),
    SecretFormat("twitch token", ("oauth:",), r"(?<=oauth:)[a-z0-9]{30}(?![a-z0-9])", 36),
    SecretFormat(
        "vault token", ("s.",), r"(?<![\w.])s\.(?=[A-Za-z]{0,23}\d)[A-Za-z0-9]{24}(?![\w.])", 26
    ),
    SecretFormat(
        "password hash", ("$",), r"\$(?:2[aby]|[156y]|apr1|argon2(?:id?|d))\$[\w./$,=+]{20,}", 24
    ),
    SecretFormat("webhook secret", ("whsec_",), r"whsec_[A-Za-z0-9+/=]{16,}"),
    SecretFormat("anthropic key", ("sk-ant-",), _START + rf"sk-ant-{_WORD}{{16,}}"),
    SecretFormat("openai key", ("sk-",), _START + rf"sk-(?={_WORD}{{0,99}}\d){_WORD}{{20,}}"),
    SecretFormat("google key", ("aiza",), rf"AIza{_WORD}{{30,}}"),
    SecretFormat(
        "google token", ("ya29.", "gocspx-", "1//0"), rf"(?:ya29\.|GOCSPX-|1//0){_WORD}{{20,}}"
    ),
    SecretFormat("npm token", ("npm_",), _START + r"npm_[A-Za-z0-9]{30,}"),
    SecretFormat(
        "pypi token",
        ("pypi-",),
        rf"pypi-(?={_WORD}{{0,99}}\d)(?={_WORD}{{0,99}}[A-Z]){_WORD}{{30,}}",
    ),
    SecretFormat("jwt", ("eyj",), rf"(?<![\w-])eyJ{_WORD}{{8,}}\.{_WORD}{{8,}}(?:\.{_WORD}*)?"),
    SecretFormat("sendgrid key", ("sg.",), _START + rf"SG\.{_WORD}{{16,}}\.{_WORD}{{16,}}"),
    SecretFormat("twilio key", ("ac", "sk"), _START + r"(?:AC|SK)[0-9a-f]{32}(?![0-9a-f])", 34),
    SecretFormat("telegram token", (":aa",), rf"\d{{8,10}}:AA{_WORD}{{30,}}"),
    SecretFormat(
        "discord token",
        (".",),
        _START + rf"[MNO]{_WORD}{{22,27}}\.{_WORD}{{6}}\.{_WORD}{{27,}}",
        58,
    ),
    SecretFormat("hugging face token", ("hf_",), _START + r"hf_[A-Za-z0-9]{30,}"),
    SecretFormat("digitalocean token", ("_v1_",), r"do[opr]_v1_[a-f0-9]{40,}"),
    SecretFormat("heroku key", ("hrku-",), rf"HRKU-{_WORD}{{30,}}"),
    SecretFormat("azure secret", ("q~",), r"[A-Za-z0-9]{3}\dQ~[\w.~-]{31,}"),
    SecretFormat("azure signature", ("sig=",), r"(?<=sig=)[A-Za-z0-9%+/=]{40,}"),
    SecretFormat("shopify token", ("shp",), r"shp[a-z]{2}_[a-fA-F0-9]{32}"),
    SecretFormat("square token", ("sq0",), rf"sq0[a-z]{{3}}-{_WORD}{{22,}}"),
    SecretFormat("mailgun key", ("key-",), _START + r"key-[0-9a-f]{32}"),
    SecretFormat("mailchimp key", ("-us",), r"[0-9a-f]{32}-us\d{1,2}"),
    SecretFormat("databricks token", ("dapi",), _START + r"dapi[0-9a-f]{32}"),
    SecretFormat("new relic key", ("nrak-",), r"NRAK-[A-Z0-9]{20,}"),
    SecretFormat("linear key", ("lin_",), r"lin_(?:api|oauth)_[A-Za-z0-9]{30,}"),
    SecretFormat("vault token", ("hvs.", "hvb.", "hvr."), _START + rf"hv[sbr]\.{_WORD}{{20,}}"),
    SecretFormat("docker token", ("dckr_pat_",), rf"dckr_pat_{_WORD}{{20,}}"),
    SecretFormat("supabase token", ("sbp_",), r"sbp_[a-f0-9]{40}"),
    SecretFormat("groq key", ("gsk_",), r"gsk_[A-Za-z0-9]{30,}"),
    SecretFormat("xai key", ("xai-",), _START + r"xai-[A-Za-z0-9]{30,}"),
    SecretFormat("replicate token", ("r8_",), _START + r"r8_[A-Za-z0-9]{30,}"),
    SecretFormat("postman key", ("pmak-",), r"PMAK-[a-f0-9-]{40,}"),
    SecretFormat("grafana token", ("glsa_", "glc_"), _START + r"gl(?:sa|c)_[A-Za-z0-9+/=_]{30,}"),
    SecretFormat(
        "terraform token", (".atlasv1.",), rf"[A-Za-z0-9]{{10,40}}\.atlasv1\.{_WORD}{{30,}}"
    ),
    SecretFormat("age key", ("age-secret-key-",), r"AGE-SECRET-KEY-1[A-Z0-9]{50,}"),
)

#: The characters of random text: letters and digits, the same with ``_`` and ``-``, hexadecimal, base64, and
#: capitals and digits.
_ALPHABETS = {
    "w": "[A-Za-z0-9]",
    "u": _WORD,
    "x": "[0-9a-fA-F]",
    "b": "[A-Za-z0-9+/]",
    "c": "[A-Z0-9]",
}
#: Kind; prefixes; alphabet and least length of the rest. The shortest are as long as the issuer's own.
_PREFIXED = """
1password token; ops_eyJ; b100
adobe secret; p8e-; w32
alibaba key; LTAI; w12
artifactory key; AKCp; w60
artifactory token; cmVmdGtu; w50
atlassian token; ATATT3 ATCTT3; u100
bitbucket password; ATBB ATCTT; w28
aws bedrock key; ABSK bedrock-api-key-; b60
buildkite token; bkua_ bkct_ bkaj_ bkpt_; x40
cerebras key; csk-; w40
circleci token; CCIPAT_ CCIPRJ_; u30
clickhouse key; 4b1d; w38
clojars token; CLOJARS_; w60
cloudflare token; cfut_ cfat_ cfk_; u36
cockroach key; CCDB1_; u40
contentful token; CFPAT-; u40
crates token; cio; w32
defined networking key; dnkey-; u60
docker token; dckr_oat_; u20
duffel token; duffel_test_ duffel_live_; u40
easypost key; EZAK EZTK; w50
elevenlabs key; sk_; x48
facebook token; EAAM EAAC EAAB EAAG; w90
figma token; figd_ figo_ figu_; u36
fireworks key; fw_; w22
flutterwave key; FLWSECK- FLWSECK_TEST- FLWPUBK_TEST-; w12
fly token; fo1_; u40
fly token; fm1a_ fm1r_ fm2_; b90
frame.io token; fio-u-; u60
gitlab token; GR1348941; u20
grafana key; eyJrIjoi; b60
hugging face token; api_org_; w30
infracost key; ico-; w32
intra42 secret; s-s4t2ud- s-s4t2af-; x64
mongodb secret; mdb_sa_sk_; u36
neon key; napi_; w50
netlify token; nfp_; w36
new relic key; NRII- NRIQ- NRRA- NRSP- NRAA-; u27
new relic key; NRJS-; x19
notion token; ntn_; w40
notion token; secret_; w43
nuget key; oy2; w43
nvidia key; nvapi-; u60
octopus key; API-; c25
perplexity key; pplx-; w40
pinecone key; pcsk_; u50
planetscale token; pscale_tkn_ pscale_oauth_ pscale_pw_ pscale_app_; u32
posthog key; phc_ phx_ phs_; w40
prefect key; pnu_ pnb_; w36
pulumi token; pul-; x40
readme key; rdme_; w64
render key; rnd_; w20
rubygems key; rubygems_; x48
scalingo token; tk-us- tk-eu-; u40
sendinblue key; xkeysib- xsmtpsib-; x60
sentry token; sntryu_ sntrya_; x64
sentry token; sntrys_; b60
settlemint token; sm_aat_ sm_pat_ sm_sat_; w16
shippo token; shippo_live_ shippo_test_; x40
sonar token; sqp_ squ_ sqa_; x40
sourcegraph token; sgp_; x40
sourcegraph token; sgp_local_; x40
square token; EAAA; u55
supabase key; sb_secret_; u30
tailscale key; tskey-api- tskey-auth- tskey-client- tskey-scim- tskey-webhook-; u16
together key; tgp_v1_; u40
typeform token; tfp_; u50
vercel token; vercel_blob_rw_; u30
wandb key; wandb_v1_; u40
yandex key; AQVN; u35
yandex token; y0_ y1_ y2_ y3_; u50
"""


def _of_line(line: str) -> SecretFormat:
    kind, starts, rest = line.split("; ")
    prefixes, least = starts.split(), int(rest[1:])
    # No prefix contains a special character except "-" and ".", which needs no escape here.
    expression = rf"{_START}(?:{'|'.join(prefixes)}){_ALPHABETS[rest[0]]}{{{least},}}={{0,3}}"
    shortest = min(map(len, prefixes)) + least
    return SecretFormat(kind, tuple(map(str.lower, prefixes)), expression, shortest)


FORMATS = (*_SHAPED, *map(_of_line, _PREFIXED.strip().splitlines()))
