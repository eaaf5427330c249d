#!/usr/bin/env python3
"""Types of one name in one namespace that two files of the program define: the linker takes the code of one of them for both.

one_definition.py FOLDER: looks through FOLDER's C++ files, names each such type and exits with 1. First it looks for a planted one.
Types in namespaces without a name may be defined again; so may those of two folders that never come into one program.
"""
import collections
import pathlib
import re
import sys
import tempfile

BOXES = ["tuner", "search", "db", "reports"]
APART = [{"tuner/cpu", "tuner/cuda"}]  # each of the workers of its own
NAMESPACE = re.compile(r"\s*(?:inline )?namespace\s*([\w:]*)\s*\{")
TYPE = re.compile(r"\s*(?:struct|class|enum class|enum)\s+(\w+)(?:\s+final)?\s*(?::[^:].*)?\{")


def types_of(file):
    """The names of the types that a file defines in namespaces, but not within other types."""
    depth, namespaces = 0, []
    for line in file.read_text(errors="replace").splitlines():
        code = re.sub(r'"(\\.|[^"\\])*"', '""', re.sub(r"//.*", "", line))
        namespace, name = NAMESPACE.match(code), TYPE.match(code)
        if namespace:
            namespaces.append((depth, namespace[1]))
        elif name and namespaces and depth == namespaces[-1][0] + 1 and all(part for _, part in namespaces):
            yield "::".join([part for _, part in namespaces] + [name[1]])
        depth += code.count("{") - code.count("}")
        while namespaces and depth <= namespaces[-1][0]:
            namespaces.pop()


def defined_twice(folder):
    """(name, files) of each."""
    files_of = collections.defaultdict(set)
    count = 0
    for box in BOXES:
        for file in sorted((folder / box).rglob("*")):
            if file.suffix in (".h", ".cc"):
                count += 1
                for name in types_of(file):
                    files_of[name].add(file.relative_to(folder).as_posix())
    apart = lambda files: any({f.rsplit("/", 1)[0] for f in files} == folders for folders in APART)
    return count, [(name, sorted(files)) for name, files in sorted(files_of.items()) if len(files) > 1 and not apart(files)]


def check_itself():
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        (folder / "search").mkdir()
        (folder / "db").mkdir()
        (folder / "search/a.h").write_text("namespace n {\nstruct Twice {\n};\nstruct Once {\n  struct Inner {\n  };\n};\n}  // namespace n\n")
        (folder / "db/b.h").write_text("namespace n {\nclass Twice {\n  struct Inner {\n  };\n};\nnamespace {\nstruct Once {\n};\n}\n}\n")
        found = defined_twice(folder)
        assert found == (2, [("n::Twice", ["db/b.h", "search/a.h"])]), found


check_itself()
read, found = defined_twice(pathlib.Path(sys.argv[1]))
assert read > 100, f"only {read} files were found"
for name, files in found:
    print(f"{name} is defined in {' and '.join(files)}")
sys.exit(1 if found else 0)
