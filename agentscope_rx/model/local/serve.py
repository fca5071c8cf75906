"""Runs llama.cpp's HTTP server until standard input ends. A program of its own, which imports nothing of this package.

A line of JSON comes in, with the `search_path` of modules and the `settings` of the server; one goes out, with an
`address` or an `error`. From then on the process lives exactly as long as the other end of its standard input: the end
of the parent, even a violent one, is its own. What llama.cpp writes to the console goes nowhere.
"""

from __future__ import annotations

import json
import os
import sys
from importlib import import_module
from typing import Any


def start(settings: dict[str, Any]) -> Any:
    """Load the model and return the running server.

    Args:
        settings: values for the attributes of `xllamacpp.CommonParams`, by path.
    """
    llama = import_module("xllamacpp")
    parameters = llama.CommonParams()
    for path, value in settings.items():
        *parts, name = path.split(".")
        target = parameters
        for part in parts:
            target = getattr(target, part)
        setattr(target, name, value)
    return llama.Server(parameters)


def main() -> None:
    """Serve one model."""
    with os.fdopen(os.dup(sys.stdout.fileno()), "w", encoding="utf-8") as answer:
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sys.stdout.fileno())
        order = json.loads(sys.stdin.readline())
        sys.path[:] = order["search_path"]
        try:
            server = start(order["settings"])
            said = {"address": server.listening_address}
        except Exception as error:
            said = {"error": f"{type(error).__name__}: {error}"}
        answer.write(json.dumps(said) + "\n")
    sys.stdin.read()
    os._exit(0)  # at once: neither answers in flight nor the threads of llama.cpp are worth waiting for


if __name__ == "__main__":
    main()
