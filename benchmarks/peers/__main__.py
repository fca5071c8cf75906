"""The command line: `python -m benchmarks.peers install`."""

from __future__ import annotations

import argparse
import subprocess
import sys

from . import PEERS, VENVS, Stream


def main() -> int:
    """Make the virtual environments of the peers and install the newest of each; returns 1 when one fails."""
    by_venv = {peer.venv: peer for peer in PEERS}
    parser = argparse.ArgumentParser(prog="python -m benchmarks.peers")
    parser.add_argument("action", choices=["install"])
    parser.add_argument("names", nargs="*", metavar="PEER", help=f"{', '.join(by_venv)}; all when none is named")
    given = parser.parse_args()
    if unknown := [name for name in given.names if name not in by_venv]:
        parser.error(f"there is no peer {unknown[0]!r}; known: {', '.join(by_venv)}")
    installed = [_install(by_venv[name]) for name in given.names or by_venv]
    return 0 if all(installed) else 1


def _install(peer: Stream) -> bool:
    print(f"{peer.venv}: installing {peer.requirement} into {VENVS / peer.venv}", flush=True)
    commands = (
        (sys.executable, "-m", "venv", VENVS / peer.venv),
        (peer.python, "-m", "pip", "install", "--quiet", "--upgrade", peer.requirement),
    )
    return all(subprocess.run(command, check=False).returncode == 0 for command in commands)


if __name__ == "__main__":
    sys.exit(main())
