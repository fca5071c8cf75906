"""Files and directories that no tool reads or changes unseen."""

from __future__ import annotations

from fnmatch import fnmatchcase
from pathlib import PurePath

__all__ = ["protection"]

_SECRET_FILES = (
    ".netrc", ".npmrc", ".pypirc", ".env", ".envrc", ".env.local", ".env.development",
    ".env.development.local", ".env.test", ".env.test.local", ".env.staging", ".env.production",
    ".env.production.local",
)  # fmt: skip
_SECRET_DIRECTORIES = (".ssh",)
_TRUSTED_FILES = (".gitconfig", ".gitmodules", ".bashrc", ".bash_profile", ".zshrc", ".zprofile", ".profile")
_TRUSTED_DIRECTORIES = (".git", ".vscode", ".idea")


def protection(path: str, *, read_only: bool) -> str | None:
    """Return why a person must look at an access to a path; None for no reason.

    Names are compared without regard to case, as some file systems do. Wildcards in a name stand for what a shell
    would make of them.

    Args:
        path: An absolute path.
        read_only: Whether the access changes nothing; what only programs trust may be read.
    """
    parts = [_plain(part) for part in PurePath(path).parts]
    if _is_among(parts, _SECRET_FILES, _SECRET_DIRECTORIES):
        return f"{path} may hold secrets"
    if not read_only and _is_among(parts, _TRUSTED_FILES, _TRUSTED_DIRECTORIES):
        return f"{path} is configuration that other programs trust and run"
    return None


def _plain(part: str) -> str:
    return part.casefold().lstrip().rstrip(". ")  # which tools and Windows may strip


def _is_among(parts: list[str], files: tuple[str, ...], directories: tuple[str, ...]) -> bool:
    return any(_stands_for(parts[-1], name) for name in files) or any(
        _stands_for(part, name) for part in parts for name in directories
    )


def _stands_for(part: str, name: str) -> bool:
    # A wildcard at the beginning finds no name that begins with a dot, and all of these do.
    return part.startswith(".") and fnmatchcase(name, part)
