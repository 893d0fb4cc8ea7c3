"""Print as JSON, for each method, the classes with behaviour behind it and the files of its classes and skills."""

from __future__ import annotations

import json

import colonnade as cn


def ours(kind: type) -> list[type]:
    """The classes of the package that a class derives from, itself first."""
    return [one for one in kind.__mro__ if one.__module__.startswith("colonnade.")]


def behaves(kind: type) -> bool:
    """Whether a class defines functions in its own file; what dataclasses generate does not count."""
    file = f"{kind.__module__.replace('.', '/')}.py"
    parts = (getattr(part, "fget", None) or getattr(part, "__func__", part) for part in vars(kind).values())
    codes = (getattr(part, "__code__", None) for part in parts)
    return any(code is not None and code.co_filename.endswith(file) for code in codes)


def main() -> None:
    found = {}
    for name, method in cn.METHODS.items():
        classes = [one for one in ours(method) if behaves(one)]
        model = method()
        skills = list(model.setup().skills) if hasattr(model, "setup") else []
        files = dict.fromkeys(one.__module__.removeprefix("colonnade.") for one in (*classes, *skills))
        found[name] = {
            "classes": [one.__name__ for one in classes],
            "deep": len(ours(method)),
            "skills": [one.__name__ for one in skills],
            "files": list(files),
        }
    print(json.dumps(found))


if __name__ == "__main__":
    main()
