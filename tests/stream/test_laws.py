"""Laws L5, L6 and L8 on the seam: random trees of sources, stages, scopes and steps, consumed slowly or left."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Generator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import reactivex as rx
from hypothesis import given, strategies as st
from reactivex import Observable, operators as ops

from agentscope_rx.stream import Stream, concat_stages, from_async_iterable, through, using_async
from tests.virtual_time import in_virtual_time, other_tasks


class Broken(Exception):
    """What a leaf fails with."""


@dataclass(frozen=True)
class Leaf:
    """Some items, with a pause before each, and perhaps a failure."""

    items: int
    pause: float = 0.0
    fails: bool = False


@dataclass(frozen=True)
class Stages:
    """One after the other."""

    parts: tuple[Tree, ...]


@dataclass(frozen=True)
class Merged:
    """All at once."""

    parts: tuple[Tree, ...]


@dataclass(frozen=True)
class Scoped:
    """Inside a resource that takes a while to enter and to leave."""

    inner: Tree


@dataclass(frozen=True)
class Stepped:
    """Through an asynchronous step."""

    inner: Tree
    buffer: int


Tree: TypeAlias = Leaf | Stages | Merged | Scoped | Stepped

LEAVES = st.builds(Leaf, st.integers(0, 12), st.sampled_from((0.0, 0.0, 1.0)))
FAILING = st.builds(Leaf, st.integers(0, 12), st.sampled_from((0.0, 0.0, 1.0)), st.booleans())


def trees(leaves: st.SearchStrategy[Tree]) -> st.SearchStrategy[Tree]:
    def grown(inner: st.SearchStrategy[Tree]) -> st.SearchStrategy[Tree]:
        several = st.lists(inner, min_size=1, max_size=3).map(tuple)
        return st.one_of(
            st.builds(Stages, several),
            st.builds(Merged, several),
            st.builds(Scoped, inner),
            st.builds(Stepped, inner, st.integers(1, 4)),
        )

    return st.recursive(leaves, grown, max_leaves=5)


def leaves_of(tree: Tree) -> list[Leaf]:
    match tree:
        case Leaf():
            return [tree]
        case Stages(parts) | Merged(parts):
            return [leaf for part in parts for leaf in leaves_of(part)]
        case Scoped(inner) | Stepped(inner):
            return leaves_of(inner)


def slack_of(tree: Tree) -> int:
    """How many items may be under way inside, with one in the hand of every source and step."""
    match tree:
        case Leaf():
            return 1
        case Stages(parts):
            return max(map(slack_of, parts))
        case Merged(parts):
            return sum(map(slack_of, parts))
        case Scoped(inner):
            return slack_of(inner)
        case Stepped(inner, buffer):
            return buffer + 1 + slack_of(inner)


@dataclass
class World:
    """The streams of a tree, and what is known of them."""

    opened: int = 0
    open: int = 0
    pulled: list[Any] = field(default_factory=list)
    failed: bool = False

    def stream(self, tree: Tree) -> Stream[Any]:
        return Stream(_MAKERS[type(tree)](self, tree))

    @asynccontextmanager
    async def using(self) -> AsyncIterator[None]:
        await asyncio.sleep(0.1)
        self.opened += 1
        self.open += 1
        try:
            yield
        finally:
            try:
                await asyncio.sleep(0.1)
            finally:
                self.open -= 1

    def leaf(self, tree: Leaf) -> Observable[Any]:
        async def items() -> AsyncIterator[Any]:
            async with self.using():
                for number in range(tree.items):
                    if tree.pause:
                        await asyncio.sleep(tree.pause)
                    self.pulled.append((id(tree), number))
                    yield self.pulled[-1]
                if tree.fails:
                    self.failed = True
                    raise Broken

        return from_async_iterable(items)

    def stages(self, tree: Stages) -> Observable[Any]:
        def run() -> Generator[Any, Any, None]:
            for part in tree.parts:
                yield self.stream(part)

        return concat_stages(run)

    def merged(self, tree: Merged) -> Observable[Any]:
        return rx.merge(*map(self.stream, tree.parts))

    def scoped(self, tree: Scoped) -> Observable[Any]:
        return using_async(self.using, lambda _: self.stream(tree.inner))

    def stepped(self, tree: Stepped) -> Observable[Any]:
        async def step(items: AsyncIterator[Any]) -> AsyncIterator[Any]:
            async with self.using():
                async for item in items:
                    yield item

        return self.stream(tree.inner).pipe(through(step, buffer=tree.buffer))


_MAKERS: dict[type, Callable[[World, Any], Observable[Any]]] = {
    Leaf: World.leaf,
    Stages: World.stages,
    Merged: World.merged,
    Scoped: World.scoped,
    Stepped: World.stepped,
}


@given(trees(LEAVES), st.integers(1, 6), st.sampled_from((0, 0.3, 5)))
def test_l5_a_slow_consumer_slows_every_source_and_misses_nothing(tree: Tree, buffer: int, pause: float) -> None:
    world, given_out, taken = World(), list[Any](), list[Any]()

    async def main() -> None:
        stream = world.stream(tree).pipe(ops.do_action(given_out.append))
        async with stream.iterate(buffer) as items:
            async for item in items:
                taken.append(item)
                await asyncio.sleep(pause)
                now = items.statistics()
                assert now.buffered == len(given_out) - len(taken) <= now.peak
                assert now.gate_closed or now.buffered < buffer
                assert len(world.pulled) - len(taken) <= buffer + slack_of(tree)

    in_virtual_time(main)
    assert world.open == 0
    assert sorted(taken) == sorted(world.pulled)
    assert len(taken) == sum(leaf.items for leaf in leaves_of(tree))
    for leaf in {id(leaf) for leaf in leaves_of(tree)}:
        numbers = [number for source, number in taken if source == leaf]
        assert numbers == sorted(numbers) or sum(id(other) == leaf for other in leaves_of(tree)) > 1


@given(trees(FAILING), st.integers(1, 30), st.sampled_from(("take", "break", "time", "cancel")), st.booleans())
def test_l6_leaving_at_any_moment_leaves_nothing_open(tree: Tree, when: int, way: str, slow: bool) -> None:
    world, heard = World(), list[Any]()

    async def main() -> None:
        stream = world.stream(tree).pipe(ops.do_action(heard.append))
        with suppress(Broken, TimeoutError, asyncio.CancelledError):
            await WAYS[way](stream, heard, when, slow)
        assert world.open == 0
        assert not other_tasks()
        before = (len(heard), len(world.pulled), world.opened)
        await asyncio.sleep(1_000)
        assert (len(heard), len(world.pulled), world.opened) == before

    # Who leaves just when a source has failed is not told of it, and so the loop is.
    in_virtual_time(main, reported=Broken)


async def take(stream: Stream[Any], heard: list[Any], when: int, slow: bool) -> None:
    await stream.pipe(ops.take(when))


async def leave(stream: Stream[Any], heard: list[Any], when: int, slow: bool) -> None:
    async with stream.iterate(buffer=2) as items:
        count = 0
        async for _ in items:
            count += 1
            if count == when:
                break
            await asyncio.sleep(slow)


async def time_out(stream: Stream[Any], heard: list[Any], when: int, slow: bool) -> None:
    async with asyncio.timeout(when / 8):
        await stream


async def cancel(stream: Stream[Any], heard: list[Any], when: int, slow: bool) -> None:
    def on_next(_: Any) -> None:
        if len(heard) == when:
            task.cancel()

    async def wait() -> None:
        await stream.pipe(ops.do_action(on_next))

    task = asyncio.create_task(wait())
    await asyncio.wait([task])
    task.result()


WAYS: dict[str, Any] = {"take": take, "break": leave, "time": time_out, "cancel": cancel}


@given(trees(FAILING))
def test_l8_a_failure_is_heard_as_it_is_when_everything_is_closed(tree: Tree) -> None:
    world, heard = World(), list[Any]()

    async def main() -> None:
        try:
            await world.stream(tree).pipe(ops.do_action(heard.append))
        except Broken:
            assert world.failed
        else:
            assert not world.failed
            assert sorted(heard) == sorted(world.pulled)
        assert world.open == 0
        assert not other_tasks()

    # Of two that fail at once one is heard of, and so the loop is told of the other.
    in_virtual_time(main, reported=Broken)
    assert set(heard) <= set(world.pulled)
    assert world.failed == any(leaf.fails for leaf in leaves_of(tree))
