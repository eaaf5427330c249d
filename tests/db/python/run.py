"""Runs the Python module's tests. Exit code 77: skipped, with the reason.

run.py unit     unit tests and the README's example, from the source folder
run.py install  in a fresh virtual environment: pip install, unit tests and the README's example on what was installed
run.py types    mypy --strict, from a fresh virtual environment
"""

import argparse
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

SKIPPED = 77
HERE = Path(__file__).resolve().parent
PACKAGE = HERE.parent.parent.parent / "db" / "python"
# What pip says without a network or without the index.
OFFLINE = re.compile(
    "No matching distribution|Could not find a version|Failed to establish|ConnectionError|Connection to|ReadTimeout|Temporary failure|ProxyError|Network is unreachable"
)


def skip(reason):
    print("skipped:", reason)
    sys.exit(SKIPPED)


def run(*command, **options):
    print("+", *command, flush=True)
    subprocess.run(command, check=True, **options)


def fresh_environment(folder):
    made = subprocess.run([sys.executable, "-m", "venv", folder], capture_output=True, text=True)
    if made.returncode != 0:
        skip(f"no virtual environment (Debian: apt-get install python3-venv): {(made.stdout + made.stderr).strip()}")
    return Path(folder) / "bin" / "python"


def pip_install(python, *what):
    command = [python, "-m", "pip", "install", "--disable-pip-version-check", "--retries", "1", *what]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        output = done.stdout + done.stderr
        if OFFLINE.search(output):
            skip(f"pip cannot fetch what {what} needs: {output.strip().splitlines()[-1]}")
        sys.exit(f"pip install {what}:\n{output}")


def unit_tests(python, environment, folder):
    run(python, "-m", "unittest", "discover", "-s", HERE, env=environment, cwd=folder)


def readme_example(python, environment, folder, book):
    (code,) = re.findall(r"```python\n(.*?)```", (PACKAGE / "README.md").read_text(), re.DOTALL)
    program = Path(folder) / "example.py"
    program.write_text(code.replace("/data/book.db", book))
    output = subprocess.run([python, program], env=environment, cwd=folder, check=True, capture_output=True, text=True).stdout
    print(output)
    lines = output.splitlines()
    if len(lines) != 2 or not lines[0].startswith("exact ") or not lines[1].startswith("near distance 0.288 "):
        sys.exit("the README's example did not say what it should")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("what", choices=["unit", "install", "types"])
    parser.add_argument("--library", required=True)
    parser.add_argument("--book", required=True)
    parser.add_argument("--templates", required=True)
    options = parser.parse_args()
    environment = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "MYPYPATH")}
    environment.update(
        TUNEBOOK_LIBRARY=options.library, TUNEBOOK_TEST_BOOK=options.book, TUNEBOOK_TEST_TEMPLATES=options.templates, PYTHONDONTWRITEBYTECODE="1"
    )
    with tempfile.TemporaryDirectory() as folder:
        if options.what == "unit":
            environment["PYTHONPATH"] = str(PACKAGE)
            unit_tests(sys.executable, environment, folder)
            readme_example(sys.executable, environment, folder, options.book)
            return
        python = fresh_environment(os.path.join(folder, "environment"))
        if options.what == "types":
            pip_install(python, "mypy")
            run(python, "-m", "mypy", "--strict", "--cache-dir", os.path.join(folder, "cache"), PACKAGE / "tunebook", env=environment)
            return
        pip_install(python, PACKAGE)
        unit_tests(python, environment, folder)
        readme_example(python, environment, folder, options.book)


main()
