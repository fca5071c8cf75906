"""`python -m agentscope_rx.cli`."""

import sys

from .command import main

sys.exit(main())
