"""The command line: what can be asked for, and what the shell is told of how it went."""

from __future__ import annotations

import argparse
import io
import os
import sys
from collections.abc import Callable, Sequence
from importlib.metadata import PackageNotFoundError, version

from ..agent import ReActAgent
from ..permission import PermissionContext
from .chat import Chat
from .models import list_models
from .status import BROKEN_PIPE, DONE, attempt
from .tools import TOOLS
from .views import events_view, json_view, transcript_view

__all__ = ["main"]

_ENVIRONMENT = (
    "Keys and base URLs come from the environment: OPENAI_API_KEY, OPENAI_BASE_URL and those of the other providers. "
    "`agentscope-rx models` lists them."
)


def main(argv: Sequence[str] | None = None) -> int:
    """Run the console.

    Args:
        argv: The arguments, by default those of the process.

    Returns:
        The exit status: 0, 1 after an error of this package, 130 after Ctrl-C, 141 when nobody reads the output.

    Raises:
        SystemExit: with 2, when the arguments are wrong; with 0, after `--help`.
    """
    arguments = _parser().parse_args(argv)
    run: Callable[[argparse.Namespace], int] = arguments.run
    try:
        return attempt(lambda: run(arguments))
    except BrokenPipeError:
        # Python flushes stdout once more when it exits, and would complain.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return BROKEN_PIPE


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="agentscope-rx", description="Agents whose replies are event streams.", epilog=_ENVIRONMENT
    )
    parser.add_argument("--version", action="version", version=f"%(prog)s {_version()}")
    commands = parser.add_subparsers(title="commands", required=True, metavar="COMMAND")
    chat = commands.add_parser(
        "chat",
        help="talk to an agent that can calculate and tell the time",
        description="Talk to an agent that can calculate and tell the time. Ctrl-C stops an answer; an empty line, "
        "`exit` or Ctrl-D leaves.",
        epilog=_ENVIRONMENT,
    )
    answer = "answer this and leave; without it, ask for more"
    chat.add_argument("question", nargs="?", type=_question, metavar="QUESTION", help=answer)
    chat.add_argument("--model", metavar="ID", default="local:smollm2", help="provider:name (default: %(default)s)")
    chat.add_argument("--system", metavar="TEXT", default="", help="instructions for the model")
    chat.add_argument("--ask", action="store_true", help="ask before a tool runs; without a terminal, none does")
    chat.set_defaults(run=_chat, view=transcript_view)
    views = chat.add_mutually_exclusive_group()
    views.add_argument(
        "--events", dest="view", action="store_const", const=events_view, help="show every event, one on a line"
    )
    views.add_argument(
        "--json", dest="view", action="store_const", const=json_view, help="write every event as one line of JSON"
    )
    models = commands.add_parser(
        "models",
        help="list the providers of models, and which are configured",
        description="List the providers of models: the environment variables of their keys, their base URLs, and "
        "whether they are configured. No key is shown and nothing is sent.",
    )
    models.add_argument("--json", action="store_true", help="write every provider as one line of JSON")
    models.set_defaults(run=_models)
    return parser


def _version() -> str:
    try:
        return version("agentscope-rx")
    except PackageNotFoundError:
        return "of a checkout that is not installed"


def _question(text: str) -> str:
    if not text.strip():
        raise argparse.ArgumentTypeError("it is empty; leave it out to be asked")
    return text


def _models(arguments: argparse.Namespace) -> int:
    list_models(as_json=arguments.json)
    return DONE


def _chat(arguments: argparse.Namespace) -> int:
    for stream in (sys.stdin, sys.stdout):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")
    view = arguments.view()
    permission = PermissionContext() if arguments.ask else None
    agent = ReActAgent("assistant", arguments.model, arguments.system, tools=TOOLS, permission=permission)
    chat = Chat(agent, view)
    return chat.converse() if arguments.question is None else chat.ask(arguments.question)
