"""What griffe must know of our docstrings and annotations, for the API pages of the site.

Docstrings hold examples as the doctests that they are, without a fence: in Markdown, such lines
would be quotations. Shapes in annotations are strings that griffe would take for code.
"""

import ast
import itertools
from typing import Any

from griffe import Extension, Function, Object


class OurDocstrings(Extension):
    """Puts a fence around each doctest, and leaves annotations as they are written."""

    def on_object(self, *, obj: Object, **_: Any) -> None:
        if obj.docstring is not None:
            obj.docstring.value = fence_doctests(obj.docstring.value)

    def on_function_instance(self, *, node: Any, func: Function, **_: Any) -> None:
        arguments = node.args
        listed = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
        listed += [one for one in (arguments.vararg, arguments.kwarg) if one is not None]
        for argument in listed:
            if argument.annotation is not None:
                func.parameters[argument.arg].annotation = ast.unparse(argument.annotation)
        if node.returns is not None:
            func.returns = ast.unparse(node.returns)


def fence_doctests(text: str) -> str:
    """Put a fence around each paragraph that begins with a prompt.

    **Arguments:**

    - `text`: a docstring, without the indentation of its code.

    **Returns:**

    The docstring in Markdown.
    """
    done = []
    for blank, group in itertools.groupby(text.split("\n"), lambda line: not line.strip()):
        lines = list(group)
        example = not blank and lines[0].startswith(">>> ")
        done += ["```pycon", *lines, "```"] if example else lines
    return "\n".join(done)
