"""`lazily`: names that are imported when they are first asked for."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest


def test_a_name_is_imported_once_and_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    package = tmp_path / "some_lazy_package"
    package.mkdir()
    (package / "__init__.py").write_text(
        "from agentscope_rx.lazy import lazily\n__getattr__ = lazily(__name__, {'answer': '.home'})\n"
    )
    (package / "home.py").write_text("answer = object()\n")
    monkeypatch.syspath_prepend(tmp_path)
    module = __import__("some_lazy_package")
    try:
        assert "some_lazy_package.home" not in sys.modules
        answer = module.answer
        assert vars(module)["answer"] is answer is sys.modules["some_lazy_package.home"].answer
        with pytest.raises(AttributeError, match="module 'some_lazy_package' has no attribute 'question'"):
            _ = module.question
    finally:
        for name in [name for name in sys.modules if name.startswith("some_lazy_package")]:
            del sys.modules[name]
