"""An event loop in a daemon thread, for streams that are subscribed where no loop runs."""

from __future__ import annotations

import asyncio
import atexit
import os
import threading

__all__ = ["portal_loop"]

_EXIT_SECONDS = 2.0
"""How long the end of the process waits for the streams of the portal to finish their cleanup."""


class _Portal:
    """One daemon thread that runs one loop until it is closed."""

    def __init__(self) -> None:
        self.loop = asyncio.new_event_loop()
        self.serves = True
        self._thread = threading.Thread(target=self._serve, name="agentscope-rx-portal", daemon=True)
        self._thread.start()

    def close(self) -> None:
        self.loop.call_soon_threadsafe(self.loop.stop)
        self._thread.join(_EXIT_SECONDS)

    def _serve(self) -> None:
        try:
            self.loop.run_forever()
        finally:  # also reached when a callback raised SystemExit or KeyboardInterrupt
            self.serves = False
            self.loop.run_until_complete(self._end_streams())
            self.loop.close()

    async def _end_streams(self) -> None:
        tasks = asyncio.all_tasks() - {asyncio.current_task()}
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await self.loop.shutdown_asyncgens()


_lock = threading.Lock()
_portal: _Portal | None = None


def portal_loop() -> asyncio.AbstractEventLoop:
    """Return the loop of the portal; it is started when it is first needed and renewed when it has died."""
    global _portal
    with _lock:
        if _portal is None or not _portal.serves:
            _portal = _Portal()
        return _portal.loop


def _forget_portal() -> None:
    """A forked child has no thread that runs the loop, and perhaps a lock that nobody will release."""
    global _lock, _portal
    _lock, _portal = threading.Lock(), None


def _close_portal() -> None:
    if _portal is not None and _portal.serves:
        _portal.close()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_portal)
atexit.register(_close_portal)
