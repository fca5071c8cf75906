"""What models there are to talk to: the providers, where they are, and whether they are configured. Never a key."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from urllib.parse import urlsplit

from ..errors import ConfigurationError
from ..model import Provider, ProviderProfile, providers
from ..model.profiles import set_variable

__all__ = ["list_models"]

_HEAD = ("MODEL ID, SUCH AS", "CONFIGURED", "KEY", "BASE URL")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Row:
    """One provider, as the environment has it."""

    provider: str
    """What stands in front of the colon of a model id."""
    example: str
    """A model id."""
    problem: str | None
    """Why no model can be made, None when one can be."""
    key_variables: tuple[str, ...] = ()
    """The environment variables that may hold the key."""
    key_variable: str | None = None
    """The one that does."""
    url_variables: tuple[str, ...] = ()
    """The environment variables that may hold another base URL."""
    url_variable: str | None = None
    """The one that does."""
    base_url: str | None = None
    """Where requests go, None when to this machine's own model or nowhere."""


def list_models(*, as_json: bool) -> None:
    """Print the providers: a table with what is missing below, or one line of JSON for each."""
    rows = [_row(provider) for provider in providers()]
    for line in _json_lines(rows) if as_json else _table(rows):
        print(line)


def _row(provider: Provider) -> _Row:
    example, profile = f"{provider.name}:{provider.example}", provider.profile
    if profile is None:
        return _Row(provider=provider.name, example=example, problem=provider.problem)
    return _Row(
        provider=provider.name,
        example=example,
        problem=provider.problem,
        key_variables=profile.key_variables,
        key_variable=set_variable(profile.key_variables),
        url_variables=profile.url_variables,
        url_variable=set_variable(profile.url_variables),
        base_url=_shown_url(profile),
    )


def _shown_url(profile: ProviderProfile) -> str | None:
    """The URL without what may be secret in it: a user, a password, a query."""
    try:
        parts = urlsplit(profile.url())
    except ConfigurationError:
        return None
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}"


def _json_lines(rows: Iterable[_Row]) -> Iterable[str]:
    for row in rows:
        yield json.dumps({"provider": row.provider, "configured": row.problem is None, **asdict(row)})


def _table(rows: list[_Row]) -> Iterable[str]:
    cells = [_HEAD, *map(_cells, rows)]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    for line in cells:
        yield "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip()
    for row in rows:
        if row.problem is not None and not (row.base_url and _lacks_key(row)):  # that the table says already
            yield f"\n{row.provider}: {row.problem}"


def _cells(row: _Row) -> tuple[str, ...]:
    key = f"{' or '.join(row.key_variables)}: not set" if _lacks_key(row) else row.key_variable or "-"
    url = row.base_url or "-"
    return (
        row.example,
        "yes" if row.problem is None else "no",
        key,
        f"{url} ({row.url_variable})" if row.url_variable else url,
    )


def _lacks_key(row: _Row) -> bool:
    return bool(row.key_variables) and row.key_variable is None
