from __future__ import annotations

import pytest

from agentscope_rx.permission.protected import protection

SECRET = [
    "/h/.netrc", "/x/.npmrc", "/x/.pypirc", "/x/.env", "/x/.envrc", "/x/.env.local", "/x/.env.development",
    "/x/.env.development.local", "/x/.env.test", "/x/.env.test.local", "/x/.env.staging", "/x/.env.production",
    "/x/.env.production.local", "/x/.ssh", "/x/.ssh/id_rsa", "/x/.ssh/keys/a", "/x/.ENV", "/x/.Env.", "/x/.env ",
    "/x/ .env", "/x/.en*", "/x/.en?", "/x/.[e]nv", "/x/.s*/id_rsa", "/x/.*",
]  # fmt: skip
TRUSTED = [
    "/x/.gitconfig", "/x/.gitmodules", "/x/.bashrc", "/x/.bash_profile", "/x/.zshrc", "/x/.zprofile", "/x/.profile",
    "/x/.git", "/x/.git/config", "/x/.git/hooks/pre-commit", "/x/.vscode/tasks.json", "/x/.idea/a", "/x/.GIT/config",
]  # fmt: skip
FREE = [
    "/", "/x", "/x/env", "/x/.env.example", "/x/.env/lib/a.py", "/x/.bashrc/a", "/x/.gitignore", "/x/.github/a.yml",
    "/x/git/config", "/x/*", "/x/?env", "/x/[.]env", "/x/...", "/x/my.env", "/x/.envs",
]  # fmt: skip


@pytest.mark.parametrize("path", SECRET)
def test_secrets_are_neither_read_nor_changed_unseen(path: str):
    assert protection(path, read_only=True) == protection(path, read_only=False) == f"{path} may hold secrets"


@pytest.mark.parametrize("path", TRUSTED)
def test_what_programs_trust_is_not_changed_unseen(path: str):
    assert protection(path, read_only=True) is None
    assert protection(path, read_only=False)


@pytest.mark.parametrize("path", FREE)
def test_everything_else_is_free(path: str):
    assert protection(path, read_only=False) is None


@pytest.mark.parametrize("name", ["config", "authorized_keys", "Config", "AUTHORIZED_KEYS"])
def test_p28_files_of_ssh_are_found_by_more_than_their_name(name: str):
    assert protection(f"/h/me/.ssh/{name}", read_only=False)
    assert protection(f"/h/me/.SSH/{name}", read_only=True)
    assert protection(f"/h/me/{name}", read_only=False) is None
