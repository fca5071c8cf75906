"""The command line: `python -m benchmarks.peers install`."""

from __future__ import annotations

import argparse
import subprocess
import sys
import venv

from . import PEERS, VENVS


def main() -> int:
    """Make the virtual environments of the peers and install the newest of each; returns 1 when one fails."""
    requirements = {peer.venv: peer.requirement for peer in PEERS if peer.venv is not None}
    parser = argparse.ArgumentParser(prog="python -m benchmarks.peers")
    parser.add_argument("action", choices=["install"])
    parser.add_argument("names", nargs="*", metavar="PEER", help=f"{', '.join(requirements)}; all when none is named")
    given = parser.parse_args()
    if unknown := [name for name in given.names if name not in requirements]:
        parser.error(f"there is no peer {unknown[0]!r}; known: {', '.join(requirements)}")
    return max([_install(name, requirements[name]) for name in given.names or requirements])


def _install(name: str, requirement: str) -> int:
    print(f"{name}: installing {requirement} into {VENVS / name}", flush=True)
    builder = venv.EnvBuilder(with_pip=True)
    builder.create(VENVS / name)
    python = builder.ensure_directories(VENVS / name).env_exe
    done = subprocess.run([python, "-m", "pip", "install", "--quiet", "--upgrade", requirement], check=False)
    return min(done.returncode, 1)


if __name__ == "__main__":
    sys.exit(main())
