from __future__ import annotations

import pytest

from agentscope_rx.tools.docstring import parse_docstring

GOOGLE = """Search the archive.

    Newest first.

    Args:
        query: What to look for,
            on two lines.
        limit (int, optional): How many: at most 50.
        deep (dict[str, tuple(int)]): Nested.

    Returns:
        The hits.
    """
NUMPY = """Search the archive.

    Newest first.

    Parameters
    ----------
    query : str
        What to look for,
        on two lines.
    limit : int, optional
        How many: at most 50.
    deep
        Nested.

    Returns
    -------
    list
        The hits.
    """
SPHINX = """Search the archive.

    Newest first.

    :param query: What to look for,
        on two lines.
    :param int limit: How many: at most 50.
    :type limit: int
    :param deep: Nested.
    :returns: The hits.
    """


@pytest.mark.parametrize("text", [GOOGLE, NUMPY, SPHINX], ids=["google", "numpy", "sphinx"])
def test_the_three_styles_say_the_same(text: str):
    docstring = parse_docstring(text)
    assert docstring.description == "Search the archive.\n\nNewest first."
    assert docstring.parameters == {
        "query": "What to look for, on two lines.",
        "limit": "How many: at most 50.",
        "deep": "Nested.",
    }


@pytest.mark.parametrize(
    ("text", "description", "parameters"),
    [
        (None, "", {}),
        ("", "", {}),
        ("One line.", "One line.", {}),
        ("Args:\n    a: First.", "", {"a": "First."}),
        ("Sum.\n\nArgs:\n    a: First.\n\n    b: Second.", "Sum.", {"a": "First.", "b": "Second."}),
        ("Sum.\n\nParameters\n----------\nx, y : float\n    A point.", "Sum.", {"x": "A point.", "y": "A point."}),
        ("Sum.\n\nRaises:\n    ValueError: no.", "Sum.", {}),
        ("Args: are what a function takes.", "Args: are what a function takes.", {}),
        ("Parameters of the model.\n\nReturns\nnothing.", "Parameters of the model.\n\nReturns\nnothing.", {}),
        ("Sum.\n\nArgs:\n    text that names nobody\n", "Sum.", {}),
    ],
)
def test_docstrings(text: str | None, description: str, parameters: dict[str, str]):
    docstring = parse_docstring(text)
    assert (docstring.description, docstring.parameters) == (description, parameters)
