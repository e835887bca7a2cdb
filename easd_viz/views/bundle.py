"""ES modules -> one classic script. For pages that are opened from disk, where a browser loads no module.

Knows as much of the language as our own scripts use: named imports from relative paths, ``export`` in front of a declaration,
``export { names }`` on a line of its own. Anything else raises.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Mapping

_IMPORT = re.compile(r'^import \{([^}]*)\} from "([^"]+)";\n', re.MULTILINE)
_EXPORTED = re.compile(r"^export (?=(?:const|let|async function|function|class) (\w+))", re.MULTILINE)
_EXPORT_LIST = re.compile(r"^export \{([^}]*)\};\n", re.MULTILINE)
_LEFT_OVER = re.compile(r"^(?:import|export)\b.*$", re.MULTILINE)


def bundle(modules: Mapping[str, str], entry: str) -> str:
    """``modules``: source by path, such as ``charts/plane.js``. Those that ``entry`` needs, each in a function of its own."""
    done: dict[str, str] = {}
    _add(modules, entry, done, ())
    return '"use strict";\n(() => {\nconst modules = {};\n' + "".join(done.values()) + "})();\n"


def _add(modules: Mapping[str, str], path: str, done: dict[str, str], above: tuple[str, ...]) -> None:
    """Adds a module behind those that it imports."""
    if path in above:
        raise ValueError(f"modules import each other in a circle: {' -> '.join((*above, path))}")
    if path in done:
        return
    source = modules[path]
    for _, target in _IMPORT.findall(source):
        _add(modules, _resolve(path, target), done, (*above, path))
    done[path] = _wrap(path, source)


def _resolve(path: str, target: str) -> str:
    return posixpath.normpath(posixpath.join(posixpath.dirname(path), target))


def _wrap(path: str, source: str) -> str:
    exported = _EXPORTED.findall(source)
    for names in _EXPORT_LIST.findall(source):
        exported += [name.strip() for name in names.split(",") if name.strip()]

    def take(match: re.Match[str]) -> str:
        names = re.sub(r"(\w+) as (\w+)", r"\1: \2", match[1].strip())
        return f'const {{ {names} }} = modules["{_resolve(path, match[2])}"];\n'

    body = _EXPORT_LIST.sub("", _EXPORTED.sub("", _IMPORT.sub(take, source)))
    if found := _LEFT_OVER.search(body):
        raise ValueError(f"{path}: {found[0]!r} is a form of import or export that is not known here")
    return f'modules["{path}"] = (() => {{\n{body}return {{ {", ".join(exported)} }};\n}})();\n'
