"""The lock-file queue that scripts and Dibs share."""

from __future__ import annotations

import pytest
from tests.interop.shared import Shared


@pytest.fixture
def shared(tmp_path):
    shared = Shared(tmp_path)
    yield shared
    shared.close()
