from __future__ import annotations

import shlex

import pytest

from agentscope_rx.permission.programs import danger_of, is_read_only


@pytest.mark.parametrize(
    "command",
    [
        "rm -rf x", "rm -fr x", "rm -r -f x", "rm x -R", "rm --recursive x", "rm --rec x", "RM -RF x", "/bin/rm -rf x",
        "sudo rm x", "doas /bin/rm x", "sudo -u root rm x", "FOO=1 rm -r x", "env FOO=1 rm -r x", "nohup rm -rf x",
        "xargs rm -rf", "timeout 5 rm -rf x", "find . -exec rm -rf . ;", "sudo sh -c x", "su -c 'rm -rf x'",
        "ssh host 'rm -rf x'", "env -S 'rm -rf x'", "watch 'rm -rf x'",
        "dd if=x of=y", "mkfs /dev/sda", "mkfs.ext4 /dev/sda", "fdisk /dev/sda", "format c:",
        "chmod 777 x", "chmod -R 777 x", "chmod 0777 x", "chmod a+rwx x", "chown -R me x", "chown --recursive me x",
        "kill -9 1", "kill -KILL 1", "kill -s KILL 1", "pkill -9 x", "killall -SIGKILL x",
        "sh", "bash -c x", "bash -xc x", "/usr/bin/zsh -c x", "env bash", "sh -", "bash +x", "eval x", "source x",
        ". x",
    ],
)  # fmt: skip
def test_dangerous_programs(command: str):
    assert danger_of(shlex.split(command))


@pytest.mark.parametrize(
    "command",
    [
        "rm x", "rm -f x", "rm --verbose x", "git rm -r x", "git add dd", "npm run format", "echo rm -rf x",
        "git commit -m 'rm -rf x'", "add x", "chmod 755 x", "chown me x", "kill 9", "kill -15 1", "sh script.sh -c",
        "sudo apt install x", "env", "find . -name x.sh", "sudo cp x .", "ls -9", "FOO=1", "ddrescue x y",
    ],
)  # fmt: skip
def test_programs_that_are_not_dangerous(command: str):
    assert danger_of(shlex.split(command)) is None


@pytest.mark.parametrize(
    "command",
    [
        "git status", "git status -s", "git log --oneline -n 3", "git diff HEAD", "git grep -n x",
        "git config --get a",
        "ls", "ls -la", "cat x", "echo -n x", "find . -name x", "rg -n x", "tree -L 2", "printf %s x",
        "python --version",
    ],
)  # fmt: skip
def test_programs_that_only_read(command: str):
    assert is_read_only(shlex.split(command))


@pytest.mark.parametrize(
    "command",
    [
        "git", "git commit", "git push", "git config a b", "git -c core.pager=x log", "git log --output=x",
        "git diff --outp x", "git grep -Ox y", "git grep --open=x y", "find . -delete", "find . -exec x ;",
        "find . -fprint x", "rg --pre x y", "tree -o x", "printf -v PATH x", "python x", "python", "file -C",
        "FOO=1 ls", "./ls", "/tmp/ls", "LS", "tee x", "sed -i s/a/b/ x", "sort -o x", "rm x", "sudo ls", "lsx",
    ],
)  # fmt: skip
def test_programs_that_may_change_something(command: str):
    assert not is_read_only(shlex.split(command))
