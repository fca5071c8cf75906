"""An OpenAI-compatible server on loopback that answers a script, for tests of the console as a process."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

__all__ = ["ModelServer", "call", "serve", "text"]


def text(content: str) -> dict[str, Any]:
    """The model says something."""
    return {"content": content}


def call(id: str, name: str, arguments: dict[str, Any]) -> dict[str, Any]:
    """The model calls a tool."""
    function = {"name": name, "arguments": json.dumps(arguments)}
    return {"tool_calls": [{"index": 0, "id": id, "type": "function", "function": function}]}


class ModelServer:
    """Answers each request with the next turn; a turn that is open sends what it has and then waits for its client."""

    def __init__(self, turns: Sequence[Sequence[dict[str, Any]]], open_turns: set[int], status: int) -> None:
        self.turns = turns
        self.open_turns = open_turns
        self.status = status
        self.requests: list[dict[str, Any]] = []
        self.hung_up = threading.Event()
        """Set when a client left an open turn."""
        self.url = ""


@contextmanager
def serve(
    turns: Sequence[Sequence[dict[str, Any]]] = (), open_turns: set[int] | None = None, status: int = 200
) -> Iterator[ModelServer]:
    """Serve on a free port of 127.0.0.1."""
    script = ModelServer(turns, open_turns or set(), status)

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            number = len(script.requests)
            script.requests.append(body)
            self.send_response(script.status)
            self.send_header("Content-Type", "text/event-stream" if script.status == 200 else "application/json")
            self.end_headers()
            if script.status != 200:
                self.wfile.write(b'{"error": {"message": "no such model", "type": "invalid_request_error"}}')
                return
            for delta in script.turns[number]:
                self.frame({"choices": [{"index": 0, "delta": delta}]})
            if number in script.open_turns:
                self.connection.settimeout(20)
                if self.connection.recv(1) == b"":
                    script.hung_up.set()
                return
            reason = "tool_calls" if any("tool_calls" in delta for delta in script.turns[number]) else "stop"
            self.frame({"choices": [{"index": 0, "delta": {}, "finish_reason": reason}]})
            self.frame({"choices": [], "usage": {"prompt_tokens": 10, "completion_tokens": 4, "total_tokens": 14}})
            self.wfile.write(b"data: [DONE]\n\n")

        def frame(self, body: dict[str, Any]) -> None:
            self.wfile.write(f"data: {json.dumps({'object': 'chat.completion.chunk', **body})}\n\n".encode())

        def log_message(self, format: str, *args: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    script.url = f"http://127.0.0.1:{server.server_port}/v1"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield script
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
