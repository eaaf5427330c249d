"""Tests of the Python module: unittest, with $TUNEBOOK_LIBRARY and $TUNEBOOK_TEST_BOOK (tests/data/books/version_1.db)."""

import json
import math
import os
import subprocess
import sys
import tempfile
import threading
import unittest
from pathlib import Path
from types import SimpleNamespace

import tunebook

BOOK = os.environ["TUNEBOOK_TEST_BOOK"]
SPEC = (Path(os.environ["TUNEBOOK_TEST_TEMPLATES"]) / "matmul" / "kernel.json").read_text()
CPU = tunebook.DeviceKey(kind="cpu")


class Best(unittest.TestCase):
    def test_exact(self):
        with tunebook.Lookup(BOOK) as book:
            answer = book.best("vector_add", {"n": 4096}, CPU)
        self.assertIs(answer.tier, tunebook.Tier.EXACT)
        self.assertEqual(answer.distance, 0)
        self.assertEqual(answer.problem, {"n": 4096})
        self.assertEqual(answer.device.name, "AMD EPYC")
        self.assertIs(answer.stale, tunebook.Stale.UNKNOWN)
        self.assertEqual(len(answer.session), 32)
        self.assertGreater(answer.median_us, 0)
        self.assertLessEqual(answer.ci_us[0], answer.median_us)
        self.assertEqual(dict(answer), answer.configuration)
        self.assertIsInstance(answer["BLOCK_SIZE"], int)
        self.assertEqual(list(answer), list(answer.configuration))

    def test_near_far_and_the_cap(self):
        with tunebook.Lookup(BOOK) as book:
            near = book.best("vector_add", {"n": 8192}, CPU)
            far = book.best("vector_add", {"n": 1 << 20}, CPU)
        self.assertIs(near.tier, tunebook.Tier.NEAR)
        self.assertEqual(near.distance, 1)
        self.assertIs(far.tier, tunebook.Tier.FAR)
        self.assertEqual(far.distance, 8)
        with tunebook.Lookup(BOOK, near_cap=math.inf) as book:
            self.assertIs(book.best("vector_add", {"n": 1 << 20}, CPU).tier, tunebook.Tier.NEAR)

    def test_stale(self):
        with tunebook.Lookup(BOOK) as book:
            found = book.best("vector_add", {"n": 4096}, CPU)
            same = book.best("vector_add", {"n": 4096}, CPU, kernel_hash=found.kernel_hash)
            other = book.best(tunebook.Query("vector_add", {"n": 4096}, CPU, kernel_hash="0123"))
        self.assertIs(same.stale, tunebook.Stale.NO)
        self.assertIs(other.stale, tunebook.Stale.YES)

    def test_no_answer(self):
        with tunebook.Lookup(BOOK) as book:
            self.assertIsNone(book.best("softmax", {"n": 1}, CPU))

    def test_without_a_book(self):
        with tunebook.Lookup(specs=[SPEC]) as book:
            answer = book.best("matmul", {"m": 100, "n": 200, "k": 300}, tunebook.DeviceKey(compute_capability=90))
        self.assertIs(answer.tier, tunebook.Tier.DEFAULT)
        self.assertIsNone(answer.problem)
        self.assertIsNone(answer.device)
        self.assertIsNone(answer.median_us)
        self.assertEqual(dict(answer), json.loads(SPEC)["presets"]["k_slices"])  # chosen by the problem

    def test_a_repeated_question_gives_the_same_object(self):
        with tunebook.Lookup(BOOK) as book:
            first = book.best("vector_add", {"n": 4096}, CPU)
            self.assertIs(book.best("vector_add", {"n": 4096}, CPU), first)
            self.assertEqual(book.best("vector_add", {"n": 8192}, CPU).distance, 1)
            self.assertIs(book.best("vector_add", {"n": 4096}, CPU), first)

    def test_misses_are_recorded(self):
        with tempfile.TemporaryDirectory() as folder:
            misses = Path(folder) / "misses.jsonl"
            with tunebook.Lookup(BOOK, record_misses=misses) as book:
                book.best("vector_add", {"n": 4096}, CPU)
                book.best("vector_add", {"n": 8192}, CPU)
            lines = [json.loads(line) for line in misses.read_text().splitlines()]
        self.assertEqual([line["problem"]["n"] for line in lines], [8192])

    def test_explain(self):
        with tunebook.Lookup(BOOK) as book:
            explanation = book.explain("vector_add", {"n": 4096}, CPU)
            cut = book.explain("vector_add", {"n": 4096}, CPU, most=0)
        self.assertIs(explanation.answer.tier, tunebook.Tier.EXACT)
        self.assertEqual(explanation.considered[0].obstacle, "none")
        self.assertEqual(explanation.considered[0].candidate, explanation.answer)
        self.assertEqual(cut.considered, [])


class Errors(unittest.TestCase):
    def test_a_missing_book(self):
        with self.assertRaisesRegex(tunebook.TunebookError, "/nonexistent/book.db"):
            tunebook.Lookup("/nonexistent/book.db")

    def test_bad_questions(self):
        with tunebook.Lookup(BOOK) as book:
            with self.assertRaisesRegex(tunebook.QuestionError, "width"):
                book.best("vector_add", {"n": 1, "width": 2}, CPU)
            with self.assertRaisesRegex(ValueError, "n"):
                book.best("vector_add", {}, CPU)
            for bad in (1.5, True, None, -1, 1 << 63):
                with self.assertRaises(tunebook.QuestionError, msg=repr(bad)):
                    book.best("vector_add", {"n": bad}, CPU)
            with self.assertRaises(tunebook.QuestionError):
                book.best("vector\0add", {"n": 1}, CPU)
            with self.assertRaises(TypeError):
                book.best("vector_add")

    def test_bad_options(self):
        for options in ({"near_cap": -1}, {"near_cap": math.nan}, {"refresh_interval_s": -1}, {"refresh_interval_s": math.inf}):
            with self.assertRaises(tunebook.QuestionError, msg=str(options)):
                tunebook.Lookup(BOOK, **options)
        with self.assertRaises(tunebook.TunebookError):
            tunebook.Lookup(specs=["{"])

    def test_closed(self):
        book = tunebook.Lookup(BOOK)
        answer = book.best("vector_add", {"n": 4096}, CPU)
        book.close()
        book.close()
        with self.assertRaisesRegex(tunebook.TunebookError, "closed"):
            book.best("vector_add", {"n": 4096}, CPU)
        self.assertEqual(answer.problem, {"n": 4096})

    def test_a_library_that_is_not_there(self):
        environment = dict(os.environ, TUNEBOOK_LIBRARY="/nonexistent/libtunebook.so")
        program = "import tunebook\ntry:\n tunebook.Lookup('x')\nexcept tunebook.TunebookError as error: print(error)"
        output = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=True).stdout
        self.assertIn("TUNEBOOK_LIBRARY", output)
        self.assertIn("/nonexistent/libtunebook.so", output)


class Threads(unittest.TestCase):
    def test_many_threads_ask_one_book(self):
        problems = [4096, 8192, 5000, 1 << 20]
        with tunebook.Lookup(BOOK) as book:
            expected = {n: book.best("vector_add", {"n": n}, CPU) for n in problems}
            wrong = []

            def ask():
                for i in range(200):
                    n = problems[i % len(problems)]
                    if book.best("vector_add", {"n": n}, CPU) != expected[n]:
                        wrong.append(n)

            threads = [threading.Thread(target=ask) for _ in range(4)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
        self.assertEqual(wrong, [])

    def test_closing_while_others_ask(self):
        book = tunebook.Lookup(BOOK)
        unexpected = []

        def ask():
            try:
                while True:
                    book.best("vector_add", {"n": 4096}, CPU)
            except tunebook.TunebookError as error:
                if "closed" not in str(error):
                    unexpected.append(error)

        threads = [threading.Thread(target=ask) for _ in range(4)]
        for thread in threads:
            thread.start()
        book.close()
        for thread in threads:
            thread.join()
        self.assertEqual(unexpected, [])


class Devices(unittest.TestCase):
    def test_from_torch(self):
        properties = SimpleNamespace(
            name="NVIDIA H200", major=9, minor=0, multi_processor_count=132, total_memory=150 * 10**9, shared_memory_per_block_optin=232448
        )
        self.assertEqual(
            tunebook.DeviceKey.from_torch(properties),
            tunebook.DeviceKey(
                name="NVIDIA H200", compute_capability=90, sm_count=132, memory_gib=140, shared_bytes_per_block_optin=232448
            ),
        )

    def test_from_cuda_properties(self):
        properties = {
            "name": b"NVIDIA A100\0\0", "major": 8, "minor": 0, "multiProcessorCount": 108, "totalGlobalMem": 80 << 30,
            "maxThreadsPerBlock": 1024, "sharedMemPerBlockOptin": 166912, "regsPerBlock": 65536,
        }
        key = tunebook.DeviceKey.from_properties(properties)
        self.assertEqual((key.name, key.compute_capability, key.memory_gib), ("NVIDIA A100", 80, 80))
        self.assertEqual((key.max_threads_per_block, key.shared_bytes_per_block_optin, key.registers_per_block), (1024, 166912, 65536))
        with self.assertRaises(TypeError):
            tunebook.DeviceKey.from_properties(object())


if __name__ == "__main__":
    unittest.main()
