"""Events (floor 1): what happens in a reply, what may follow what, and the message it all becomes."""

from .base import *
from .types import *
