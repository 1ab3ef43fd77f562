"""All mistakes in a model's interface. Loading the model stops at the first."""

from __future__ import annotations

import linecache
import os
import re
import sys

from ..errors import _printable, one_line, traceback_text
from ..schema import constraints
from ..schema.parameters import read_parameters
from ..schema.signature import Source, read_field, read_output
from .load import LoadError, find_function, import_model, pick

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    Problem = dict[str, Any]

_PLACE = re.compile(r"^([^\s:]+\.(?:py|yaml)):(\d+): (.*)$", re.DOTALL)


def split_place(text: str) -> tuple[str, int, str]:
    """Return the file, the line and the rest of a message that begins with them.

    >>> split_place("run.py:3: it has no type")
    ('run.py', 3, 'it has no type')
    """
    match = _PLACE.match(text)
    return (match[1], int(match[2]), match[3]) if match else ("", 0, text)


def every_problem(ref: str, root: str, mode: str) -> list[Problem]:
    """Return all mistakes in the signature that ref names; [] if it has another fault."""
    try:
        thing = pick(import_model(ref, root), ref, mode)
        return signature_problems(*find_function(thing, ref, mode), root + os.sep)
    except Exception:
        return []  # the caller has the error of loading


def signature_problems(owner: Any, function: Any, root: str) -> list[Problem]:
    """Return all mistakes in the signatures of a function and of those with @function beside it."""
    functions = {getattr(function, "__name__", ""): function}
    if "cog._decorators" in sys.modules:
        from .functions import bound_methods

        functions.update(bound_methods(owner))
    errors = [error for each in functions.values() for error in _signature_errors(each, root)]
    return [problem_of(str(error)) for error in errors]


def _signature_errors(function: Any, root: str) -> list[LoadError]:
    source = Source(function, root)
    parameters, _, returns = read_parameters(source)
    errors = []
    for order, parameter in enumerate(parameters):
        try:
            problem = constraints.problem(read_field(parameter, order, source))
        except LoadError as error:
            errors.append(error)
        else:
            if problem:
                errors.append(source.error(parameter.name, problem))
    try:
        read_output(returns, source)
    except LoadError as error:
        errors.append(error)
    return errors


def problem_of(text: str) -> Problem:
    """Return a message of ours as a problem: before "; " is the fault, behind it the fix."""
    file, line, what = split_place(text)
    what, _, fix = what.partition("; ")
    return {"file": file, "line": line, "what": what, "fix": fix}


def failure(error: BaseException, root: str) -> Problem:
    """Return why a model cannot be served, with the traceback of its exception."""
    if isinstance(error, LoadError):
        return problem_of(_printable(str(error)))
    problem = mistake(error, root)
    problem["traceback"] = traceback_text(error)
    return problem


def mistake(error: BaseException, root: str) -> Problem:
    """Return an exception of the model as a problem, at its innermost line in the model."""
    file, line = "", 0
    at = error.__traceback__
    while at is not None:
        name = os.path.abspath(at.tb_frame.f_code.co_filename)
        if name.startswith(root + os.sep):
            file, line = name[len(root) + 1 :], at.tb_lineno
        at = at.tb_next
    if isinstance(error, SyntaxError) and error.filename:
        file, line = error.filename, error.lineno or 0
        if file.startswith(root + os.sep):
            file = file[len(root) + 1 :]
    fix = _fix(error, root, file, line)
    return {"file": file, "line": line, "what": one_line(error), "fix": fix}


def _fix(error: BaseException, root: str, file: str, line: int) -> str:
    if isinstance(error, ModuleNotFoundError) and error.name:
        from .distributions import imported_at
        from .packages import fix_for

        source = "".join(linecache.getlines(os.path.join(root, file))) if file else ""
        return fix_for(imported_at(source, line, error.name), root)
    if isinstance(error, SyntaxError):
        return "correct the line; Python cannot read the file"
    if isinstance(error, ImportError):
        return "correct the import, or install a version that has it"
    return ""
