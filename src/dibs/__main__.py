"""``python -m dibs``."""

import sys

from dibs.cli import main

sys.exit(main())
