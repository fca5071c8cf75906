"""A chat completions server on the loopback: every event is an HTTP chunk of its own, sent as fast as it is read.

The model's name says how long the answer is: `deltas-20000`.
"""

from __future__ import annotations

import asyncio
import json
from typing import Any

HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
EVENTS_PER_WRITE = 32


def event(delta: dict[str, Any], finish_reason: str | None = None) -> bytes:
    chunk = {
        "id": "chatcmpl-0123456789abcdef",
        "object": "chat.completion.chunk",
        "created": 1_767_323_045,
        "model": "deltas",
        "system_fingerprint": "fp_0123456789",
        "choices": [{"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish_reason}],
    }
    return f"data: {json.dumps(chunk, separators=(',', ':'))}\n\n".encode()


def http_chunk(data: bytes) -> bytes:
    return b"%x\r\n%b\r\n" % (len(data), data)


async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    try:
        while head := await reader.readuntil(b"\r\n\r\n"):
            headers = dict(line.lower().split(b": ", 1) for line in head.split(b"\r\n")[1:-2])
            request = json.loads(await reader.readexactly(int(headers[b"content-length"])))
            await stream(writer, int(request["model"].removeprefix("deltas-")))
    except asyncio.IncompleteReadError:
        pass  # the client has left
    finally:
        writer.close()


async def stream(writer: asyncio.StreamWriter, deltas: int) -> None:
    writer.write(HEAD + http_chunk(event({"role": "assistant", "content": ""})))
    word = http_chunk(event({"content": "word "}))
    for sent in range(0, deltas, EVENTS_PER_WRITE):
        writer.write(word * min(EVENTS_PER_WRITE, deltas - sent))
        await writer.drain()
    writer.write(http_chunk(event({}, "stop")) + http_chunk(b"data: [DONE]\n\n") + http_chunk(b""))
    await writer.drain()


async def main() -> None:
    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(main())
