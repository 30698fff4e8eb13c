"""The crew that keeps working, its repository, and its tasks."""

from __future__ import annotations

from typing import NamedTuple


class Member(NamedTuple):
    """One coding agent: the program, its session, what it is for, and its model."""

    program: str
    session: str
    role: str
    model: str

    @property
    def id(self) -> str:
        """The ID that its hooks register."""
        part = self.session[-8:] if self.program == "codex" else self.session[:8]
        return f"{self.program}-{part}"


class Job(NamedTuple):
    """A task with the files it changes."""

    title: str
    files: tuple[str, ...]
    reason: str
    priority: str = "normal"
    #: The title of a task that must be done first.
    needs: str = ""


LEAD = Member("claude", "7f3a21c4-5d0e-4b6f-9a71-3c2e8f104d55", "lead", "claude-opus-4-5")
OWNER = Member("gemini", "b40c9d12-77aa-4e1b-8f3d-6a5e2c9b0f31", "backend", "gemini-3-pro")
RIVAL = Member("codex", "019c2b7e-4f1a-7c3d-a2e8-51f08e6ad3c7", "backend", "gpt-5.2-codex")
WORKERS = (
    Member("claude", "e82d5b07-1c4f-4a93-b6d8-90f7a3e1c254", "frontend", "claude-sonnet-4-5"),
    Member("codex", "019c2b81-9e07-7a52-b1d4-c83f27b4e190", "backend", "gpt-5.2-codex"),
    Member("claude", "3b96f0ad-8e27-41c5-a0f2-d7148b5c9e63", "tester", "claude-sonnet-4-5"),
    Member("claude", "c51e7a98-2f60-4d3b-95a4-8b0d6f13e7a2", "docs", "claude-haiku-4-5"),
    Member("gemini", "5d28e4f1-b093-4c7a-8e16-2f9a7d50c8b4", "data", "gemini-3-pro"),
)

_FOLDERS = {
    "src/shop": "__init__.py app.py config.py errors.py logging.py",
    "src/shop/api": "__init__.py routes.py orders.py products.py users.py webhooks.py",
    "src/shop/auth": "__init__.py login.py session.py tokens.py permissions.py",
    "src/shop/cart": "__init__.py cart.py discounts.py storage.py",
    "src/shop/catalog": "__init__.py products.py search.py images.py stock.py",
    "src/shop/checkout": "__init__.py totals.py tax.py shipping.py invoice.py",
    "src/shop/payments": "__init__.py stripe.py refunds.py ledger.py",
    "src/shop/mail": "__init__.py send.py templates.py",
    "tests": "conftest.py test_login.py test_cart.py test_totals.py test_search.py test_refunds.py",
    "web/src": "main.ts router.ts theme.css",
    "web/src/api": "client.ts types.ts",
    "web/src/pages": "Home.tsx Product.tsx Cart.tsx Checkout.tsx Orders.tsx Login.tsx",
    "web/src/components": "Header.tsx Price.tsx SearchBox.tsx Rating.tsx",
    "db": "schema.sql seed.sql",
    "db/migrations": "0001_users.sql 0002_products.sql 0003_orders.sql 0004_refunds.sql",
    "deploy": "Dockerfile compose.yaml nginx.conf",
    "docs": "api.md install.md payments.md search.md",
    ".": "README.md CHANGELOG.md package.json pyproject.toml",
}
FILES = tuple(
    name if folder == "." else f"{folder}/{name}"
    for folder, names in _FOLDERS.items()
    for name in names.split()
)

_API, _CLIENT, _SCHEMA = "src/shop/api/routes.py", "web/src/api/client.ts", "db/schema.sql"
JOBS = (
    Job("Keep the session after a password change", ("src/shop/auth/session.py", "src/shop/auth/tokens.py"), "sessions survive a password change", "high"),
    Job("Rate-limit failed logins", ("src/shop/auth/login.py", "src/shop/config.py"), "limit failed logins"),
    Job("Add a route for order history", (_API, "src/shop/api/orders.py"), "order history for customers", "high"),
    Job("Show order history", ("web/src/pages/Orders.tsx", _CLIENT), "page for order history", needs="Add a route for order history"),
    Job("Store refunds with their reason", (_SCHEMA, "src/shop/payments/refunds.py"), "refunds need a reason", "high"),
    Job("Index products by category", (_SCHEMA, "db/migrations/0002_products.sql"), "slow category pages"),
    Job("Find products with typos in the query", ("src/shop/catalog/search.py", "tests/test_search.py"), "tolerant search"),
    Job("Debounce the search box", ("web/src/components/SearchBox.tsx", _CLIENT), "too many requests while typing"),
    Job("Test refunds of partial orders", ("tests/test_refunds.py", "tests/conftest.py"), "cover partial refunds", needs="Store refunds with their reason"),
    Job("Document the payments API", ("docs/payments.md", "docs/api.md"), "docs for the payments API", "low", needs="Test refunds of partial orders"),
    Job("Verify webhook signatures", ("src/shop/api/webhooks.py", "src/shop/payments/stripe.py"), "check signatures first", "critical"),
    Job("Resize product images on upload", ("src/shop/catalog/images.py",), "smaller images"),
    Job("Apply discounts before shipping", ("src/shop/cart/discounts.py", "tests/test_cart.py"), "order of discounts"),
    Job("Show prices with the right currency", ("web/src/components/Price.tsx", "web/src/api/types.ts"), "currency of the customer"),
    Job("Return 404 for deleted products", (_API, "src/shop/api/products.py"), "deleted products still open"),
    Job("Send the invoice by mail", ("src/shop/mail/send.py", "src/shop/mail/templates.py"), "invoice by mail"),
    Job("Cache the product list", ("src/shop/catalog/products.py", "src/shop/config.py"), "cache for one minute"),
    Job("Add a dark theme", ("web/src/theme.css", "web/src/components/Header.tsx"), "dark theme"),
    Job("Describe the search syntax", ("docs/search.md",), "docs for search", "low", needs="Find products with typos in the query"),
    Job("Compress responses in nginx", ("deploy/nginx.conf",), "gzip and brotli", "low"),
    Job("Log requests as JSON", ("src/shop/logging.py", "src/shop/app.py"), "structured logs"),
    Job("Restore the cart after login", ("src/shop/cart/storage.py", "web/src/pages/Login.tsx"), "carts get lost at login", "high"),
    Job("Add ratings to the product page", ("web/src/pages/Product.tsx", "web/src/components/Rating.tsx"), "show ratings"),
    Job("Migrate orders to bigint ids", (_SCHEMA, "db/migrations/0003_orders.sql"), "ids run out", "high"),
    Job("Test logins with expired tokens", ("tests/test_login.py", "tests/conftest.py"), "cover expired tokens", needs="Keep the session after a password change"),
    Job("List what changed in 2.4", ("CHANGELOG.md", "README.md"), "notes for the release", "low", needs="Test logins with expired tokens"),
)  # fmt: skip

#: Conflicts that need a human: the folder one agent holds, the file another needs, and why.
CONFLICTS = (
    ("src/shop/checkout/", "src/shop/checkout/tax.py", "rewrite all totals in cents", "the tax fix must be in today's release"),
    ("web/src/pages/", "web/src/pages/Checkout.tsx", "new layout for all pages", "customers cannot pay with Safari"),
    ("src/shop/payments/", "src/shop/payments/ledger.py", "split the payment provider", "the month-end report is wrong"),
)  # fmt: skip
DECISIONS = (
    ("Use httpx instead of requests", "async handlers need an async client"),
    ("Store prices as integers in cents", "floats lose a cent in 1 of 300 orders"),
    ("Allow the tester to restart the staging database", "migrations need a fresh start"),
    ("Drop support for Node 20", "it gets no more updates"),
    ("Require a test for every bug fix", "three bugs came back this month"),
)  # fmt: skip
MESSAGES = (
    "the API for orders is on main: pull before you use it",
    "tests/conftest.py has a new fixture `paid_order`",
    "please run the payment tests before you commit",
    "schema.sql changed: run the migrations again",
    "the staging server is up again",
)
