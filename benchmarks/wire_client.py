"""The two clients of the wire bench: `python -m benchmarks.wire_client URL raw|agent DELTAS`."""

from __future__ import annotations

import asyncio
import json
import sys
import time
from collections.abc import Awaitable, Callable

import httpx

from agentscope_rx import ReActAgent, TextBlockDeltaEvent
from agentscope_rx.model import OpenAIChatModel

WARM_UP = 100


async def raw(url: str) -> Callable[[int], Awaitable[int]]:
    """Read the bytes, split them and parse the JSON."""
    client = httpx.AsyncClient(timeout=None)

    async def read(deltas: int) -> int:
        request = {"model": f"deltas-{deltas}", "stream": True, "messages": [{"role": "user", "content": "hi"}]}
        count, rest = 0, b""
        async with client.stream("POST", f"{url}/chat/completions", json=request) as response:
            async for piece in response.aiter_bytes():
                *events, rest = (rest + piece).split(b"\n\n")
                for event in events:
                    data = event.removeprefix(b"data: ")
                    if data != b"[DONE]" and json.loads(data)["choices"][0]["delta"].get("content"):
                        count += 1
        return count

    return read


async def agent(url: str) -> Callable[[int], Awaitable[int]]:
    """Read, parse, assemble, publish, fold, and `async for`."""

    async def read(deltas: int) -> int:
        model = OpenAIChatModel(f"deltas-{deltas}", base_url=url, api_key="none")
        count = 0
        async for event in ReActAgent("assistant", model).stream_events("hi"):
            if type(event) is TextBlockDeltaEvent:
                count += 1
        return count

    return read


async def main(url: str, mode: str, deltas: int) -> None:
    read = await {"raw": raw, "agent": agent}[mode](url)
    await read(WARM_UP)
    before = time.process_time()
    count = await read(deltas)
    cpu = time.process_time() - before
    assert count == deltas, f"{count} of {deltas}"
    print(json.dumps({"cpu": cpu}))


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], sys.argv[2], int(sys.argv[3])))
