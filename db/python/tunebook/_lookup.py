"""The book, opened read-only."""

from __future__ import annotations

import ctypes
import json
import math
import os
import threading
from collections import OrderedDict
from contextlib import contextmanager
from types import TracebackType
from typing import Iterator, List, Mapping, Optional, Sequence, Tuple, Type, Union

from ._library import NO_ANSWER, QuestionError, TunebookError, check, encode, library, take_text
from ._model import Answer, DeviceKey, Explanation, Query, Value

_DEVICE_TEXTS = (("kind", 0), ("name", 1), ("instruction_set", 2), ("host_compiler", 3))
_DEVICE_NUMBERS = (
    ("compute_capability", 16),
    ("sm_count", 17),
    ("memory_gib", 18),
    ("max_threads_per_block", 19),
    ("shared_bytes_per_block_optin", 20),
    ("registers_per_block", 21),
)
_INT64_MOST = (1 << 63) - 1
# Questions that a thread keeps ready to be asked again.
_KEPT_QUESTIONS = 256
# Ranked configurations that one call gives: beyond this, a count is a typing error.
_MOST_RANKED = 1 << 16

_Key = Tuple[str, Tuple[Tuple[str, Value, bool], ...], DeviceKey, str, str, str]


def _int64(value: int, what: str) -> int:
    if not 0 <= value <= _INT64_MOST:
        raise QuestionError(f"{what}: {value} is out of range")
    return value


class _Question:
    """A question in the library's form, with the answer it had last."""

    def __init__(self, query: Query) -> None:
        lib = library()
        self._free_query = lib.tunebook_query_free
        self._free_answer = lib.tunebook_answer_free
        self.handle = lib.tunebook_query_new(encode(query.kernel, "kernel"))
        # Two answers: one is asked for while the other has what `decoded` was made from.
        self.fresh = lib.tunebook_answer_new()
        self.known = lib.tunebook_answer_new()
        self.decoded: Optional[Answer] = None
        if not (self.handle and self.fresh and self.known):
            raise MemoryError
        for name, value in query.problem.items():
            dimension = encode(name, "problem")
            if isinstance(value, str):
                check(lib.tunebook_query_set_category(self.handle, dimension, encode(value, name)))
            elif isinstance(value, bool) or not hasattr(value, "__index__"):
                raise QuestionError(f"problem: {name}={value!r} is neither a size nor a name")
            else:
                check(lib.tunebook_query_set_size(self.handle, dimension, _int64(int(value), name)))
        for name, code in _DEVICE_TEXTS:
            check(lib.tunebook_query_set_device_text(self.handle, code, encode(getattr(query.device, name), name)))
        for name, code in _DEVICE_NUMBERS:
            check(lib.tunebook_query_set_device_int(self.handle, code, _int64(getattr(query.device, name), name)))
        check(lib.tunebook_query_set_kernel_hash(self.handle, encode(query.kernel_hash, "kernel_hash")))
        check(lib.tunebook_query_set_objective(self.handle, encode(query.objective, "objective")))
        check(lib.tunebook_query_set_method(self.handle, encode(query.method, "method")))

    def __del__(self) -> None:
        for free, name in (("_free_query", "handle"), ("_free_answer", "fresh"), ("_free_answer", "known")):
            if getattr(self, name, None):
                getattr(self, free)(getattr(self, name))

    def ask(self, book: int) -> Optional[Answer]:
        lib = library()
        if check(lib.tunebook_best(book, self.handle, self.fresh)) == NO_ANSWER:
            return None
        if self.decoded is None or not lib.tunebook_answer_same(self.fresh, self.known):
            self.decoded = _decode(self.fresh)
            self.fresh, self.known = self.known, self.fresh
        return self.decoded

    def rank(self, book: int, count: int) -> List[Answer]:
        lib = library()
        answers = (ctypes.c_void_p * count)()
        found = ctypes.c_size_t()
        try:
            for i in range(count):
                answers[i] = lib.tunebook_answer_new()
                if not answers[i]:
                    raise MemoryError
            if check(lib.tunebook_ranked(book, self.handle, count, answers, ctypes.byref(found))) == NO_ANSWER:
                return []
            return [_decode(answers[i]) for i in range(found.value)]
        finally:
            for answer in answers:
                self._free_answer(answer)


def _decode(answer: Optional[int]) -> Answer:
    text = ctypes.c_void_p()
    check(library().tunebook_answer_json(answer, ctypes.byref(text)))
    return Answer._from_json(json.loads(take_text(text)))


class Lookup:
    """A book opened read-only, to be shared between threads. A context manager: close() when done."""

    def __init__(
        self,
        path: Union[str, os.PathLike[str], None] = None,
        *,
        near_cap: float = 2.0,
        refresh_interval_s: float = 1.0,
        record_misses: Union[str, os.PathLike[str], None] = None,
        record_misses_per_second: int = 100,
        specs: Sequence[str] = (),
        kept_questions: int = 4096,
        shipped_books: Sequence[Union[str, os.PathLike[str]]] = (),
    ) -> None:
        """Opens the book at `path`; None: no book, answers come from `specs` alone.

        near_cap: where the tier `near` ends, a distance. refresh_interval_s: a change of the book is seen at the latest after this
        time; 0 looks with every question. record_misses: a file to which questions that were not answered exactly are appended.
        specs: texts of kernel.json, for the tier `default` when the book does not have the kernel. shipped_books: published books that
        are asked last, before the preset; one that is missing or cannot be read is no error. Raises TunebookError.
        """
        lib = library()
        self._close = lib.tunebook_close
        self._handle: Optional[int] = None
        self._asking = 0
        self._idle = threading.Condition()
        self._local = threading.local()
        if not math.isfinite(refresh_interval_s):
            raise QuestionError("refresh_interval_s: expected a number of seconds")
        options = lib.tunebook_options_new()
        if not options:
            raise MemoryError
        try:
            check(lib.tunebook_options_set_near_cap(options, near_cap))
            check(lib.tunebook_options_set_refresh_interval_ms(options, round(refresh_interval_s * 1000)))
            if record_misses is not None:
                check(lib.tunebook_options_set_record_misses(options, encode(os.fspath(record_misses), "record_misses")))
            check(lib.tunebook_options_set_record_misses_per_second(options, record_misses_per_second))
            check(lib.tunebook_options_set_kept_questions(options, kept_questions))
            for spec in specs:
                check(lib.tunebook_options_add_spec(options, encode(spec, "spec")))
            for shipped in shipped_books:
                check(lib.tunebook_options_add_shipped_book(options, encode(os.fspath(shipped), "shipped_books")))
            check(lib.tunebook_options_set_no_book(options, 1 if path is None else 0))
            handle = ctypes.c_void_p()
            where = "" if path is None else os.fspath(path)
            check(lib.tunebook_open(encode(where, "path"), options, ctypes.byref(handle)))
            self._handle = handle.value
        finally:
            lib.tunebook_options_free(options)

    def best(
        self,
        kernel: Union[str, Query],
        problem: Optional[Mapping[str, Value]] = None,
        device: Optional[DeviceKey] = None,
        *,
        kernel_hash: str = "",
        objective: str = "time",
        method: str = "cold",
    ) -> Optional[Answer]:
        """The best configuration known, and how it matched; None if neither a winner nor a preset fits.

        Takes a Query, or its parts. A question that a thread repeats is cheap. Raises QuestionError for a problem that fits no known
        version of the kernel, TunebookError if the book cannot be read any more.
        """
        query = _query(kernel, problem, device, kernel_hash, objective, method)
        question = self._question(query)
        with self._in_use() as book:
            return question.ask(book)

    def ranked(
        self,
        kernel: Union[str, Query],
        problem: Optional[Mapping[str, Value]] = None,
        device: Optional[DeviceKey] = None,
        *,
        count: int = 3,
        kernel_hash: str = "",
        objective: str = "time",
        method: str = "cold",
    ) -> List[Answer]:
        """The first `count` different configurations for this question, the most promising first, for timing them where they run.

        The answer of best(), then what the model of time puts next, then near and far ones, then the preset. Slower than best(), and
        raises as best() does.
        """
        if not 0 <= count <= _MOST_RANKED:
            raise QuestionError(f"count: {count} is not between 0 and {_MOST_RANKED}")
        query = _query(kernel, problem, device, kernel_hash, objective, method)
        question = self._question(query)
        with self._in_use() as book:
            return question.rank(book, count)

    def explain(
        self,
        kernel: Union[str, Query],
        problem: Optional[Mapping[str, Value]] = None,
        device: Optional[DeviceKey] = None,
        *,
        kernel_hash: str = "",
        objective: str = "time",
        method: str = "cold",
        most: int = 100,
    ) -> Explanation:
        """What best() considers for this question, and why each candidate but the answer was passed over. Raises as best() does."""
        query = _query(kernel, problem, device, kernel_hash, objective, method)
        question = self._question(query)
        text = ctypes.c_void_p()
        with self._in_use() as book:
            check(library().tunebook_explain(book, question.handle, _int64(most, "most"), ctypes.byref(text)))
        return Explanation._from_json(json.loads(take_text(text)))

    def close(self) -> None:
        """Closes the book, when questions of other threads are answered. Answers stay valid; asking again raises TunebookError."""
        with self._idle:
            handle, self._handle = self._handle, None  # first, so that no new question comes in
            self._idle.wait_for(lambda: self._asking == 0)
        if handle is not None:
            self._close(handle)

    def __enter__(self) -> Lookup:
        return self

    def __exit__(
        self, kind: Optional[Type[BaseException]], error: Optional[BaseException], trace: Optional[TracebackType]
    ) -> None:
        self.close()

    def __del__(self) -> None:
        if getattr(self, "_handle", None) is not None:
            self.close()

    @contextmanager
    def _in_use(self) -> Iterator[int]:
        """The handle, which cannot be closed meanwhile."""
        with self._idle:
            if self._handle is None:
                raise TunebookError("the Lookup is closed")
            handle = self._handle
            self._asking += 1
        try:
            yield handle
        finally:
            with self._idle:
                self._asking -= 1
                self._idle.notify_all()

    def _question(self, query: Query) -> _Question:
        """This thread's prepared question, made if need be."""
        kept: Optional[OrderedDict[_Key, _Question]] = getattr(self._local, "questions", None)
        if kept is None:
            kept = self._local.questions = OrderedDict()
        # True == 1 for Python, but not for a kernel.
        problem = tuple((name, value, isinstance(value, bool)) for name, value in query.problem.items())
        key = (query.kernel, problem, query.device, query.kernel_hash, query.objective, query.method)
        question = kept.get(key)
        if question is None:
            question = kept[key] = _Question(query)
            if len(kept) > _KEPT_QUESTIONS:
                kept.popitem(last=False)
        return question


def _query(
    kernel: Union[str, Query],
    problem: Optional[Mapping[str, Value]],
    device: Optional[DeviceKey],
    kernel_hash: str,
    objective: str,
    method: str,
) -> Query:
    if isinstance(kernel, Query):
        if problem is not None or device is not None:
            raise TypeError("give a Query, or a kernel with its problem and device")
        return kernel
    if problem is None:
        raise TypeError("the problem is missing")
    return Query(kernel, problem, device if device is not None else DeviceKey(), kernel_hash, objective, method)
