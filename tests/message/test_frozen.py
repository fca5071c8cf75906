"""The bases of the models."""

from __future__ import annotations

from agentscope_rx.message.frozen import FrozenModel, LazyModel


def test_the_schema_of_a_model_is_built_on_first_use_and_those_of_its_parts_first() -> None:
    class Inner(FrozenModel):
        number: int

    class Between(FrozenModel):
        inners: tuple[Inner, ...] = ()

    class Outer(LazyModel):
        between: Between | None = None

    classes = (Inner, Between, Outer)
    assert [cls.__pydantic_complete__ for cls in classes] == [False, False, False]
    assert Outer().between is None
    assert [cls.__pydantic_complete__ for cls in classes] == [True, True, True]
