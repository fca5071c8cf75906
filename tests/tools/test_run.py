from __future__ import annotations

import asyncio
import base64
import contextvars
import gc
import logging
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, suppress
from typing import Any

import pytest

from agentscope_rx.context import RuntimeContext
from agentscope_rx.errors import ToolError
from agentscope_rx.message import Base64Source, DataBlock, TextBlock, ToolResultBlock, ToolResultState, URLSource
from agentscope_rx.tools import (
    PATIENCE,
    FunctionTool,
    ToolCancelled,
    ToolChunk,
    ToolData,
    ToolEmitter,
    ToolEnd,
    ToolStart,
    ToolSuspend,
    ToolSuspended,
    ToolText,
    run_tool,
)

from .running import call_of, collect, run, state, stream, texts, whole_stream

SUCCESS = ToolEnd(ToolResultState.SUCCESS)
ERROR = ToolEnd(ToolResultState.ERROR)


async def settled() -> None:
    """Let callbacks from other threads arrive."""
    for _ in range(5):
        await asyncio.sleep(0.001)


def other_tasks() -> set[asyncio.Task[Any]]:
    return asyncio.all_tasks() - {asyncio.current_task()}  # type: ignore[arg-type]


# Eight kinds of function, three kinds of value.

BLOCKS = [TextBlock("see "), DataBlock(source=Base64Source(media_type="image/png", data="AAAA"), id="d")]
VALUES: dict[str, tuple[Any, list[ToolChunk]]] = {
    "text": ("ok", [ToolText("ok")]),
    "json": ({"a": [1, None]}, [ToolText('{"a": [1, null]}')]),
    "blocks": (BLOCKS, [ToolText("see "), ToolData("d", "image/png", data="AAAA")]),
}


def plain(value: Any) -> Callable[[], Any]:
    return lambda: value


def asynchronous(value: Any) -> Callable[[], Any]:
    async def function():
        await asyncio.sleep(0)
        return value

    return function


def generator(value: Any) -> Callable[[], Any]:
    def function():
        yield value
        yield value

    return function


def asynchronous_generator(value: Any) -> Callable[[], Any]:
    async def function():
        yield value
        await asyncio.sleep(0)
        yield value

    return function


def returns_coroutine(value: Any) -> Callable[[], Any]:
    return lambda: asynchronous(value)()


def returns_generator(value: Any) -> Callable[[], Any]:
    return lambda: iter([value, value])


def returns_asynchronous_generator(value: Any) -> Callable[[], Any]:
    return lambda: asynchronous_generator(value)()


def coroutine_returns_generator(value: Any) -> Callable[[], Any]:
    async def function():
        return iter([value, value])

    return function


KINDS = [
    (plain, 1),
    (asynchronous, 1),
    (generator, 2),
    (asynchronous_generator, 2),
    (returns_coroutine, 1),
    (returns_generator, 2),
    (returns_asynchronous_generator, 2),
    (coroutine_returns_generator, 2),
]


@pytest.mark.parametrize("value", VALUES)
@pytest.mark.parametrize(("kind", "times"), KINDS)
def test_every_kind_of_function(kind: Callable[[Any], Callable[[], Any]], times: int, value: str):
    given, chunks = VALUES[value]
    assert run(kind(given)) == [*chunks * times, SUCCESS]


@pytest.mark.parametrize("kind", [plain, asynchronous])
@pytest.mark.parametrize("value", [None, ""])
def test_nothing_is_no_text(kind: Any, value: Any):
    assert run(kind(value)) == [SUCCESS]


def test_a_generator_streams_as_it_goes():
    async def main() -> list[Any]:
        steps: list[Any] = []
        go = threading.Event()

        def function():
            yield "a"
            assert go.wait(10)
            yield "b"

        async for chunk in stream(function):
            steps.append(chunk)
            go.set()
        return steps

    assert asyncio.run(main()) == [ToolText("a"), ToolText("b"), SUCCESS]


def test_what_a_generator_returns_follows_what_it_yields():
    def function():
        yield "a"
        return "b"

    assert texts(run(function)) == ["a", "b"]


def test_base64_pieces_of_one_block_are_passed_on_unchanged():
    pieces = [base64.b64encode(piece).decode() for piece in (b"hello", b"world")]

    def function():
        for piece in pieces:
            yield DataBlock(source=Base64Source(media_type="audio/wav", data=piece), id="one")

    chunks = run(function)
    assert chunks == [*(ToolData("one", "audio/wav", data=piece) for piece in pieces), SUCCESS]


def test_a_tool_may_say_how_it_ended():
    def function():
        yield ToolResultBlock(id="", name="", output=(TextBlock("a"),), state=ToolResultState.DENIED, metadata={"x": 1})
        yield ToolResultBlock(
            id="", name="", output=(TextBlock("b"),), state=ToolResultState.SUCCESS, metadata={"y": 2}
        )
        yield ToolResultBlock(id="", name="")

    assert run(function) == [ToolText("a"), ToolText("b"), ToolEnd(ToolResultState.DENIED, {"x": 1, "y": 2})]


def test_b1_6_a_plain_function_gives_one_delta():
    def function(a: int) -> str:
        return "ok"

    assert run(function, {"a": 1}) == [ToolText("ok"), SUCCESS]


def test_synchronous_functions_leave_the_loop_alone_and_asynchronous_ones_run_on_it():
    where: dict[str, int] = {}

    def in_thread():
        where["sync"] = threading.get_ident()
        yield

    async def on_loop():
        where["async"] = threading.get_ident()

    async def main() -> None:
        await collect(in_thread)
        await collect(on_loop)
        where["loop"] = threading.get_ident()

    asyncio.run(main())
    assert where["sync"] != where["loop"]
    assert where["async"] == where["loop"]


def test_thread_tools_run_side_by_side_however_many():
    count = 40
    barrier = threading.Barrier(count)

    def meet():
        barrier.wait(10)
        return "met"

    async def main() -> list[list[ToolChunk]]:
        return await asyncio.gather(*(collect(meet) for _ in range(count)))

    assert asyncio.run(main()) == [[ToolText("met"), SUCCESS]] * count


@pytest.mark.parametrize("kind", ["thread", "coroutine", "generator", "async generator"])
def test_context_variables_arrive_and_do_not_leak(kind: str):
    variable: contextvars.ContextVar[str] = contextvars.ContextVar("variable", default="unset")

    def thread():
        seen = variable.get()
        variable.set("tool's own")
        return seen

    async def coroutine():
        return thread()

    def generator():
        yield thread()

    async def asynchronous_generator():
        yield thread()

    function = {
        "thread": thread,
        "coroutine": coroutine,
        "generator": generator,
        "async generator": asynchronous_generator,
    }[kind]

    async def main() -> list[ToolChunk]:
        variable.set("caller's")
        chunks = []
        async for chunk in stream(function):
            assert variable.get() == "caller's"
            chunks.append(chunk)
        return chunks

    assert texts(asyncio.run(main())) == ["caller's"]


def test_the_tool_cannot_change_the_call():
    def function(a: Any):
        a["changed"] = True

    call = call_of("function", {"a": {}})

    async def main() -> list[ToolChunk]:
        return [chunk async for chunk in run_tool(call, FunctionTool(function), RuntimeContext())]

    assert asyncio.run(main()) == [ToolStart(), SUCCESS]
    assert call.input == {"a": {}}


# Arguments as the model wrote them.


@pytest.mark.parametrize("raw", ["", "  ", "null", "{}"])
def test_b4_47_empty_arguments_are_an_empty_object(raw: str):
    assert run(lambda: "ran", raw) == [ToolText("ran"), SUCCESS]


@pytest.mark.parametrize(
    ("raw", "message"),
    [
        ('{"q"', "the arguments are not valid JSON: Expecting ':' delimiter at character 4 of 4"),
        ("[1]", "the arguments must be a JSON object, got list"),
        ("[" * 100_000, "the arguments are nested"),
    ],
)
def test_b4_47_broken_arguments_are_an_error_result_and_the_tool_does_not_run(raw: str, message: str):
    ran: list[int] = []
    told, end = run(lambda: ran.append(1), raw)
    assert told.text.startswith(f"ToolError: {message}")
    assert end == ERROR
    assert not ran


def test_raw_arguments_are_parsed():
    def function(q: str):
        return q

    assert texts(run(function, '{"q": "é"}')) == ["é"]


def test_an_unknown_tool_is_an_error_result():
    async def main() -> list[ToolChunk]:
        return [chunk async for chunk in run_tool(call_of("ghost"), None, RuntimeContext())]

    assert asyncio.run(main()) == [
        ToolStart(),
        ToolText("ToolNotFoundError: The tool named 'ghost' doesn't exist."),
        ERROR,
    ]


# Errors.


class Unprintable(Exception):
    def __str__(self) -> str:
        raise RuntimeError


RAISED: list[tuple[BaseException, str]] = [
    (ValueError("boom"), "ValueError: boom"),
    (KeyError("k"), "KeyError: 'k'"),
    (ToolError("use the other one"), "ToolError: use the other one"),
    (ValueError(), "ValueError"),
    (Unprintable(), "Unprintable"),
    (SystemExit(3), "SystemExit: 3"),
    (GeneratorExit(), "GeneratorExit"),
    (
        ExceptionGroup("many", [ValueError("a"), ExceptionGroup("more", [KeyError("b")])]),
        "ValueError: a\nKeyError: 'b'",
    ),
]


def raising(error: BaseException) -> dict[str, Callable[[], Any]]:
    def thread():
        raise error

    async def coroutine():
        raise error

    def generator() -> Iterator[str]:
        yield from ()
        raise error

    async def asynchronous_generator() -> AsyncIterator[str]:
        if error is None:
            yield ""
        raise error

    return {
        "thread": thread,
        "coroutine": coroutine,
        "generator": generator,
        "async generator": asynchronous_generator,
    }


RAISING_KINDS = list(raising(ValueError()))


@pytest.mark.parametrize("kind", RAISING_KINDS)
@pytest.mark.parametrize(("error", "text"), RAISED)
def test_whatever_a_tool_raises_is_told_to_the_model(error: BaseException, text: str, kind: str):
    assert run(raising(error)[kind]) == [ToolText(text), ERROR]


@pytest.mark.parametrize("kind", RAISING_KINDS)
def test_stop_iteration_is_an_error_like_any_other(kind: str):
    chunks = run(raising(StopIteration("x"))[kind])
    assert state(chunks) == "error"
    assert texts(chunks)[0].startswith("RuntimeError: ")
    assert texts(chunks)[0].endswith("raised StopIteration")


@pytest.mark.parametrize("kind", RAISING_KINDS)
def test_keyboard_interrupt_goes_through(kind: str, caplog: pytest.LogCaptureFixture):
    with pytest.raises(KeyboardInterrupt):
        run(raising(KeyboardInterrupt())[kind])
    gc.collect()
    assert caplog.text == ""  # no "exception was never retrieved"


def test_what_came_before_an_error_stands_on_lines_of_its_own():
    def function(ending: str):
        yield f"partial{ending}"
        raise ValueError("boom")

    assert texts(run(function, {"ending": ""})) == ["partial", "\nValueError: boom"]
    assert texts(run(function, {"ending": "\n"})) == ["partial\n", "ValueError: boom"]


def test_an_output_that_cannot_be_told_is_an_error():
    assert texts(run(lambda: b"bytes"))[0].startswith("TypeError: the tool gave bytes")


def test_a_tool_that_raised_is_an_error_whatever_it_said_before():
    def function():
        yield ToolResultBlock(id="", name="", state=ToolResultState.SUCCESS, metadata={"kept": 1})
        raise ValueError

    assert run(function)[-1] == ToolEnd(ToolResultState.ERROR, {"kept": 1})


def test_the_traceback_is_logged_without_arguments(caplog: pytest.LogCaptureFixture):
    def function(password: str):
        raise ValueError("boom")

    with caplog.at_level(logging.DEBUG, logger="agentscope_rx.tools"):
        run(function, {"password": "hunter2"})
    assert "Traceback" in caplog.text
    assert "in function" in caplog.text
    assert "hunter2" not in caplog.text


def test_b7_81_one_failing_tool_does_not_lose_its_siblings():
    def ok(name: str):
        return name

    def fail(name: str):
        raise ValueError(name)

    async def main() -> list[list[ToolChunk]]:
        return await asyncio.gather(*(collect(tool, {"name": tool.__name__}) for tool in (ok, fail, ok)))

    assert asyncio.run(main()) == [
        [ToolText("ok"), SUCCESS],
        [ToolText("ValueError: fail"), ERROR],
        [ToolText("ok"), SUCCESS],
    ]


@pytest.mark.parametrize("kind", [generator, asynchronous_generator])
@pytest.mark.parametrize(
    ("bad", "problem"),
    [
        (DataBlock(source=Base64Source(media_type="x/y", data="AAA")), "not base64"),
        (ToolText(123), "type int as its text"),  # type: ignore[arg-type]
        (ToolData("d", "x/y"), "exactly one of data and url"),
        (ToolEnd("foo"), "ToolEnd with the state 'foo'"),  # type: ignore[arg-type]
    ],
    ids=["base64", "text", "data", "state"],
)
def test_b7_81_output_that_no_event_can_be_made_of_is_an_error_of_its_call(kind: Any, bad: Any, problem: str):
    def sync_function():
        yield "before"
        yield bad
        yield "after"

    async def async_function():
        for output in sync_function():
            yield output

    async def main() -> tuple[list[ToolChunk], list[ToolChunk]]:
        function = sync_function if kind is generator else async_function
        return await asyncio.gather(collect(function), collect(kind("sibling")))

    chunks, siblings = asyncio.run(main())
    before, error, end = chunks
    assert (before, end) == (ToolText("before"), ERROR)
    assert isinstance(error, ToolText)
    assert error.text.startswith("\nToolError: the tool gave ")
    assert problem in error.text
    assert siblings == [ToolText("sibling"), ToolText("sibling"), SUCCESS]


def test_base64_as_mime_wraps_it_and_links_of_one_id_are_put_right():
    content = bytes(100)

    def function():
        wrapped = base64.encodebytes(content).decode()
        yield DataBlock(source=Base64Source(media_type="x/y", data=wrapped), id="bytes")
        for name in "ab":
            yield DataBlock(source=URLSource(url=f"http://x/{name}", media_type="x/y"), id="link")

    whole, first, second, end = run(function)
    assert whole == ToolData("bytes", "x/y", data=base64.b64encode(content).decode())
    assert first == ToolData("link", "x/y", url="http://x/a")
    assert second == ToolData(second.block_id, "x/y", url="http://x/b")
    assert second.block_id != "link"
    assert end == SUCCESS


def test_a_chunk_that_the_tool_goes_on_using_stays_as_it_was_said():
    def function():
        chunk = ToolText("")
        for letter in "abc":
            chunk.text = letter
            yield chunk

    assert texts(run(function)) == ["a", "b", "c"]


def test_whatever_a_tool_says_can_be_encoded():
    def function():
        yield "name\udcff"
        yield ["\udcff"]
        yield ToolResultBlock(id="", name="", metadata={"name": "\udcff", "pair": (1, 2)})
        raise FileNotFoundError("name\udcff")

    assert run(function) == [
        ToolText("name\ufffd"),
        ToolText('["\ufffd"]'),
        ToolText("\nFileNotFoundError: name\ufffd"),
        ToolEnd(ToolResultState.ERROR, {"name": "\ufffd", "pair": [1, 2]}),
    ]


def test_b7_81_each_result_is_there_when_its_tool_has_finished():
    async def main() -> list[str]:
        finished: list[str] = []
        slow_may_go = asyncio.Event()

        async def slow():
            await asyncio.wait_for(slow_may_go.wait(), 10)

        async def one(name: str, function: Any) -> None:
            await collect(function)
            finished.append(name)
            if name == "fast":
                slow_may_go.set()

        await asyncio.gather(one("slow", slow), one("fast", lambda: None))
        return finished

    assert asyncio.run(main()) == ["fast", "slow"]


def test_b4_51_results_carry_the_call_they_belong_to_not_the_order_they_finish_in():
    async def main() -> dict[str, list[str]]:
        go = asyncio.Event()

        async def slow():
            await asyncio.wait_for(go.wait(), 10)
            return "slow"

        async def fast():
            go.set()
            return "fast"

        names = ("slow", "fast")
        results = await asyncio.gather(collect(slow), collect(fast))
        return {name: texts(chunks) for name, chunks in zip(names, results, strict=True)}

    assert asyncio.run(main()) == {"slow": ["slow"], "fast": ["fast"]}


# Cancelling.


@pytest.mark.parametrize("kind", RAISING_KINDS)
@pytest.mark.parametrize("error", [asyncio.CancelledError(), ToolCancelled()])
def test_b7_74_a_tool_that_cancels_itself_is_interrupted(kind: str, error: BaseException):
    async def main() -> list[ToolChunk]:
        chunks = await collect(raising(error)[kind])
        task = asyncio.current_task()
        assert task is not None
        assert not task.cancelling()
        await asyncio.sleep(0)
        return chunks

    assert asyncio.run(main()) == [
        ToolText("The tool was interrupted before it finished."),
        ToolEnd(ToolResultState.INTERRUPTED),
    ]


def test_b7_74_a_tool_that_cancels_its_own_task_is_interrupted():
    async def function():
        task = asyncio.current_task()
        assert task is not None
        task.cancel()
        await asyncio.sleep(10)

    assert state(run(function)) == "interrupted"


def test_b7_74_an_outer_cancel_still_wins():
    async def main() -> None:
        started = asyncio.Event()
        steps: list[str] = []

        async def function():
            started.set()
            try:
                await asyncio.sleep(60)
            except asyncio.CancelledError:
                steps.append("told")
                await asyncio.sleep(0)
                steps.append("cleaned up")
                raise

        task = asyncio.create_task(collect(function))
        await started.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert task.cancelled()
        assert steps == ["told", "cleaned up"]
        assert not other_tasks()

    asyncio.run(main())


def test_b7_74_an_outer_cancel_wins_over_a_tool_that_answers_it_with_another_error():
    async def main() -> None:
        started = asyncio.Event()

        async def function():
            started.set()
            try:
                await asyncio.sleep(60)
            except asyncio.CancelledError:
                raise ValueError("instead") from None

        task = asyncio.create_task(collect(function))
        await started.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(main())


@asynccontextmanager
async def deaf_tool() -> AsyncIterator[Callable[[], Any]]:
    """A tool that swallows every cancel, until the context ends."""
    over = asyncio.Event()

    async def deaf():
        while not over.is_set():
            with suppress(asyncio.CancelledError):
                await over.wait()

    try:
        yield deaf
    finally:
        over.set()


def test_a_tool_that_swallows_its_cancel_is_left_behind(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
):
    monkeypatch.setattr("agentscope_rx.tools.run._CLEANUP", 0.02)

    async def main() -> None:
        async with deaf_tool() as deaf:
            with pytest.raises(TimeoutError):
                async with asyncio.timeout(0.05):
                    await collect(deaf)
            (left,) = other_tasks()
            assert left.get_name() == "tool probe"
            assert "the tool 'probe' was cancelled, still runs after 0.02 s and is left behind" in caplog.text
        await left

    asyncio.run(main())


def test_a_second_cancel_ends_the_wait_for_a_deaf_tool():
    async def main() -> None:
        async with deaf_tool() as deaf:
            task = asyncio.create_task(collect(deaf))
            await asyncio.sleep(0.05)
            task.cancel()
            await settled()
            assert not task.done()
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            (left,) = other_tasks()
        await left

    asyncio.run(main())


def test_closing_an_asynchronous_generator_closes_the_tool():
    async def main() -> None:
        steps: list[str] = []

        async def function(emitter: ToolEmitter):
            try:
                while True:
                    yield "x"
            finally:
                await emitter.emit("dropped")
                await asyncio.sleep(0)
                steps.append("closed")

        chunks = stream(function)
        assert await anext(chunks) == ToolText("x")
        await chunks.aclose()
        assert steps == ["closed"]
        assert not other_tasks()

    asyncio.run(main())


@pytest.mark.parametrize("speaks", ["yields", "emits"])
def test_closing_tells_a_thread_at_its_next_word(speaks: str):
    over = threading.Event()
    steps: list[str] = []

    def yields(emitter: ToolEmitter):
        try:
            while True:
                yield "x"
        except GeneratorExit:
            steps.append("told")
            emitter.emit("dropped")
            steps.append("cleaned up")
            raise
        finally:
            over.set()

    def emits(emitter: ToolEmitter):
        try:
            while True:
                try:
                    emitter.emit("x")
                except Exception:
                    continue
        except ToolCancelled:
            steps.append("told")
            emitter.emit("dropped")
            steps.append("cleaned up")
            raise
        finally:
            over.set()

    async def main() -> None:
        chunks = stream({"yields": yields, "emits": emits}[speaks])
        assert (await anext(chunks)).text == "x"
        await chunks.aclose()
        assert await asyncio.to_thread(over.wait, 10)
        await settled()
        assert not other_tasks()

    asyncio.run(main())
    assert steps == ["told", "cleaned up"]


def test_a_thread_that_hangs_holds_up_neither_the_cancel_nor_the_end_of_the_loop():
    go, over = threading.Event(), threading.Event()

    def hangs():
        try:
            go.wait(30)
            return "late"
        finally:
            over.set()

    async def main() -> None:
        task = asyncio.create_task(collect(hangs))
        await asyncio.sleep(0.01)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert not other_tasks()

    asyncio.run(main())  # would wait for a thread of the loop's own pool
    assert not over.is_set()
    go.set()
    assert over.wait(10)


def test_what_a_thread_does_after_a_cancel_is_ignored():
    go, over = threading.Event(), threading.Event()

    def fails_late():
        go.wait(10)
        over.set()
        raise ValueError("late")

    async def main() -> list[dict[str, Any]]:
        reports: list[dict[str, Any]] = []
        asyncio.get_running_loop().set_exception_handler(lambda _, report: reports.append(report))
        task = asyncio.create_task(collect(fails_late))
        await asyncio.sleep(0.01)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        go.set()
        await asyncio.to_thread(over.wait, 10)
        await settled()
        return reports

    assert asyncio.run(main()) == []


def test_nothing_runs_before_the_first_chunk_is_asked_for():
    ran: list[int] = []

    async def main() -> None:
        chunks = stream(lambda: ran.append(1))
        await settled()
        assert not ran
        await chunks.aclose()
        assert not ran
        assert not other_tasks()

    asyncio.run(main())


def test_l5_a_slow_consumer_slows_the_tool():
    made = 0

    def in_thread():
        nonlocal made
        for number in range(300):
            yield str(number)
            made += 1

    async def on_loop():
        for text in in_thread():
            yield text

    async def lead_of(function: Any) -> int:
        nonlocal made
        made = taken = lead = 0
        async for chunk in stream(function, buffer=8):
            await asyncio.sleep(0)
            lead = max(lead, made - taken)
            if isinstance(chunk, ToolText):
                assert chunk.text == str(taken)
                taken += 1
        assert taken == made == 300
        return lead

    for function in (in_thread, on_loop):
        assert asyncio.run(lead_of(function)) <= 8 + 2


def test_l5_eight_threads_of_two_thousand_pieces_are_exact_and_in_order():
    def function(name: str, emitter: ToolEmitter):
        for number in range(1_000):
            emitter.emit(f"{name}{number}")
            yield f"{name}{number}"

    async def main() -> list[list[ToolChunk]]:
        return await asyncio.gather(*(collect(function, {"name": name}) for name in "abcdefgh"))

    for name, chunks in zip("abcdefgh", asyncio.run(main()), strict=True):
        expected = [f"{name}{number}" for number in range(1_000)]
        assert texts(chunks) == texts(chunks, progress=True) == expected
        assert state(chunks) == "success"
        assert [chunk.progress for chunk in chunks if isinstance(chunk, ToolText)] == [True, False] * 1_000


# ------------------------------------------------------------------------------------------------ beginning, suspending


def test_a_call_begins_with_its_first_output() -> None:
    assert run_whole(lambda: "ok") == [ToolStart(), ToolText("ok"), SUCCESS]


def test_a_silent_call_begins_after_a_moment() -> None:
    async def main() -> None:
        release = asyncio.Event()

        async def silent() -> str:
            await release.wait()
            return "ok"

        chunks = whole_stream(silent)
        assert await anext(chunks) == ToolStart()
        release.set()
        assert [chunk async for chunk in chunks] == [ToolText("ok"), SUCCESS]

    asyncio.run(main())


def test_the_reason_of_a_suspension_can_be_encoded() -> None:
    assert run_whole(lambda: suspend("\udcff")) == [ToolSuspended("\ufffd")]


def suspend(reason: str = "") -> None:
    raise ToolSuspend(reason)


async def suspend_later() -> None:
    await asyncio.sleep(0)
    raise ToolSuspend("later")


def test_a_call_that_suspends_says_that_and_nothing_else() -> None:
    assert run_whole(lambda: suspend("asked")) == [ToolSuspended("asked")]
    assert run_whole(suspend_later) == [ToolSuspended("later")]


def test_a_call_that_declares_it_may_work_before_it_suspends() -> None:
    async def slowly() -> None:
        await asyncio.sleep(3 * PATIENCE)
        raise ToolSuspend("at last")

    assert run_whole(FunctionTool(slowly, suspends=True)) == [ToolSuspended("at last")]


def test_a_call_that_suspends_too_late_is_told_how_to_do_it() -> None:
    async def slowly() -> None:
        await asyncio.sleep(3 * PATIENCE)
        raise ToolSuspend

    start, told, end = run_whole(slowly)
    assert (start, end) == (ToolStart(), ERROR)
    assert "suspends=True" in told.text  # type: ignore[union-attr]


def run_whole(function: Any) -> list[ToolChunk]:
    async def main() -> list[ToolChunk]:
        return [chunk async for chunk in whole_stream(function)]

    return asyncio.run(main())
