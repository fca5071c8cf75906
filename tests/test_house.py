"""The rules of the house: floors, the flat namespace, documentation, and what is packed.

These tests read the code, they do not run it; what they know is the table of floors.
"""

from __future__ import annotations

import ast
import re
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from collections.abc import Iterable, Iterator
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple, get_args

import pytest

import agentscope_rx

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "agentscope_rx"

FLOORS: tuple[tuple[str, ...], ...] = (
    ("lazy", "identity", "message", "errors"),
    ("event",),
    ("stream",),
    ("operators",),
    ("context", "tools", "mcp", "model"),
    ("permission", "state", "log"),
    ("middleware",),
    ("client", "agent", "subagent"),
    ("serve", "interop"),
    ("cli",),
)
"""Every module of the package, floor 0 first. Imports go to a lower floor, or to the left on the same one."""

BESIDE = ("testing",)
"""What stands beside the floors: it may import any of them, and none may import it."""

LOADED_BY = {
    "anyio": "agentscope_rx/mcp/",
    "httpx": "agentscope_rx/model/http.py",
    "httpx2": "agentscope_rx/mcp/transport.py",
    "mcp": "agentscope_rx/mcp/",
    "redis": "agentscope_rx/state/shared/redis_server.py",
    "rich": "agentscope_rx/cli/",
    "sqlalchemy": "agentscope_rx/state/shared/sql",
    "xllamacpp": "agentscope_rx/model/",
}
"""Whose business a third-party package is."""

REQUIRED = {"reactivex", "pydantic", "httpx"}
"""What the core depends on."""

BROUGHT_BY_PYDANTIC = {"pydantic_core", "typing_extensions"}
"""Its engine, and the TypedDict that it demands before Python 3.12: it pins the one and depends on the other."""

LONGEST_FILE = 480
"""Lines; a longer file hides something."""

SOURCES = sorted(PACKAGE.rglob("*.py"))


def name_of(path: Path) -> str:
    return str(path.relative_to(ROOT))


def tree_of(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


# ---------------------------------------------------------------------------------------------------- floors


class Import(NamedTuple):
    line: int
    module: str
    names: tuple[str, ...]
    for_types: bool


def imports_of(path: Path) -> Iterator[Import]:
    """Every import of a file, absolute; `for_types` tells those that only a type checker sees."""
    package = [*path.parent.relative_to(ROOT).parts]
    tree = tree_of(path)
    for_types = {
        id(node)
        for block in ast.walk(tree)
        if isinstance(block, ast.If) and "TYPE_CHECKING" in ast.unparse(block.test)
        for node in ast.walk(block)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield Import(node.lineno, alias.name, (), id(node) in for_types)
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else []
            module = ".".join([*base, *([node.module] if node.module else [])])
            yield Import(node.lineno, module, tuple(alias.name for alias in node.names), id(node) in for_types)


PLACES = {name: (floor, place) for floor, names in enumerate(FLOORS) for place, name in enumerate(names)}


def house_module(path: Path) -> str:
    """The module of the table that a file belongs to."""
    return path.relative_to(PACKAGE).parts[0].removesuffix(".py")


def imported_modules(entry: Import) -> list[str]:
    """The modules of the table that an import names; the whole package is `agentscope_rx`."""
    parts = entry.module.split(".")
    if parts[0] != "agentscope_rx":
        return []
    if len(parts) > 1:
        return [parts[1]]
    return [name if name in PLACES or name in BESIDE else "agentscope_rx" for name in entry.names or ("",)]


def test_every_module_has_a_floor() -> None:
    modules = {house_module(path) for path in SOURCES if path != PACKAGE / "__init__.py"}
    assert modules <= PLACES.keys() | set(BESIDE), "give the new module a place in FLOORS"


def test_imports_go_down_or_left() -> None:
    wrong = [
        f"{name_of(path)}:{entry.line} imports {target}"
        for path in SOURCES
        if (module := house_module(path)) in PLACES
        for entry in imports_of(path)
        for target in imported_modules(entry)
        if target != module and not PLACES.get(target, (len(FLOORS), 0)) < PLACES[module]
    ]
    assert not wrong


def test_imports_inside_the_package_are_relative() -> None:
    absolute = [
        f"{name_of(path)}:{node.lineno}"
        for path in SOURCES
        for node in ast.walk(tree_of(path))
        if (
            isinstance(node, ast.ImportFrom) and not node.level and (node.module or "").split(".")[0] == "agentscope_rx"
        )
        or (isinstance(node, ast.Import) and any(alias.name.split(".")[0] == "agentscope_rx" for alias in node.names))
    ]
    assert not absolute


def test_a_third_party_package_has_one_place_that_knows_it() -> None:
    wrong = [
        f"{name_of(path)}:{entry.line} imports {entry.module}"
        for path in SOURCES
        for entry in imports_of(path)
        if not entry.for_types and not name_of(path).startswith(LOADED_BY.get(entry.module.split(".")[0], ""))
    ]
    assert not wrong


def test_every_other_package_that_is_imported_is_declared() -> None:
    def names(requirements: Iterable[str]) -> set[str]:
        return {re.split(r"[^A-Za-z0-9_-]", one)[0].replace("-", "_") for one in requirements}

    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert names(project["dependencies"]) == REQUIRED
    declared = {*REQUIRED, *BROUGHT_BY_PYDANTIC, *names(chain(*project["optional-dependencies"].values()))}
    imported = {entry.module.split(".")[0] for path in SOURCES for entry in imports_of(path) if not entry.for_types}
    others = imported - {"agentscope_rx", *sys.stdlib_module_names}
    assert not {module for module in others if not any(name.startswith(module) for name in declared)}


def test_the_floor_check_sees_every_form_of_import(tmp_path: Path) -> None:
    def seen(source: str, file: str = "event/fold.py") -> list[str]:
        path = PACKAGE / file
        tree = ast.parse(source)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(sys.modules[__name__], "tree_of", lambda _: tree)
            return [module for entry in imports_of(path) for module in imported_modules(entry)]

    assert seen("from ..message import Msg") == ["message"]
    assert seen("from ..message.blocks import TextBlock") == ["message"]
    assert seen("from .. import errors, agent") == ["errors", "agent"]
    assert seen("from .. import MessageBuilder") == ["agentscope_rx"]
    assert seen("from .base import BaseEvent") == ["event"]
    assert seen("import agentscope_rx.agent") == ["agent"]
    assert seen("from agentscope_rx import agent") == ["agent"]
    assert seen("def f():\n    from ..agent import x") == ["agent"]
    assert seen("if TYPE_CHECKING:\n    from ..agent import x") == ["agent"]
    assert seen("from ...agent import x", "event/codec/native.py") == ["agent"]
    assert seen("from .message import x", "context.py") == ["message"]
    assert seen("import json\nfrom collections.abc import Callable") == []


# --------------------------------------------------------------------------------------- the top of the tree


in_a_checkout = pytest.mark.skipif(not (ROOT / ".git").exists(), reason="an sdist has neither links nor history")


@in_a_checkout
def test_operators_is_a_link_into_the_package() -> None:
    link = ROOT / "operators"
    assert link.is_symlink()
    assert link.readlink() == Path("agentscope_rx/operators")


@in_a_checkout
def test_a_stray_import_of_operators_fails_at_once() -> None:
    done = subprocess.run(
        [sys.executable, "-c", "import operators"], cwd=ROOT, capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 1
    assert "ImportError: attempted relative import beyond top-level package" in done.stderr


# ------------------------------------------------------------------------------------------ the flat namespace

PROMISED = {
    "Msg", "UserMessage", "AssistantMessage", "SystemMessage", "ToolResultMessage", "ChatUsage", "GenerateReason",
    "MsgRole", "TextBlock", "ThinkingBlock", "DataBlock", "ToolUseBlock", "ToolResultBlock", "HintBlock",
    "ImageBlock", "AudioBlock", "VideoBlock", "Base64Source", "URLSource", "ToolCallState", "ToolResultState",
    "PermissionRule", "AgentEvent", "AgentEventType", "MessageBuilder", "MessageSnapshot", "encode", "decode",
    "encode_message", "decode_message", "METADATA_TASK_ID", "METADATA_PARENT_SESSION_ID", "ConfirmResult",
    "set_id_factory", "set_clock", "Stream", "RuntimeContext", "ReActAgent", "ChatModel", "resolve_model", "tool",
    "Toolkit", "ToolEmitter",
}  # fmt: skip


def test_the_namespace_is_sorted() -> None:
    def order(name: str) -> tuple[int, str]:
        return 0 if name.isupper() else 1 if name[0].isupper() else 2, name

    names = agentscope_rx.__all__
    assert len(set(names)) == len(names)
    assert [order(name)[0] for name in names] == sorted(order(name)[0] for name in names)
    assert sorted(names, key=order) == sorted(names, key=lambda name: (order(name)[0], names.index(name)))


def test_the_namespace_holds_what_is_promised() -> None:
    from agentscope_rx import errors, event

    classes = {cls.__name__ for cls in get_args(event.AgentEvent)}
    assert PROMISED | classes | set(errors.__all__) <= set(agentscope_rx.__all__)


def test_every_name_of_the_namespace_resolves() -> None:
    assert set(agentscope_rx.__all__) <= set(dir(agentscope_rx))
    assert not [name for name in agentscope_rx.__all__ if getattr(agentscope_rx, name, None) is None]


def test_a_name_that_is_not_there_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'nothing_of_the_kind'"):
        agentscope_rx.nothing_of_the_kind  # noqa: B018


def test_what_a_type_checker_sees_is_what_there_is() -> None:
    seen = [name for entry in imports_of(PACKAGE / "__init__.py") if entry.for_types for name in entry.names]
    assert sorted(seen) == sorted(agentscope_rx.__all__)


def fresh(code: str) -> str:
    """What a new interpreter prints."""
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, timeout=60, check=True
    )
    return done.stdout.strip()


def test_importing_the_package_loads_nothing_else() -> None:
    heavy = ("pydantic", "reactivex", "httpx", "rich", "xllamacpp")
    loaded = f"print(*[name for name in {heavy} if name in sys.modules])"
    assert fresh(f"import sys, agentscope_rx; dir(agentscope_rx); {loaded}") == ""
    assert fresh(f"import sys; from agentscope_rx import UserMessage, MessageBuilder, encode; {loaded}") == "pydantic"


def test_an_agent_loads_nothing_that_few_agents_need() -> None:
    seldom = ["httpx", "sqlite3"]
    seldom += [
        f"agentscope_rx.{name}" for name in ("event.codec", "model.http", "permission.commands", "state.json_file")
    ]
    loaded = f"print(*[name for name in {seldom} if name in sys.modules])"
    assert fresh(f"import sys; from agentscope_rx import ReActAgent, UserMessage; {loaded}") == ""


def test_the_namespace_needs_no_optional_package() -> None:
    absent = "sys.modules.update(dict.fromkeys(('mcp', 'opentelemetry', 'redis', 'rich', 'sqlalchemy', 'xllamacpp')))"
    assert fresh(f"import sys; {absent}; from agentscope_rx import *; print('done')") == "done"


# ------------------------------------------------------------------------------------------------ documentation


def is_public(name: str) -> bool:
    return not name.startswith("_")


def documented_nodes(tree: ast.Module) -> Iterator[tuple[str, ast.AST]]:
    """The module, and every public class, method and function of it."""
    yield "the module", tree
    for node in tree.body:
        if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef) and is_public(node.name):
            yield node.name, node
        if isinstance(node, ast.ClassDef) and is_public(node.name):
            for child in node.body:
                if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef) and is_public(child.name):
                    yield f"{node.name}.{child.name}", child


def is_overload(node: Any) -> bool:
    return any(ast.unparse(decorator).endswith("overload") for decorator in getattr(node, "decorator_list", ()))


def test_everything_public_has_a_docstring() -> None:
    missing = [
        f"{name_of(path)}: {name}"
        for path in SOURCES
        for name, node in documented_nodes(tree_of(path))
        if not is_overload(node) and not ast.get_docstring(node)
    ]
    assert not missing


def fields_without_docstring(cls: ast.ClassDef) -> Iterator[str]:
    """The public fields of a class that no string follows; the literal that overrides a type or role needs none."""
    for node, following in zip(cls.body, [*cls.body[1:], None], strict=True):
        if not (isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name) and is_public(node.target.id)):
            continue
        annotation = ast.unparse(node.annotation)
        if annotation.startswith("ClassVar") or (
            node.target.id in ("type", "role") and annotation.startswith("Literal")
        ):
            continue
        text = following.value if isinstance(following, ast.Expr) else None
        if not (isinstance(text, ast.Constant) and isinstance(text.value, str)):
            yield f"{cls.name}.{node.target.id}"


def classes_with_public_fields(tree: ast.Module) -> list[ast.ClassDef]:
    """The public classes, and the private ones that those of the same file inherit from."""
    classes = [node for node in tree.body if isinstance(node, ast.ClassDef)]
    bases = {ast.unparse(base) for cls in classes if is_public(cls.name) for base in cls.bases}
    return [cls for cls in classes if is_public(cls.name) or cls.name in bases]


def test_every_public_field_has_a_docstring() -> None:
    missing = [
        f"{name_of(path)}: {field}"
        for path in SOURCES
        for cls in classes_with_public_fields(tree_of(path))
        for field in fields_without_docstring(cls)
    ]
    assert not missing


def test_the_field_check_finds_a_bare_field() -> None:
    source = (
        'class A:\n    a: int\n    """Said."""\n    b: int = 1\n    _c: int\n    type: Literal["x"] = "x"\n    d: str'
    )
    (cls,) = ast.parse(source).body
    assert isinstance(cls, ast.ClassDef)
    assert list(fields_without_docstring(cls)) == ["A.b", "A.d"]


def test_no_file_is_long() -> None:
    lengths = {name_of(path): len(path.read_text(encoding="utf-8").splitlines()) for path in SOURCES}
    del lengths["agentscope_rx/__init__.py"]  # a list of names
    assert not {name: length for name, length in lengths.items() if length > LONGEST_FILE}


# ------------------------------------------------------------------------------------- what a file may not hold

FORBIDDEN = (
    r"/(home|Users|root|work)/[A-Za-z0-9_.-]+",
    r"/tmp/[A-Za-z0-9_.-]+/bin",
    r"[A-Za-z]:\\\\Users",
    r"(pypi|pythonhosted|npmjs|conda|anaconda|jsdelivr|crates)\.(org|com|io)",
    r"--(extra-)?index-url",
)
"""Paths of somebody's machine, and hosts of package registries: those are the business of whoever installs."""


def tracked_files() -> list[Path]:
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True)
    return [ROOT / name for name in listed.stdout.split("\0") if name and (ROOT / name).is_file()]


@in_a_checkout
def test_no_file_names_a_machine_or_a_registry() -> None:
    pattern = re.compile("|".join(FORBIDDEN))
    found = [
        f"{name_of(path)}:{number}: {line.strip()[:80]}"
        for path in tracked_files()
        if path != Path(__file__).resolve()
        for number, line in enumerate(path.read_text(encoding="utf-8", errors="replace").splitlines(), 1)
        if pattern.search(line)
    ]
    assert not found


def test_the_search_finds_what_it_looks_for() -> None:
    pattern = re.compile("|".join(FORBIDDEN))
    for line in (
        "cd /home/somebody/x",
        "open('/root/.cache')",
        "https://pypi.org/simple",
        "pip --index-url x",
        "/work/y",
    ):
        assert pattern.search(line)
    for line in ("https://example.org/home", "the root/branch", "/tmp/x.sock", "network/http.py"):
        assert not pattern.search(line)


# ------------------------------------------------------------------------------------------------ what is packed


def build(source: Path, target: Path, *kinds: str) -> None:
    """Run the project's own back end, in this environment."""
    command = [sys.executable, "-m", "build", "--no-isolation", *kinds, "--outdir", str(target), str(source)]
    subprocess.run(command, check=True, capture_output=True, timeout=300)


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """The wheel and the sdist, each built from this tree."""
    target = tmp_path_factory.mktemp("dist")
    build(ROOT, target, "--wheel", "--sdist")
    (wheel,), (sdist,) = target.glob("*.whl"), target.glob("*.tar.gz")
    return wheel, sdist


def modules_in(folder: str, files: Iterable[Path]) -> set[Path]:
    """The Python files of a folder, relative to it."""
    inside = Path(folder)
    return {path.relative_to(inside) for path in files if path.is_relative_to(inside) and path.suffix == ".py"}


@pytest.mark.heavy
def test_link_wheel_and_sdist_agree(built: tuple[Path, Path]) -> None:
    wheel, sdist = built
    here = [path.relative_to(ROOT) for folder in ("agentscope_rx", "operators") for path in (ROOT / folder).rglob("*")]
    package, operators = modules_in("agentscope_rx", here), modules_in("operators", here)
    assert modules_in("agentscope_rx/operators", here) == operators
    with zipfile.ZipFile(wheel) as archive:
        packed = [Path(name) for name in archive.namelist()]
    assert modules_in("agentscope_rx", packed) == package
    assert Path("agentscope_rx/py.typed") in packed
    assert {path.parts[0].split("-")[0] for path in packed} == {"agentscope_rx"}
    with tarfile.open(sdist) as archive:
        packed = [Path(*Path(name).parts[1:]) for name in archive.getnames()]
    assert modules_in("agentscope_rx", packed) == package
    # The back end packs a directory once, under its real name; if it packs the link too, then as the same files.
    assert modules_in("operators", packed) in (set(), operators)
    assert {Path("README.md"), Path("LICENSE"), Path("pyproject.toml")} <= set(packed)


@pytest.mark.heavy
def test_the_sdist_builds_the_same_wheel(built: tuple[Path, Path], tmp_path: Path) -> None:
    wheel, sdist = built
    with tarfile.open(sdist) as archive:
        archive.extractall(tmp_path, filter="data")
    (source,) = tmp_path.iterdir()
    build(source, tmp_path, "--wheel")
    (again,) = tmp_path.glob("*.whl")
    with zipfile.ZipFile(wheel) as one, zipfile.ZipFile(again) as other:
        contents = [{name: archive.read(name) for name in archive.namelist()} for archive in (one, other)]
    assert contents[0] == contents[1]


@pytest.mark.heavy
def test_the_wheel_installs_and_imports(built: tuple[Path, Path], tmp_path: Path) -> None:
    wheel, _ = built
    python = str(tmp_path / "venv" / ("Scripts" if sys.platform == "win32" else "bin") / "python")
    subprocess.run([sys.executable, "-m", "venv", str(tmp_path / "venv")], check=True, timeout=120)
    install = [python, "-m", "pip", "install", "--quiet", "--no-deps", "--no-index", str(wheel)]
    subprocess.run(install, check=True, timeout=120)
    code = "import agentscope_rx, agentscope_rx.errors; print(agentscope_rx.__file__, len(agentscope_rx.__all__))"
    done = subprocess.run([python, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True, timeout=60)
    where, names = done.stdout.split()
    assert Path(where).is_relative_to(tmp_path)
    assert int(names) == len(agentscope_rx.__all__)
