"""The import bar: what the package adds to what it is built on."""

from __future__ import annotations

from tempfile import TemporaryDirectory

from .bench import Bench, Effort, Finding, Report, at_most
from .measure import child, in_turns, median_of

__all__ = ["BENCH"]

BASE = "import reactivex, pydantic, httpx"
OURS = "from agentscope_rx import ReActAgent, UserMessage"
BAR = at_most(2, "x")

TIMED = """
import json, time
before = time.process_time()
{statement}
print(json.dumps({{"cpu": time.process_time() - before}}))
"""


def run(effort: Effort) -> Report:
    """Import both in new processes, in turns, from bytecode, as installed packages are."""
    statements = {name: TIMED.format(statement=name) for name in (BASE, OURS)}
    with TemporaryDirectory() as cache:
        compiled = {"PYTHONPYCACHEPREFIX": cache, "PYTHONDONTWRITEBYTECODE": ""}
        contenders = {name: (lambda code=code: child(["-c", code], compiled)) for name, code in statements.items()}
        in_turns(contenders, 1)  # writes the bytecode
        samples = in_turns(contenders, 2 * effort.rounds)
    seconds = {name: median_of(taken, "cpu") for name, taken in samples.items()}
    rows = [("", "ms"), *((name, f"{taken * 1e3:.0f}") for name, taken in seconds.items())]
    return Report(rows, [Finding("the package takes", seconds[OURS] / seconds[BASE], BAR)])


BENCH = Bench("imports", "the time to import the package, beside that of its dependencies", run)
