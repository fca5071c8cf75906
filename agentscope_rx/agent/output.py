"""Structured output: the object that a reply must end with, how the model is asked for it, and whether it fits."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, TypeAlias

from pydantic import TypeAdapter, ValidationError
from pydantic.errors import PydanticUserError

from ..errors import ConfigurationError, MissingExtraError, StructuredOutputError, ToolError
from ..message import PermissionBehavior, parse_arguments
from ..model import ChatModel, ModelOptions, OutputFormat, OutputSupport
from ..tools import FunctionTool, Toolkit, ToolVerdict
from ..tools.json_schema import json_schema

__all__ = ["Output", "OutputType", "Validator", "read_output_type", "resumed_validator"]

OutputType: TypeAlias = type[Any] | Mapping[str, Any]
"""What a reply can be asked to end with: a pydantic model, dataclass or TypedDict, or the JSON schema of an object."""

_log = logging.getLogger(__name__)

_TOOL = "generate_response"
"""The tool by which a model gives the object, where its provider cannot make it answer with one."""

_TRIES = 3
"""How often the model is asked for the object when all else is done."""

_SHOWN = 10
"""How many problems the model is told of."""

_LONGEST = 500
"""Characters of a problem; a JSON schema's repeats what does not fit."""


class Validator:
    """Knows what an object must be.

    Args:
        format: What the model is told of it.
        check: Returns an object as it is kept, with its defaults; ToolError, for the model, when it does not fit.
    """

    def __init__(self, format: OutputFormat, check: Callable[[dict[str, Any]], dict[str, Any]]) -> None:
        self.format = format
        self.check = check


def read_output_type(wanted: OutputType) -> Validator:
    """Return the validator of what a call asks for.

    Raises:
        ConfigurationError: it has no JSON schema, or that of no object.
        MissingExtraError: it is a JSON schema, and the extra `schema`, which can check one, is not installed.
    """
    return _of_schema(_format(wanted)) if isinstance(wanted, Mapping) else _of_type(wanted)


def resumed_validator(wanted: Validator | None, asked: OutputFormat | None) -> Validator | None:
    """Return the validator for a paused reply that goes on: it was `asked` for something, and the call may repeat it.

    Raises:
        ConfigurationError: the call asks for something else.
        MissingExtraError: the call does not repeat it, and the extra `schema` is not installed.
    """
    if wanted is None:
        return None if asked is None else _of_schema(asked)
    if asked is None or asked.json_schema != wanted.format.json_schema:
        raise ConfigurationError(
            f"the paused reply was asked for {asked and asked.name!r}, this call asks for {wanted.format.name!r}; "
            "leave output_type out, or give the same"
        )
    return wanted


class Output:
    """The object that one reply must end with.

    A model whose provider makes it keep to a format is told the format. Any other is given a tool, whose arguments are
    the object.
    """

    def __init__(self, validator: Validator, model: ChatModel) -> None:
        self._validator = validator
        self._support: OutputSupport = getattr(model, "output_support", OutputSupport.NONE)
        self._tries = 0
        self._problem = ""
        self._failure: Exception | None = None
        self._tool = self._make_tool()
        self.format = validator.format
        """What the model is told of it."""
        self.value: dict[str, Any] | None = None
        """The object, None as long as there is none that fits."""

    def equip(self, toolkit: Toolkit) -> Toolkit:
        """Return the tools of the reply, with the one that takes the object if that is how it is given."""
        return toolkit if self._is_native else Toolkit([toolkit, self._tool])

    def options(self, options: ModelOptions, *, has_tools: bool, last: bool) -> ModelOptions:
        """Return the options of a model call; the `last` one can only give the object."""
        if last and not self._is_native:
            return replace(options, tool_choice=_TOOL)
        told = last or self._support is OutputSupport.BESIDE_TOOLS or not has_tools
        return replace(options, output=self.format) if self._is_native and told else options

    def last_tools(self) -> Toolkit:
        """Return the tools of a model call that can only give the object."""
        return Toolkit() if self._is_native else Toolkit([self._tool])

    def read(self, text: str) -> None:
        """Take what the model has answered, if it is the object; nothing is not the empty object."""
        try:
            answer = _unfenced(text).strip()
            if answer in ("", "null"):
                raise ToolError("there is no answer")
            self._accept(parse_arguments(answer))
        except (ToolError, ValueError) as error:
            self._problem = str(error)

    def ask(self) -> str:
        """Return what the model is told, to give the object now.

        Raises:
            StructuredOutputError: it was told so often enough, or the type fails when it checks an object.
        """
        if self._failure is not None:
            raise StructuredOutputError(
                f"{self.format.name!r} raised {type(self._failure).__name__} when it checked an object; what does not "
                "fit is a ValueError, see the cause"
            ) from self._failure
        if self._tries == _TRIES:
            raise StructuredOutputError(
                f"the model was asked {_TRIES} times for {self.format.name!r}, and what it gave does not fit the schema"
            )
        self._tries += 1
        wrong = f"Your answer does not fit: {self._problem}\n" if self._tries > 1 and self._problem else ""
        if not self._is_native:
            return f"{wrong}Give your answer now: call {_TOOL}."
        schema = json.dumps(self.format.json_schema, ensure_ascii=False)
        return f"{wrong}Give your answer now, as one JSON object and nothing else, by this schema: {schema}"

    @property
    def _is_native(self) -> bool:
        return self._support is not OutputSupport.NONE

    def _make_tool(self) -> FunctionTool[..., Any]:
        async def accept(**given: Any) -> str:
            try:
                self._accept(given)
            except ToolError as error:
                self._problem = str(error)
                raise
            return "The response was taken."

        return FunctionTool(
            accept,
            name=_TOOL,
            description="Give your final answer to the user, when you have all that you need for it.",
            parameters=self._validator.format.json_schema,
            concurrency_safe=False,
            read_only=True,
            check_permission=lambda _: ToolVerdict(PermissionBehavior.ALLOW),
        )

    def _accept(self, given: dict[str, Any]) -> None:
        self._failure = None
        try:
            self.value = self._validator.check(given)
        except ToolError:
            raise
        except Exception as error:
            self._failure = error
            raise ToolError("the object could not be checked") from error


def _of_type(wanted: Any) -> Validator:
    try:
        adapter: TypeAdapter[Any] = TypeAdapter(wanted)
        schema = json_schema(adapter)
    except (PydanticUserError, NameError) as error:
        raise ConfigurationError(
            f"output_type={wanted!r} has no JSON schema: {str(error).partition(chr(10))[0]}"
        ) from error

    def check(given: dict[str, Any]) -> dict[str, Any]:
        try:
            value = adapter.validate_json(json.dumps(given))
        except ValidationError as error:
            problems = error.errors(include_url=False, include_context=False, include_input=False)
            raise _misfit([(".".join(map(str, problem["loc"])), problem["msg"]) for problem in problems]) from None
        return _kept(adapter, value, given)

    return Validator(_format(schema, getattr(wanted, "__name__", None)), check)


def _kept(adapter: TypeAdapter[Any], value: Any, given: dict[str, Any]) -> dict[str, Any]:
    """Return an object as JSON with its defaults; as it was given where that would not be read as the same again.

    So it is with names that differ in and out, computed or secret fields, and validators that change what they take.
    """
    try:
        kept: dict[str, Any] = adapter.dump_python(value, mode="json", by_alias=True)
        if adapter.validate_json(json.dumps(kept)) == value:
            return kept
    except Exception as error:
        _log.debug("an object is kept as it was given", exc_info=error)
    return given


def _of_schema(format: OutputFormat) -> Validator:
    try:
        from jsonschema.exceptions import SchemaError
        from jsonschema.validators import validator_for
        from referencing import Registry
    except ImportError as error:
        raise MissingExtraError(
            "structured output by a JSON schema alone", 'pip install "agentscope-rx[schema]"'
        ) from error
    schema = format.json_schema
    kind = validator_for(schema)
    try:
        kind.check_schema(schema)
    except SchemaError as error:
        raise ConfigurationError(f"output_type is no JSON schema: {error.message}") from error
    validator = kind(schema, registry=Registry())  # an empty one: no schema makes us fetch a URL

    def check(given: dict[str, Any]) -> dict[str, Any]:
        if problems := [(error.json_path.removeprefix("$."), error.message) for error in validator.iter_errors(given)]:
            raise _misfit(problems)
        return given

    return Validator(format, check)


def _format(schema: Mapping[str, Any], name: str | None = None) -> OutputFormat:
    """Return the format of an object; the schema of a type that holds itself is a reference at first."""
    match schema:
        case {"$ref": str(reference), "$defs": Mapping() as parts} if reference.startswith("#/$defs/"):
            part = parts.get(reference.removeprefix("#/$defs/"))
            schema = {**part, "$defs": parts} if isinstance(part, Mapping) else {}
    if schema.get("type") != "object":
        raise ConfigurationError(
            f"output_type is the type of an object, with named fields; got {name or schema.get('type')!r}"
        )
    return OutputFormat(_name(str(name or schema.get("title") or "response")), dict(schema))


def _name(name: str) -> str:
    """Return a name that every provider takes."""
    return "".join(letter if letter.isascii() and letter.isalnum() else "_" for letter in name)[:64]


def _misfit(problems: list[tuple[str, str]]) -> ToolError:
    lines = [f"- {where or 'the object'}: {what[:_LONGEST]}" for where, what in problems[:_SHOWN]]
    if len(problems) > _SHOWN:
        lines.append(f"- and {len(problems) - _SHOWN} more")
    return ToolError("\n".join(["the object does not fit its schema:", *lines]))


def _unfenced(text: str) -> str:
    """Return JSON without the Markdown fence that models like to put around it."""
    text = text.strip()
    if text.startswith("```") and text.endswith("```"):
        text = text.removeprefix("```").removeprefix("json").removesuffix("```")
    return text
