"""Reference of the Python API: what `import tileas_xdsl as tileas` gives, from signatures and docstrings."""

from __future__ import annotations

import inspect

import tileas_xdsl
from docs.site.reference.docstrings import as_markdown, doc_of
from tileas_xdsl import front_door

HEAD = """\
# Python API

What `import tileas_xdsl as tileas` gives. [Work from Python](../python.md) shows how it is used.
"""


def api_page() -> str:
    """A section for each public function, in the order in which the front door defines them."""
    functions = [(name, getattr(front_door, name)) for name in vars(front_door) if name in tileas_xdsl.__all__]
    parts = [HEAD, as_markdown(inspect.getdoc(front_door) or "", "python")]
    parts += [function_section(name, function) for name, function in functions if inspect.isfunction(function)]
    return "\n\n".join(parts) + "\n"


def function_section(name: str, function: object) -> str:
    assert callable(function)
    return (
        f"## tileas.{name}\n\n```python\n{signature(name, function)}\n```\n\n{as_markdown(doc_of(function), 'python')}"
    )


def signature(name: str, function: object) -> str:
    """The signature, a parameter a line."""
    assert callable(function)
    found = inspect.signature(function)
    parameters: list[str] = []
    for parameter in found.parameters.values():
        if parameter.kind is parameter.KEYWORD_ONLY and "*" not in parameters:
            parameters.append("*")
        parameters.append(str(parameter).replace("'", "") if parameter.default is parameter.empty else str(parameter))
    lines = "".join(f"    {parameter},\n" for parameter in parameters)
    return f"def {name}(\n{lines}) -> {found.return_annotation}: ..."
