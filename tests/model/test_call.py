"""Model calls over real HTTP on the loopback interface."""

from __future__ import annotations

import asyncio
import contextlib
import json
import math
import threading
import traceback
from typing import Any

import httpx
import pytest

from agentscope_rx.errors import (
    ConfigurationError,
    ModelError,
    ModelHTTPError,
    ModelStallError,
    ModelStreamError,
    ModelTruncatedError,
    UnsupportedContentError,
)
from agentscope_rx.event import FinishReason
from agentscope_rx.message import Base64Source, DataBlock, UserMessage
from agentscope_rx.model import (
    NO_RETRY,
    ChatModel,
    ModelChunk,
    ModelOptions,
    ModelRequest,
    OpenAIChatModel,
    ResetPiece,
    RetryPolicy,
    TextPiece,
    UsagePiece,
    call as call_module,
)

from .calling import PROMPT, REQUEST, outcome_of, run
from .loopback import Exchange, Server, serving
from .openai_chat.decoding import DONE, STOP, delta, sse
from .outcome import Outcome

KEY = "sk-test-1234567890"
HELLO = [delta(role="assistant", content=None), delta(content="Hel"), delta(content="lo")]
USAGE = {"choices": [], "usage": {"prompt_tokens": 3, "completion_tokens": 2}}
WHOLE = sse(*HELLO, STOP, USAGE, DONE)


class Naps:
    """A sleep that only takes notes."""

    def __init__(self) -> None:
        self.seconds: list[float] = []

    async def __call__(self, seconds: float) -> None:
        self.seconds.append(seconds)


def policy(naps: Naps, **settings: Any) -> RetryPolicy:
    return RetryPolicy(sleep=naps, random=lambda: 0.0, **settings)


def model(server: Server, **settings: Any) -> OpenAIChatModel:
    settings = {"retry": NO_RETRY, "api_key": KEY, "base_url": server.url, **settings}
    return OpenAIChatModel("some-model", **settings)


async def whole(exchange: Exchange) -> None:
    await exchange.respond(WHOLE)


# --- the plain call -------------------------------------------------------------------------------------------------


def test_a_call_sends_the_request_and_streams_the_answer() -> None:
    async def main() -> None:
        async with serving(whole) as server:
            got = await outcome_of(model(server, options=ModelOptions(temperature=0.5)))
            assert (got.text, got.finish, got.usage, got.error) == ("Hello", FinishReason.STOP, UsagePiece(3, 2), None)
            [exchange] = server.exchanges
            assert exchange.path == "/v1/chat/completions"
            assert exchange.headers["authorization"] == f"Bearer {KEY}"
            assert exchange.headers["content-type"] == "application/json"
            assert exchange.headers["accept"] == "text/event-stream"
            assert exchange.body == {
                "model": "some-model",
                "messages": [{"role": "user", "content": PROMPT}],
                "stream": True,
                "stream_options": {"include_usage": True},
                "temperature": 0.5,
            }

    run(main())


def test_options_of_the_request_go_over_those_of_the_model() -> None:
    async def main() -> None:
        async with serving(whole) as server:
            chat = model(server, options=ModelOptions(temperature=0.5, max_tokens=7))
            await outcome_of(chat, ModelRequest(REQUEST.messages, options=ModelOptions(temperature=0.0)))
            body = server.exchanges[0].body
            assert (body["temperature"], body["max_tokens"]) == (0.0, 7)

    run(main())


def test_chunks_come_as_the_server_sends_them() -> None:
    async def main() -> None:
        go = asyncio.Event()

        async def step_by_step(exchange: Exchange) -> None:
            await exchange.start()
            await exchange.send(sse(delta(content="first")))
            await go.wait()
            await exchange.send(sse(STOP, DONE))
            await exchange.end()

        async with serving(step_by_step) as server, contextlib.aclosing(model(server).stream(REQUEST)) as chunks:
            assert await anext(chunks) == ModelChunk(TextPiece("first"))
            go.set()
            assert [chunk async for chunk in chunks]

    run(main())


def test_a_compressed_answer_is_read() -> None:
    import gzip

    async def main() -> None:
        async def compressed(exchange: Exchange) -> None:
            await exchange.respond(gzip.compress(WHOLE), Content_Encoding="gzip")

        async with serving(compressed) as server:
            assert (await outcome_of(model(server))).text == "Hello"
            assert server.exchanges[0].headers["accept-encoding"] == "identity"

    run(main())


def test_the_connection_is_used_again_after_a_normal_end() -> None:
    async def main() -> None:
        async with serving(whole) as server:
            chat = model(server)
            for _ in range(3):
                assert (await outcome_of(chat)).error is None
            assert (len(server.exchanges), server.connections) == (3, 1)

    run(main())


def test_content_that_cannot_be_sent_is_refused_before_the_request() -> None:
    async def main() -> None:
        async with serving(whole) as server:
            archive = DataBlock(Base64Source(media_type="application/zip", data="aGk="))
            with pytest.raises(UnsupportedContentError):
                model(server).stream(ModelRequest([UserMessage(archive)]))
            assert server.exchanges == []

    run(main())


@pytest.mark.parametrize("odd", [math.nan, math.inf, object()])
def test_options_that_json_cannot_carry_are_refused_before_the_request(odd: object) -> None:
    async def main() -> None:
        async with serving(whole) as server:
            request = ModelRequest(REQUEST.messages, options=ModelOptions(extra_body={"x": odd}))
            with pytest.raises(ConfigurationError, match="extra_body"):
                await outcome_of(model(server), request)
            assert server.exchanges == []

    run(main())


# --- how a stream ends ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("how", ["cut", "reset", "end"])
def test_a_body_that_stops_early_is_truncation_and_what_came_stands(how: str) -> None:
    async def main() -> None:
        async def broken(exchange: Exchange) -> None:
            await exchange.start()
            await exchange.send(sse(*HELLO))
            await asyncio.sleep(0.02)
            if how == "end":
                await exchange.end()
            elif how == "cut":
                await exchange.cut()
            else:
                exchange.reset()

        async with serving(broken) as server:
            naps = Naps()
            got = await outcome_of(model(server, retry=policy(naps)))
            assert isinstance(got.error, ModelTruncatedError)
            assert (got.text, got.finish) == ("Hello", None)
            assert (len(server.exchanges), naps.seconds) == (1, [])

    run(main())


@pytest.mark.parametrize("how", ["cut", "reset"])
def test_a_connection_that_breaks_after_the_finish_reason_is_a_normal_end(how: str) -> None:
    async def main() -> None:
        async def broken(exchange: Exchange) -> None:
            await exchange.start()
            await exchange.send(sse(*HELLO, STOP))
            await asyncio.sleep(0.02)
            if how == "cut":
                await exchange.cut()
            else:
                exchange.reset()

        async with serving(broken) as server:
            got = await outcome_of(model(server))
            assert (got.text, got.finish, got.error) == ("Hello", FinishReason.STOP, None)

    run(main())


def test_a_socket_left_open_after_done_is_closed() -> None:
    async def main() -> None:
        gone = asyncio.Event()

        async def open_end(exchange: Exchange) -> None:
            await exchange.start()
            await exchange.send(WHOLE)
            await exchange.client_gone()
            gone.set()

        async with serving(open_end) as server:
            got = await outcome_of(model(server))
            assert (got.text, got.error) == ("Hello", None)
            await gone.wait()  # nothing but the client ends this exchange

    run(main())


def test_a_server_that_neither_ends_nor_closes_after_the_finish_reason_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(call_module, "_GRACE", 0.05)

    async def main() -> None:
        gone = asyncio.Event()

        async def open_end(exchange: Exchange) -> None:
            await exchange.start()
            await exchange.send(sse(*HELLO, STOP, USAGE))
            await exchange.client_gone()
            gone.set()

        async with serving(open_end) as server:
            got = await outcome_of(model(server))
            assert (got.text, got.finish, got.usage, got.error) == ("Hello", FinishReason.STOP, UsagePiece(3, 2), None)
            await gone.wait()

    run(main())


def test_text_after_done_is_ignored_though_the_server_goes_on_sending() -> None:
    async def main() -> None:
        async def endless(exchange: Exchange) -> None:
            await exchange.start()
            await exchange.send(WHOLE)
            while True:
                await exchange.send(sse(delta(content="more")))
                await asyncio.sleep(0.001)

        async with serving(endless) as server:
            got = await outcome_of(model(server))
            assert (got.text, got.error) == ("Hello", None)

    run(main())


@pytest.mark.parametrize(
    ("body", "content_type", "said"),
    [
        (b"<html><body>Welcome to the proxy</body></html>", "text/html", "web page"),
        (b'{"error":{"message":"no","type":"not_found_error"}}', "application/json", "not_found_error"),
    ],
)
def test_b6_71_a_success_that_is_no_stream_is_an_error_and_not_tried_again(
    body: bytes, content_type: str, said: str
) -> None:
    async def main() -> None:
        async def answer(exchange: Exchange) -> None:
            await exchange.respond(body, content_type=content_type)

        async with serving(answer) as server:
            got = await outcome_of(model(server, retry=policy(Naps())))
            assert isinstance(got.error, ModelStreamError)
            assert said in str(got.error)
            assert len(server.exchanges) == 1

    run(main())


def test_b6_71_an_empty_body_is_tried_again_and_never_an_empty_answer() -> None:
    async def main() -> None:
        async def nothing(exchange: Exchange) -> None:
            await exchange.respond(b"")

        async with serving(nothing, whole) as server:
            assert (await outcome_of(model(server, retry=policy(Naps())))).text == "Hello"
        async with serving(nothing) as server:
            got = await outcome_of(model(server, retry=policy(Naps())))
            assert isinstance(got.error, ModelStreamError)
            assert ("empty body" in str(got.error), len(server.exchanges)) == (True, 3)

    run(main())


def test_a_completion_from_a_server_that_ignores_stream_is_an_answer() -> None:
    async def main() -> None:
        async def answer(exchange: Exchange) -> None:
            body = b'{"choices":[{"index":0,"message":{"content":"Hello"},"finish_reason":"stop"}]}'
            await exchange.respond(body, content_type="application/json")

        async with serving(answer) as server:
            got = await outcome_of(model(server))
            assert (got.text, got.finish, got.error) == ("Hello", FinishReason.STOP, None)

    run(main())


# --- refusals and retries -------------------------------------------------------------------------------------------


def refusing(status: int, body: bytes = b"", **headers: str) -> Any:
    async def answer(exchange: Exchange) -> None:
        await exchange.respond(body, status, "application/json", **headers)

    return answer


async def drop(exchange: Exchange) -> None:
    exchange.reset()


async def role_then_cut(exchange: Exchange) -> None:
    await exchange.start()
    await exchange.send(sse(delta(role="assistant", content="")))
    await exchange.cut()


@pytest.mark.parametrize("failing", [refusing(500), refusing(503), refusing(408), refusing(429), drop, role_then_cut])
def test_what_may_pass_is_tried_again_before_the_first_content(failing: Any) -> None:
    async def main() -> None:
        naps = Naps()
        async with serving(failing, failing, whole) as server:
            got = await outcome_of(model(server, retry=policy(naps)))
            assert (got.text, got.error) == ("Hello", None)
            assert (len(server.exchanges), naps.seconds) == (3, [0.5, 1.0])

    run(main())


@pytest.mark.parametrize("failing", [refusing(529), refusing(500), drop])
def test_after_the_last_attempt_the_error_stands(failing: Any) -> None:
    async def main() -> None:
        async with serving(failing) as server:
            got = await outcome_of(model(server, retry=policy(Naps())))
            assert isinstance(got.error, ModelHTTPError)
            assert len(server.exchanges) == 3

    run(main())


@pytest.mark.parametrize("status", [300, 400, 401, 403, 404, 409, 413, 422])
def test_other_refusals_are_final(status: int) -> None:
    async def main() -> None:
        body = b'{"error":{"message":"no","type":"invalid_request_error","code":"x"}}'
        async with serving(refusing(status, body)) as server:
            got = await outcome_of(model(server, retry=policy(Naps())))
            assert isinstance(got.error, ModelHTTPError)
            assert (got.error.status, got.error.kind) == (status, "invalid_request_error")
            assert f"HTTP {status}: invalid_request_error, x: no" in str(got.error)
            assert len(server.exchanges) == 1

    run(main())


def test_retry_after_is_waited_for() -> None:
    async def main() -> None:
        naps = Naps()
        async with serving(refusing(429, Retry_After="7"), whole) as server:
            assert (await outcome_of(model(server, retry=policy(naps)))).text == "Hello"
            assert naps.seconds == [7.0]

    run(main())


def test_a_retry_after_that_is_too_long_is_told_not_waited_for() -> None:
    async def main() -> None:
        naps = Naps()
        async with serving(refusing(429, Retry_After="3600"), whole) as server:
            got = await outcome_of(model(server, retry=policy(naps)))
            assert isinstance(got.error, ModelHTTPError)
            assert (got.error.status, got.error.retry_after, naps.seconds) == (429, 3600.0, [])

    run(main())


def test_no_connection_is_an_error_without_a_status() -> None:
    async def main() -> None:
        async with serving(whole) as server:
            pass
        naps = Naps()
        got = await outcome_of(model(server, retry=policy(naps)))
        assert isinstance(got.error, ModelHTTPError)
        assert (got.error.status, len(naps.seconds)) == (None, 2)
        assert "127.0.0.1" in str(got.error)

    run(main())


def test_after_content_nothing_is_tried_again() -> None:
    async def main() -> None:
        async def broken(exchange: Exchange) -> None:
            await exchange.start()
            await exchange.send(sse(delta(reasoning_content="hm")))
            await exchange.cut()

        async with serving(broken, whole) as server:
            got = await outcome_of(model(server, retry=policy(Naps())))
            assert isinstance(got.error, ModelTruncatedError)
            assert (got.thinking, len(server.exchanges)) == ("hm", 1)

    run(main())


BROKEN = sse(delta(role="assistant", content="Hel"))


async def cut(exchange: Exchange) -> None:
    await exchange.respond(BROKEN)


async def damaged(exchange: Exchange) -> None:
    await exchange.respond(BROKEN + b'data: {"choices":[{"del\n\n' + WHOLE)


async def overloaded(exchange: Exchange) -> None:
    await exchange.respond(BROKEN + sse({"error": {"message": "busy", "type": "overloaded_error"}}))


async def silent(exchange: Exchange) -> None:
    await exchange.start()
    await exchange.send(BROKEN)
    await exchange.client_gone()


@pytest.mark.parametrize("breaking", [cut, damaged, overloaded, silent])
def test_b8_89_a_stream_that_breaks_after_content_is_made_again_if_the_policy_says_so(breaking: Any) -> None:
    async def main() -> None:
        async with serving(breaking, whole) as server:
            naps = Naps()
            chat = model(server, retry=policy(naps, after_content=True), stall_timeout=0.1)
            chunks = [chunk async for chunk in chat.stream(REQUEST)]
            [(place, reset)] = [
                (place, chunk.pieces[0])
                for place, chunk in enumerate(chunks)
                if isinstance(chunk.pieces[0], ResetPiece)
            ]
            assert (reset.attempt, bool(reset.reason), len(naps.seconds)) == (1, True, 1)
            assert Outcome.of(chunks[:place]).text == "Hel"
            assert Outcome.of(chunks[place + 1 :]) == await outcome_of(model(server))

    run(main())


def test_b8_89_the_last_attempt_stands_as_far_as_it_came() -> None:
    async def main() -> None:
        async with serving(cut) as server:
            got = await outcome_of(model(server, retry=policy(Naps(), after_content=True, max_attempts=3)))
            assert (got.text, type(got.error), len(server.exchanges)) == ("Hel", ModelTruncatedError, 3)

    run(main())


def test_content_in_an_event_that_the_end_left_open_counts_as_shown() -> None:
    async def main() -> None:
        async def unterminated(exchange: Exchange) -> None:
            await exchange.respond(sse(delta(content="Hello")).rstrip())

        async with serving(unterminated, whole) as server:
            got = await outcome_of(model(server, retry=policy(Naps())))
            assert isinstance(got.error, ModelTruncatedError)
            assert (got.text, len(server.exchanges)) == ("Hello", 1)

    run(main())


def assert_discreet(error: ModelError | None) -> None:
    """Neither the error, nor what it holds, nor what is printed of it has the key or the prompt."""
    assert error is not None
    for text in (str(error), repr(error), str(vars(error)), *traceback.format_exception(error)):
        assert KEY not in text
        assert "conquer the moon" not in text


@pytest.mark.parametrize("status", [200, 400, 401, 500])
def test_no_error_holds_the_key_or_the_prompt(status: int) -> None:
    async def main() -> None:
        said = f'{{"error":{{"type":"bad","message":"key {KEY} may not say: {PROMPT}"}}}}'.encode()
        async with serving(refusing(status, said)) as server:
            chat = model(server)
            got = await outcome_of(chat)
            assert_discreet(got.error)
            assert KEY not in repr(chat)
            assert "may not say" in str(got.error)

    run(main())


@pytest.mark.parametrize("status", [200, 401, 500])
@pytest.mark.parametrize("said", [KEY, f"invalid_key:{KEY}", PROMPT])
def test_the_kind_and_the_code_of_an_error_hold_neither_the_key_nor_the_prompt(status: int, said: str) -> None:
    async def main() -> None:
        body = json.dumps({"error": {"message": "no", "type": said, "code": said, "status": said}}).encode()
        for answer in (body, b"data: " + body + b"\n\n", b"event: error\ndata: " + body + b"\n\n"):
            async with serving(refusing(status, answer)) as server:
                assert_discreet((await outcome_of(model(server))).error)

    run(main())


@pytest.mark.parametrize(
    "head",
    [
        f"HTTP/1.1 500 {KEY} {PROMPT}\r\nContent-Length: 0\r\n\r\n",
        f"HTTP/1.1 401 Key {KEY}\r\nContent-Length: 2\r\n\r\n[[",
        f"HTTP/1.1 {KEY} {PROMPT}\r\n\r\n",
        f"{KEY} {PROMPT}\r\n\r\n",
        f"HTTP/1.1 200 OK\r\n{PROMPT} {KEY}\r\n\r\n",
        f"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n{KEY} {PROMPT}\r\n",
        f"HTTP/1.1 200 OK\r\nContent-Length: {KEY}\r\n\r\n",
    ],
)
def test_no_error_quotes_the_head_of_a_response(head: str) -> None:
    async def main() -> None:
        async def answer(exchange: Exchange) -> None:
            await exchange.send_raw(head.encode())
            await exchange.cut()

        async with serving(answer) as server:
            assert_discreet((await outcome_of(model(server))).error)

    run(main())


def test_an_unreadable_refusal_is_told_by_its_status_and_reason() -> None:
    async def main() -> None:
        async with serving(refusing(503, b"<html>")) as server:
            assert "answered HTTP 503: Service Unavailable" in str((await outcome_of(model(server))).error)

    run(main())


def test_a_refusal_in_an_event_is_read_whatever_type_it_says_it_has() -> None:
    async def main() -> None:
        said = b'id:1\nevent:error\n:HTTP_STATUS/400\ndata:{"code":"Bad","message":"no","request_id":"r-1"}\n\n'
        async with serving(lambda exchange: exchange.respond(said, 400, "application/json")) as server:
            error = (await outcome_of(model(server))).error
            assert isinstance(error, ModelHTTPError)
            assert (error.status, error.kind) == (400, "Bad")
            assert str(error).endswith("answered HTTP 400: Bad: no (request r-1)")

    run(main())


def test_an_error_body_that_never_ends_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    from agentscope_rx.model import http

    monkeypatch.setattr(http, "_ERROR_BODY_SECONDS", 0.05)

    async def main() -> None:
        async def endless(exchange: Exchange) -> None:
            await exchange.start(500)
            await exchange.send(b'{"error":')
            await exchange.client_gone()

        async with serving(endless) as server:
            got = await outcome_of(model(server))
            assert isinstance(got.error, ModelHTTPError)
            assert got.error.status == 500

    run(main())


# --- silence --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "noise",
    [
        b": ping\n\n",
        sse(delta(content="")),
        sse({"choices": [], "usage": {"prompt_tokens": 1, "completion_tokens": 1}}),
        b"",
    ],
)
@pytest.mark.parametrize("before", [b"", sse(*HELLO)])
def test_b6_70_a_stream_without_content_stalls_whatever_else_it_sends(noise: bytes, before: bytes) -> None:
    async def main() -> None:
        gone = asyncio.Event()

        async def silent(exchange: Exchange) -> None:
            await exchange.start()
            await exchange.send(before)
            with contextlib.suppress(OSError):
                while not exchange.reader.at_eof():
                    await exchange.send(noise)
                    await asyncio.sleep(0.01)
            gone.set()

        async with serving(silent) as server:
            got = await outcome_of(model(server, stall_timeout=0.2))
            assert isinstance(got.error, ModelStallError)
            assert got.error.seconds == 0.2
            assert got.text == ("Hello" if before else "")
            await gone.wait()

    run(main())


def test_b6_70_a_server_that_does_not_even_answer_stalls() -> None:
    async def main() -> None:
        async with serving(Exchange.client_gone) as server:
            got = await outcome_of(model(server, stall_timeout=0.05))
            assert isinstance(got.error, ModelStallError)

    run(main())


def test_b6_70_slow_thinking_is_no_stall() -> None:
    async def main() -> None:
        async def slow(exchange: Exchange) -> None:
            await exchange.start()
            for _ in range(8):
                await asyncio.sleep(0.05)
                await exchange.send(sse(delta(reasoning_content=".")))
            await exchange.send(WHOLE)
            await exchange.end()

        async with serving(slow) as server:
            got = await outcome_of(model(server, stall_timeout=0.3))
            assert (got.thinking, got.text, got.error) == ("........", "Hello", None)

    run(main())


def test_b6_70_waiting_for_the_consumer_is_no_stall() -> None:
    async def main() -> None:
        async with serving(whole) as server:
            text = ""
            async for chunk in model(server, stall_timeout=0.2).stream(REQUEST):
                text += getattr(chunk.pieces[0], "text", "")
                await asyncio.sleep(0.08)
            assert text == "Hello"

    run(main())


# --- leaving --------------------------------------------------------------------------------------------------------


def endless(gone: asyncio.Event) -> Any:
    async def answer(exchange: Exchange) -> None:
        await exchange.start()
        await exchange.send(sse(*HELLO))
        await exchange.client_gone()
        gone.set()

    return answer


@pytest.mark.parametrize("how", ["aclose", "athrow", "cancel while reading", "cancel while parked"])
def test_b7_72_leaving_closes_the_connection(how: str) -> None:
    async def main() -> None:
        gone = asyncio.Event()
        async with serving(endless(gone)) as server:
            chunks = model(server).stream(REQUEST)
            for text in ("Hel", "lo"):
                assert await anext(chunks) == ModelChunk(TextPiece(text))
            if how == "aclose":
                await chunks.aclose()
            elif how == "athrow":
                with pytest.raises(asyncio.CancelledError):
                    await chunks.athrow(asyncio.CancelledError())
            else:
                task = asyncio.ensure_future(anext(chunks))
                await asyncio.sleep(0.02 if how == "cancel while reading" else 0)
                task.cancel()
                with pytest.raises(asyncio.CancelledError):
                    await task
            await gone.wait()  # nothing but the client ends this exchange

    run(main())


def test_b7_72_leaving_while_the_server_has_not_answered() -> None:
    async def main() -> None:
        gone = asyncio.Event()

        async def silent(exchange: Exchange) -> None:
            await exchange.client_gone()
            gone.set()

        async with serving(silent) as server:
            task = asyncio.ensure_future(outcome_of(model(server)))
            await server.asked.wait()
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            await gone.wait()

    run(main())


def test_leaving_during_the_wait_for_a_retry_makes_no_other_request() -> None:
    async def main() -> None:
        async with serving(refusing(500)) as server:
            task = asyncio.ensure_future(outcome_of(model(server, retry=RetryPolicy(base_delay=60, max_delay=60))))
            await server.asked.wait()
            await asyncio.sleep(0.02)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            assert len(server.exchanges) == 1

    run(main())


def test_a_call_that_is_never_iterated_sends_nothing() -> None:
    async def main() -> None:
        async with serving(whole) as server:
            chunks = model(server).stream(REQUEST)
            await asyncio.sleep(0.02)
            await chunks.aclose()
            assert server.exchanges == []

    run(main())


# --- loops, threads, clients ----------------------------------------------------------------------------------------


def test_one_model_object_works_on_one_loop_after_the_other_and_in_threads() -> None:
    ready, stop = threading.Event(), threading.Event()
    served: list[Server] = []

    async def serve() -> None:
        async with serving(whole) as server:
            served.append(server)
            ready.set()
            await asyncio.to_thread(stop.wait)

    thread = threading.Thread(target=asyncio.run, args=(serve(),))
    thread.start()
    try:
        assert ready.wait(5)
        chat = model(served[0])
        texts = [asyncio.run(outcome_of(chat)).text for _ in range(2)]
        workers = [threading.Thread(target=lambda: texts.append(asyncio.run(outcome_of(chat)).text)) for _ in range(4)]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join(5)
        assert texts == ["Hello"] * 6
    finally:
        stop.set()
        thread.join(5)


def test_many_calls_run_at_once() -> None:
    async def main() -> None:
        async with serving(whole) as server:
            chat = model(server)
            outcomes = await asyncio.gather(*(outcome_of(chat) for _ in range(20)))
            assert [outcome.text for outcome in outcomes] == ["Hello"] * 20

    run(main())


def test_a_client_of_the_user_is_used_and_left_open() -> None:
    seen: list[httpx.Request] = []

    def handle(request: httpx.Request) -> httpx.Response:
        seen.append(request)
        return httpx.Response(200, content=WHOLE, headers={"Content-Type": "text/event-stream"})

    async def main() -> None:
        async with httpx.AsyncClient(transport=httpx.MockTransport(handle)) as client:
            chat = OpenAIChatModel("m", api_key=KEY, base_url="https://models.example/v1", http_client=client)
            assert (await outcome_of(chat)).text == "Hello"
            assert not client.is_closed
        assert [str(request.url) for request in seen] == ["https://models.example/v1/chat/completions"]
        assert seen[0].extensions["timeout"]["read"] is None  # httpx's default would cut off a slow model

    run(main())


def test_the_timeouts_that_a_user_has_set_are_kept() -> None:
    seen: list[httpx.Request] = []

    def handle(request: httpx.Request) -> httpx.Response:
        seen.append(request)
        return httpx.Response(200, content=WHOLE)

    async def main() -> None:
        async with httpx.AsyncClient(transport=httpx.MockTransport(handle), timeout=17) as client:
            await outcome_of(OpenAIChatModel("m", api_key=KEY, base_url="https://models.example", http_client=client))
        assert seen[0].extensions["timeout"]["read"] == 17

    run(main())


def test_a_hook_of_the_client_may_have_read_the_answer() -> None:
    async def read(response: httpx.Response) -> None:
        await response.aread()

    async def main() -> None:
        async with serving(whole) as server, httpx.AsyncClient(event_hooks={"response": [read]}) as client:
            assert (await outcome_of(model(server, http_client=client))).text == "Hello"

    run(main())


@pytest.mark.parametrize(
    "url", ["https://api.openai.com:99999999/v1", "models.example", "ftp://models.example", "http://"]
)
def test_a_url_that_is_none_is_refused_when_the_model_is_made(url: str) -> None:
    with pytest.raises(ConfigurationError, match="base URL"):
        OpenAIChatModel("m", api_key=KEY, base_url=url)


@pytest.mark.parametrize("seconds", [0, -1, math.nan])
def test_a_stall_timeout_is_positive(seconds: float) -> None:
    with pytest.raises(ConfigurationError, match="stall_timeout"):
        OpenAIChatModel("m", api_key=KEY, stall_timeout=seconds)


def test_it_is_a_chat_model_and_does_not_show_its_key() -> None:
    chat = OpenAIChatModel("gpt-x", api_key=KEY)
    assert isinstance(chat, ChatModel)
    assert repr(chat) == "OpenAIChatModel('gpt-x', base_url='https://api.openai.com/v1')"
