"""An MCP server without the SDK, of protocol revision 2025-06-18, as many are; it is there at once.

It answers one request at a time, but for `wait`, which is answered when it is cancelled, by its cancellation.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from typing import Any

tools = ["whoami", "count", "wait", "heard", "swap", "hang_up", "crash"]
waiting: list[Any] = []
heard: list[str] = []


def send(**message: Any) -> None:
    print(json.dumps({"jsonrpc": "2.0", **message}), flush=True)


def count(token: Any) -> str:
    for done in (1, 2, 3):
        send(method="notifications/progress", params={"progressToken": token, "progress": done, "total": 3})
    return "three"


def swap(token: Any) -> str:
    tools[tools.index("whoami")] = "who"
    send(method="notifications/tools/list_changed")
    return "swapped"


def hang_up(token: Any) -> str:
    os.close(1)
    return ""


def crash(token: Any) -> str:
    print("out of luck, and the key is", os.environ.get("TOKEN"), file=sys.stderr, flush=True)
    os._exit(3)


CALLS: dict[str, Callable[[Any], str]] = {
    "whoami": lambda _: str(os.getpid()),
    "who": lambda _: str(os.getpid()),
    "count": count,
    "heard": lambda _: json.dumps(heard),
    "swap": swap,
    "hang_up": hang_up,
    "crash": crash,
}


def answer(id: Any, method: str, params: dict[str, Any]) -> None:
    if method == "initialize":
        version = {"protocolVersion": "2025-06-18", "serverInfo": {"name": "plain", "version": "1"}}
        send(id=id, result={**version, "capabilities": {"tools": {"listChanged": True}}})
    elif method == "tools/list":
        send(id=id, result={"tools": [{"name": name, "inputSchema": {"type": "object"}} for name in tools]})
    elif method == "tools/call" and params["name"] == "wait":
        waiting.append(id)
        send(method="notifications/progress", params={"progressToken": id, "progress": 0, "message": "waiting"})
    elif method == "tools/call":
        text = CALLS[params["name"]](params.get("_meta", {}).get("progressToken"))
        send(id=id, result={"content": [{"type": "text", "text": text}]})
    elif method == "notifications/cancelled":
        heard.append("cancelled" if params["requestId"] in waiting else "something else")
    elif id is not None:
        send(id=id, error={"code": -32601, "message": f"Method not found: {method}"})


for line in sys.stdin:
    request = json.loads(line)
    answer(request.get("id"), request["method"], request.get("params", {}))
