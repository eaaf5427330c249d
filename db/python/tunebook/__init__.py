"""Tunebook's lookup: which configuration is best for this kernel, this shape, this GPU?

>>> import tunebook
>>> with tunebook.Lookup("/data/book.db") as book:
...     answer = book.best("matmul", {"m": 512, "n": 512, "k": 512}, tunebook.DeviceKey(compute_capability=90))
...     if answer is not None:
...         launch(answer["BM"], answer["BN"])

A Lookup may be shared between threads. Errors are TunebookError.
"""

from ._library import QuestionError, TunebookError, library_path, library_version
from ._lookup import Lookup
from ._model import Answer, Consideration, DeviceKey, Explanation, Query, Stale, Tier, Value

__all__ = [
    "Answer",
    "Consideration",
    "DeviceKey",
    "Explanation",
    "Lookup",
    "Query",
    "QuestionError",
    "Stale",
    "Tier",
    "TunebookError",
    "Value",
    "library_path",
    "library_version",
]
