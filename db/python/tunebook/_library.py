"""libtunebook.so: how it is found, its functions, its errors."""

from __future__ import annotations

import ctypes
import ctypes.util
import os
import threading
from ctypes import POINTER, c_char_p, c_double, c_int32, c_int64, c_size_t, c_void_p
from pathlib import Path
from typing import Any, Dict, List, Optional, Tuple

ABI_VERSION = 1

OK = 0
NO_ANSWER = 1
INVALID_ARGUMENT = 2


class TunebookError(Exception):
    """What went wrong and what to do: the book, the library, a question."""


class QuestionError(TunebookError, ValueError):
    """A question that no known version of the kernel understands, or a value out of range."""


# Result and arguments of each function that is used.
_FUNCTIONS: Dict[str, Tuple[Any, List[Any]]] = {
    "tunebook_abi_version": (c_int32, []),
    "tunebook_version": (c_char_p, []),
    "tunebook_last_error": (c_char_p, []),
    "tunebook_options_new": (c_void_p, []),
    "tunebook_options_free": (None, [c_void_p]),
    "tunebook_options_set_near_cap": (c_int32, [c_void_p, c_double]),
    "tunebook_options_set_refresh_interval_ms": (c_int32, [c_void_p, c_int64]),
    "tunebook_options_set_record_misses": (c_int32, [c_void_p, c_char_p]),
    "tunebook_options_set_record_misses_per_second": (c_int32, [c_void_p, c_int32]),
    "tunebook_options_add_spec": (c_int32, [c_void_p, c_char_p]),
    "tunebook_options_add_shipped_book": (c_int32, [c_void_p, c_char_p]),
    "tunebook_options_set_no_book": (c_int32, [c_void_p, c_int32]),
    "tunebook_options_set_kept_questions": (c_int32, [c_void_p, c_int64]),
    "tunebook_open": (c_int32, [c_char_p, c_void_p, POINTER(c_void_p)]),
    "tunebook_close": (None, [c_void_p]),
    "tunebook_query_new": (c_void_p, [c_char_p]),
    "tunebook_query_free": (None, [c_void_p]),
    "tunebook_query_set_size": (c_int32, [c_void_p, c_char_p, c_int64]),
    "tunebook_query_set_category": (c_int32, [c_void_p, c_char_p, c_char_p]),
    "tunebook_query_set_device_text": (c_int32, [c_void_p, c_int32, c_char_p]),
    "tunebook_query_set_device_int": (c_int32, [c_void_p, c_int32, c_int64]),
    "tunebook_query_set_kernel_hash": (c_int32, [c_void_p, c_char_p]),
    "tunebook_query_set_objective": (c_int32, [c_void_p, c_char_p]),
    "tunebook_query_set_method": (c_int32, [c_void_p, c_char_p]),
    "tunebook_answer_new": (c_void_p, []),
    "tunebook_answer_free": (None, [c_void_p]),
    "tunebook_answer_same": (c_int32, [c_void_p, c_void_p]),
    "tunebook_best": (c_int32, [c_void_p, c_void_p, c_void_p]),
    "tunebook_ranked": (c_int32, [c_void_p, c_void_p, c_size_t, POINTER(c_void_p), POINTER(c_size_t)]),
    "tunebook_explain": (c_int32, [c_void_p, c_void_p, c_int64, POINTER(c_void_p)]),
    "tunebook_answer_json": (c_int32, [c_void_p, POINTER(c_void_p)]),
    "tunebook_text_free": (None, [c_void_p]),
}

_lock = threading.Lock()
_loaded: Optional[ctypes.CDLL] = None
_path = ""


def _candidates() -> List[str]:
    named = os.environ.get("TUNEBOOK_LIBRARY")
    if named:
        return [named]  # what was asked for, or an error: never another one
    here = Path(__file__).resolve().parent
    beside = [here / "libtunebook.so.1", here / "libtunebook.so"]
    found = [str(path) for path in beside if path.exists()]
    by_loader = ctypes.util.find_library("tunebook")
    return found + ["libtunebook.so.1"] + ([by_loader] if by_loader else [])


def _load() -> Tuple[ctypes.CDLL, str]:
    problems: List[str] = []
    for candidate in _candidates():
        try:
            loaded = ctypes.CDLL(candidate)
            for name, (result, arguments) in _FUNCTIONS.items():
                function = getattr(loaded, name)
                function.restype = result
                function.argtypes = arguments
        except (OSError, AttributeError) as error:
            problems.append(f"{candidate}: {error}")
            continue
        version = int(loaded.tunebook_abi_version())
        if version == ABI_VERSION:
            return loaded, candidate
        problems.append(f"{candidate}: ABI version {version}, this module speaks {ABI_VERSION}")
    raise TunebookError(
        "libtunebook.so.1 was not found: set TUNEBOOK_LIBRARY to the file, or install it where the loader looks ("
        + "; ".join(problems)
        + ")"
    )


def library() -> ctypes.CDLL:
    """The library, loaded with the first use."""
    global _loaded, _path
    with _lock:
        if _loaded is None:
            _loaded, _path = _load()
        return _loaded


def library_path() -> str:
    """The library that is used, as it was found. Raises TunebookError if there is none."""
    library()
    return _path


def library_version() -> str:
    """The library's version, such as "0.1.0"."""
    return bytes(library().tunebook_version()).decode()


def check(status: int) -> int:
    """The status, if it is no error; else raises what the library says."""
    if status in (OK, NO_ANSWER):
        return status
    message = bytes(library().tunebook_last_error()).decode(errors="replace")
    raise (QuestionError if status == INVALID_ARGUMENT else TunebookError)(message)


def encode(text: str, what: str) -> bytes:
    """Text for the library, which ends texts at a zero byte."""
    if "\0" in text:
        raise QuestionError(f"{what}: a zero character in {text!r}")
    return text.encode(errors="surrogateescape")


def take_text(pointer: ctypes.c_void_p) -> str:
    """A text that the library gave away."""
    try:
        return ctypes.string_at(pointer.value or 0).decode(errors="replace")
    finally:
        library().tunebook_text_free(pointer)
