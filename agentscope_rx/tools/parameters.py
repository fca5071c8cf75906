"""What a function takes: arguments from the model, and objects from the context that the model does not see."""

from __future__ import annotations

import copy
import inspect
import types
import typing
from collections import ChainMap
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, NamedTuple, NotRequired

import typing_extensions
from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError
from pydantic.errors import PydanticUserError
from pydantic.fields import FieldInfo

from ..errors import ToolError
from .callables import plain
from .json_schema import json_schema

__all__ = ["Parameters"]

_SHOWN_ERRORS = 10

# Type constructors, called with what is only known at run time.
_annotated: Any = Annotated
_typed_dict: Any = typing_extensions.TypedDict


@dataclass(frozen=True, slots=True)
class _Parameter:
    name: str
    annotation: Any
    """As pydantic reads it, with description and default."""
    required: bool
    injectable: type | None
    """The class whose instance the context may hold in place of an argument."""
    hidden: bool
    """Whether it is always injected, because a model cannot write such a value."""


class _Form(NamedTuple):
    """How arguments are validated and shown, as long as the same parameters are hidden."""

    adapter: TypeAdapter[Any]
    schema: dict[str, Any]


class Parameters:
    """The parameters of a function: their JSON schema, and how a call's arguments become keyword arguments.

    A parameter is injected, and hidden from the schema, if its type is a class that the context holds, or one that
    has no JSON schema. Types of the language itself, such as `str` and `dict`, are never injected.
    """

    def __init__(
        self,
        function: Callable[..., Any],
        descriptions: Mapping[str, str],
        custom: Mapping[str, Any] | type[BaseModel] | None = None,
    ) -> None:
        """Read the signature.

        Args:
            function: Any callable.
            descriptions: What is said about the parameters, by name.
            custom: The JSON schema to show instead of the signature's, or a model to show and to validate with.

        Raises:
            ToolError: the function cannot be called with named JSON values, or `custom` does not fit it.
        """
        self._custom = custom
        self._parameters, self._open = _read(function, descriptions, takes_any=custom is not None)
        self._forms: dict[frozenset[str], _Form] = {}
        if custom is not None:
            self._check_offered(_offered(custom))

    def schema(self, available: Collection[type]) -> dict[str, Any]:
        """Return the JSON schema of the arguments, given the types that the context holds."""
        return self._form(self._hidden(available)).schema

    def bind(self, arguments: dict[str, Any], available: Mapping[type, object]) -> dict[str, Any]:
        """Return the keyword arguments of a call: validated, defaults filled in, objects injected.

        Raises:
            ToolError: an argument is missing, unknown or wrong, or nothing is available to inject.
        """
        hidden = self._hidden(available)
        keywords = dict(_validated(self._form(hidden).adapter, arguments))
        for parameter in self._parameters:
            cls = parameter.injectable
            if cls is None or parameter.name not in hidden:
                continue
            if cls in available:
                keywords[parameter.name] = available[cls]
            elif parameter.required:
                raise ToolError(
                    f"the parameter {parameter.name!r} needs a {cls.__qualname__} and the context holds none; "
                    f"the application must put one into the RuntimeContext"
                )
        return keywords

    def of_method(self) -> Parameters:
        """Return the parameters without the first one, which a method call fills."""
        parameters = copy.copy(self)
        parameters._parameters = self._parameters[1:]
        parameters._forms = {}
        return parameters

    def _hidden(self, available: Collection[type]) -> frozenset[str]:
        return frozenset(p.name for p in self._parameters if p.hidden or p.injectable in available)

    def _form(self, hidden: frozenset[str]) -> _Form:
        if (form := self._forms.get(hidden)) is None:
            form = self._forms[hidden] = self._make_form(hidden)
        return form

    def _make_form(self, hidden: frozenset[str]) -> _Form:
        if isinstance(self._custom, type):
            adapter: TypeAdapter[Any] = TypeAdapter(self._custom)
            return _Form(adapter, json_schema(adapter))
        shown = [parameter for parameter in self._parameters if parameter.name not in hidden]
        adapter = TypeAdapter(_arguments_type(shown, extra="allow" if self._open else "forbid"))
        if self._custom is not None:
            return _Form(adapter, dict(self._custom))
        schema = json_schema(adapter)
        del schema["additionalProperties"]  # false for every function, so it tells the model nothing
        return _Form(adapter, schema)

    def _check_offered(self, offered: Collection[str]) -> None:
        names = {parameter.name for parameter in self._parameters}
        if not self._open and (unknown := sorted(set(offered) - names)):
            raise ToolError(f"its schema offers {', '.join(unknown)}, which the function does not take")
        given = {*offered, "self"}  # which a method call fills
        lacking = [p.name for p in self._parameters if p.required and not p.injectable and p.name not in given]
        if lacking:
            raise ToolError(f"its schema lacks {', '.join(lacking)}, which the function needs")


def _read(
    function: Callable[..., Any], descriptions: Mapping[str, str], *, takes_any: bool
) -> tuple[list[_Parameter], bool]:
    """Read the parameters, and whether there is a `**keywords` that a schema of its own may fill."""
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError) as error:
        raise ToolError(f"its signature cannot be read: {error}") from error
    parameters = list(signature.parameters.values())
    is_open = takes_any and bool(parameters) and parameters[-1].kind is inspect.Parameter.VAR_KEYWORD
    if is_open:
        parameters.pop()
    for parameter in parameters:
        if parameter.kind not in (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY):
            raise ToolError(
                f"the parameter {parameter.name!r} is {parameter.kind.description}; a model names every argument"
            )
    preset = getattr(function, "keywords", {})  # of a partial: the model neither sees nor overrides them
    hints = _hints(function, parameters)
    return [
        _parameter(parameter, hints.get(parameter.name, Any), descriptions.get(parameter.name))
        for parameter in parameters
        if parameter.name not in preset
    ], is_open


def _hints(function: Callable[..., Any], parameters: Collection[inspect.Parameter]) -> dict[str, Any]:
    """Evaluate the annotations of the parameters only: that of the return value may not exist at run time."""

    def carrier() -> None: ...

    carrier.__annotations__ = {p.name: p.annotation for p in parameters if p.annotation is not p.empty}
    target = inspect.unwrap(plain(function))
    try:
        return typing.get_type_hints(
            carrier, getattr(target, "__globals__", {}), _locals_of(target), include_extras=True
        )
    except (NameError, TypeError) as error:
        raise ToolError(f"an annotation cannot be evaluated: {error}; define or import the type beforehand") from error


def _locals_of(function: Callable[..., Any]) -> Mapping[str, Any]:
    """Return the names of the functions and classes that the function is being defined in, as far as they still run."""
    scopes: list[dict[str, Any]] = []
    code = getattr(function, "__code__", None)
    frame = inspect.currentframe()
    while frame is not None:
        if any(constant is code for constant in frame.f_code.co_consts):
            scopes.append(frame.f_locals)
            code = frame.f_code
        frame = frame.f_back
    return ChainMap(*scopes)


def _parameter(parameter: inspect.Parameter, hint: Any, description: str | None) -> _Parameter:
    base, *metadata = typing.get_args(hint) if typing.get_origin(hint) is Annotated else (hint,)
    default = parameter.default
    if default is not parameter.empty:
        metadata.append(default if isinstance(default, FieldInfo) else Field(default=default))
    annotation = _annotated[(base, Field(description=description), *metadata)]
    injectable = _injectable(base)
    reason = _why_not_json(parameter.name, annotation)
    if reason and injectable is None:
        raise ToolError(f"a model cannot write the parameter {parameter.name!r}: {reason}")
    required = FieldInfo.from_annotation(annotation).is_required()
    return _Parameter(parameter.name, annotation, required, injectable, hidden=bool(reason))


def _injectable(hint: Any) -> type | None:
    """Return the class that a parameter may be injected by; an optional class counts as the class."""
    if typing.get_origin(hint) in (typing.Union, types.UnionType):
        members = [member for member in typing.get_args(hint) if member is not type(None)]
        hint = members[0] if len(members) == 1 else None
    return hint if isinstance(hint, type) and hint.__module__ != "builtins" else None


def _why_not_json(name: str, annotation: Any) -> str | None:
    try:
        json_schema(TypeAdapter(_typed_dict("arguments", {name: annotation})))
    except (PydanticUserError, NameError) as error:
        return str(error).partition("\n")[0]
    return None


def _arguments_type(parameters: Collection[_Parameter], extra: str) -> Any:
    """A typed dictionary: its keys, unlike the fields of a model class, may have any name."""
    arguments = _typed_dict(
        "arguments", {p.name: p.annotation if p.required else NotRequired[p.annotation] for p in parameters}
    )
    arguments.__pydantic_config__ = ConfigDict(extra=extra)  # type: ignore[typeddict-item]
    return arguments


def _validated(adapter: TypeAdapter[Any], arguments: dict[str, Any]) -> Any:
    try:
        return adapter.validate_python(arguments)
    except ValidationError as error:
        problems = error.errors(include_url=False, include_context=False, include_input=False)
    # Models write null for "not given".
    refused = {problem["loc"][0] for problem in problems if problem["loc"] and problem["type"] != "extra_forbidden"}
    given = {name: value for name, value in arguments.items() if value is not None or name not in refused}
    if len(given) < len(arguments):
        return _validated(adapter, given)
    lines = [f"- {'.'.join(map(str, problem['loc']))}: {problem['msg']}" for problem in problems[:_SHOWN_ERRORS]]
    if len(problems) > _SHOWN_ERRORS:
        lines.append(f"- and {len(problems) - _SHOWN_ERRORS} more")
    raise ToolError("\n".join(["the arguments do not fit the parameters:", *lines]))


def _offered(custom: Mapping[str, Any] | type[BaseModel]) -> Collection[str]:
    if isinstance(custom, type):
        return custom.model_fields
    if custom.get("type") != "object":
        raise ToolError(f"its schema has the type {custom.get('type')!r}, expected the JSON schema of an 'object'")
    properties: Mapping[str, Any] = custom.get("properties", {})
    return properties
