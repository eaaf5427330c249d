"""The worked example of db/models.md, from the bytes that the page describes to the answer, through the C library."""

import json
import math
import sqlite3
import struct
import tempfile
import unittest
from pathlib import Path

import tunebook

SCHEMA = Path(__file__).resolve().parents[3] / "db" / "schema.sql"
APPLICATION_ID, SCHEMA_VERSION = 0x54424F4B, 5
CPU = tunebook.DeviceKey(kind="cpu", name="here")
LEAF = -1

SPEC = {
    "tunebook": 1, "kernel": "row", "summary": "for tests", "source": "kernel.cu", "entry": "row", "instantiate": ["B"],
    "problem": {"n": {"default": 64}},
    "parameters": {"B": {"values": [64, 128, 256]}},
    "constraints": ["n % 2 == 0 or B > 64"],
    "presets": {"default": {"B": 128}},
    "launch": {"block": ["B"], "grid": ["ceil_div(n, B)"]},
    "arguments": [{"name": "x", "type": "f32*", "count": "n", "access": "out"}],
    "reference": {"source": "reference.cu", "entry": "reference", "block": ["256"], "grid": ["ceil_div(n, 256)"]},
    "tolerance": {"f32": {"rel": "0", "abs": "1"}},
    "work": {"bytes": "8 * n"},
}
FEATURES = ["n", "B", "n / B"]
NODES = [(2, 8.0, 1), (LEAF, 0, 104858), (LEAF, 0, 20972), (1, 128.0, 4), (LEAF, 0, 52429), (LEAF, 0, 0)]
CANDIDATES = [1, 0, 2]  # B = 128, 64, 256
ANCHORS = [(512, 4.0, 0), (4096, 30.0, 2)]
LOSS = [(0.5, 0.02, 0.04, 0.03, 8), (math.inf, 0.05, 0.11, 0.09, 9)]
# Of these bytes, XXH3 of 128 bits.
CONTENT_HASH = "3d6e6fd859c01c9cca6a1a84a9969e72"


def count(value):
    out = bytearray()
    while value >= 128:
        out.append(value & 127 | 128)
        value >>= 7
    out.append(value)
    return bytes(out)


def number(value):
    return count(value * 2 if value >= 0 else -value * 2 - 1)


def text(value):
    return count(len(value)) + value.encode()


def f64(value):
    return struct.pack("<d", value)


def body():
    """The example's model, as db/models.md says that it is written."""
    out = text("") + text("cold/2")
    out += count(len(FEATURES)) + b"".join(map(text, FEATURES))
    out += count(2) + count(0) + count(3)
    out += count(len(NODES))
    for at, (feature, threshold, rest) in enumerate(NODES):
        out += count(feature + 1)
        out += number(rest) if feature == LEAF else struct.pack("<f", threshold) + count(rest - at)
    out += number(10486)
    out += count(len(CANDIDATES)) + b"".join(count(value) + number(-1) + number(-1) + number(2) for value in CANDIDATES)
    out += count(len(ANCHORS)) + b"".join(count(0) + number(n) + f64(us) + count(which) for n, us, which in ANCHORS)
    out += count(len(LOSS)) + b"".join(b"".join(map(f64, bin[:4])) + number(bin[4]) for bin in LOSS)
    out += number(100) + text("2026-12-01T00:00:00.000000Z")
    return b"TBTM" + struct.pack("<IQ", 1, 16 + len(out)) + out


def write_book(path, content=None):
    """A book that has a kernel, a device and the model, and nothing tuned."""
    device = {"kind": "cpu", "name": "here", "compute_capability": 0}
    book = sqlite3.connect(path)
    book.executescript(SCHEMA.read_text())
    book.execute(f"PRAGMA application_id = {APPLICATION_ID}")
    book.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")
    book.execute("INSERT INTO kernel VALUES (1, 'row', 'hash-1', ?)", (json.dumps(SPEC),))
    book.execute("INSERT INTO device VALUES (1, 'here', 'cpu', 'here', 0, '', 1, 1, '', ?)", (json.dumps(device),))
    book.execute(
        "INSERT INTO model VALUES (1, 1, 1, '', 'cold/2', 1, ?, ?, 100, 2, 'here', '2026-12-01T00:00:00.000000Z')",
        (bytes.fromhex(CONTENT_HASH), body() if content is None else content),
    )
    book.commit()
    book.close()


class Models(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.path = Path(self.folder.name) / "book.db"
        self.addCleanup(self.folder.cleanup)

    def test_the_page_s_example(self):
        write_book(self.path)
        with tunebook.Lookup(self.path) as book:
            answer = book.best("row", {"n": 1000}, CPU)
        self.assertIs(answer.tier, tunebook.Tier.PREDICTED)
        self.assertEqual(dict(answer), {"B": 64})
        self.assertEqual(answer.problem, {"n": 512})
        self.assertEqual(answer.distance, math.log2(1000 / 512))
        self.assertEqual((answer.expected_loss, answer.loss_bound), (0.05, 0.11))
        self.assertEqual(answer.predicted_us, 4 * (8000 / 4096) / (1 - 83887 / 2**20))
        self.assertEqual(round(answer.predicted_us, 3), 8.492)
        self.assertIsNone(answer.median_us)
        self.assertEqual((answer.kernel_hash, answer.method, answer.source), ("hash-1", "cold/2", ""))

    def test_constraints_and_ties(self):
        write_book(self.path)
        with tunebook.Lookup(self.path) as book:
            # Of an odd n, B = 64 is excluded; 128 and 256 have the same score, and 128 comes first.
            answer = book.best("row", {"n": 999}, CPU)
            self.assertEqual((answer.tier, answer["B"]), (tunebook.Tier.PREDICTED, 128))
            near = book.best("row", {"n": 600}, CPU)
            self.assertEqual((near.problem, near.expected_loss, near.loss_bound), ({"n": 512}, 0.02, 0.04))

    def test_ranked(self):
        write_book(self.path)
        with tunebook.Lookup(self.path) as book:
            ranked = book.ranked("row", {"n": 1000}, CPU, count=5)
            self.assertEqual([answer["B"] for answer in ranked], [64, 128, 256])
            self.assertEqual(ranked[0], book.best("row", {"n": 1000}, CPU))
            self.assertEqual([answer["B"] for answer in book.ranked("row", {"n": 1000}, CPU, count=2)], [64, 128])
            self.assertEqual(book.ranked("row", {"n": 1000}, CPU, count=0), [])
            self.assertEqual(book.ranked("unknown", {"n": 1000}, CPU), [])
            for bad in (-1, 1 << 40):
                with self.assertRaises(tunebook.QuestionError):
                    book.ranked("row", {"n": 1000}, CPU, count=bad)
            with self.assertRaises(tunebook.QuestionError):
                book.ranked("row", {"width": 1000}, CPU)

    def test_a_damaged_model_is_passed_over(self):
        damaged = bytearray(body())
        damaged[40] ^= 1
        write_book(self.path, bytes(damaged))
        with tunebook.Lookup(self.path) as book:
            self.assertIs(book.best("row", {"n": 1000}, CPU).tier, tunebook.Tier.DEFAULT)
            reasons = [one.reason for one in book.explain("row", {"n": 1000}, CPU).considered]
        self.assertTrue(any("tunebook learn" in reason for reason in reasons), reasons)

    def test_a_shipped_book(self):
        write_book(self.path)
        empty = Path(self.folder.name) / "empty.db"
        book = sqlite3.connect(empty)
        book.executescript(SCHEMA.read_text())
        book.execute(f"PRAGMA application_id = {APPLICATION_ID}")
        book.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")
        book.commit()
        book.close()
        missing = Path(self.folder.name) / "missing.db"
        with tunebook.Lookup(empty, shipped_books=[missing, self.path]) as book:
            answer = book.best("row", {"n": 1000}, CPU)
        self.assertIs(answer.tier, tunebook.Tier.SHIPPED)
        self.assertIs(answer.shipped_tier, tunebook.Tier.PREDICTED)
        self.assertEqual(answer.source, "book.db")
        self.assertEqual(answer["B"], 64)


if __name__ == "__main__":
    unittest.main()
