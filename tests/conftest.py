"""What all tests share: how many examples a property is tried on.

HYPOTHESIS_PROFILE=ci tries 2,000 random examples of each, the default few; both try the same ones every time. The
properties that are laws, by their names, are marked `law`.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from typing import Any

import pytest
from hypothesis import HealthCheck, is_hypothesis_test, settings

_SLOW = [HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.large_base_example]

settings.register_profile(
    "default", max_examples=20, deadline=None, derandomize=True, database=None, suppress_health_check=_SLOW
)
settings.register_profile(
    "ci", max_examples=2_000, deadline=None, derandomize=True, database=None, suppress_health_check=_SLOW
)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "default"))

_LAW = re.compile(r"test_l[1-8]_")


def pytest_collection_modifyitems(items: Iterable[Any]) -> None:
    for item in items:
        if _LAW.match(item.name) and is_hypothesis_test(item.function):
            item.add_marker(pytest.mark.law)
