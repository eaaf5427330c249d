"""Questions and answers."""

from __future__ import annotations

import enum
from dataclasses import dataclass, field
from typing import Any, Dict, Iterator, List, Mapping, Optional, Tuple, Union

Value = Union[int, bool, str]
"""A problem dimension's or a parameter's value."""


class Tier(enum.Enum):
    """How an answer matched its question, best first."""

    EXACT = "exact"
    PREDICTED = "predicted"
    NEAR = "near"
    SAME_ARCHITECTURE = "same_architecture"
    FAR = "far"
    SHIPPED = "shipped"
    DEFAULT = "default"


class Stale(enum.Enum):
    """Whether the kernel has changed since it was tuned; unknown if the question gave no hash."""

    NO = "no"
    YES = "yes"
    UNKNOWN = "unknown"


def _member(properties: Any, names: Tuple[str, ...]) -> Any:
    """The first of the names that the object or mapping has, else None."""
    for name in names:
        if isinstance(properties, Mapping):
            if name in properties:
                return properties[name]
        elif hasattr(properties, name):
            return getattr(properties, name)
    return None


@dataclass(frozen=True)
class DeviceKey:
    """The identity of a device and its limits. Empty or 0: not known, and not compared."""

    kind: str = "cuda"
    name: str = ""
    compute_capability: int = 0
    instruction_set: str = ""
    sm_count: int = 0
    memory_gib: int = 0
    host_compiler: str = ""
    max_threads_per_block: int = 0
    shared_bytes_per_block_optin: int = 0
    registers_per_block: int = 0

    @classmethod
    def from_torch(cls, properties: Any) -> DeviceKey:
        """From torch.cuda.get_device_properties(index). Limits that this version of torch does not tell stay open."""
        return cls.from_properties(properties)

    @classmethod
    def from_properties(cls, properties: Any) -> DeviceKey:
        """From an object or mapping with the members of cudaDeviceProp (cupy, cuda-python) or those of torch."""

        def number(*names: str) -> int:
            found = _member(properties, names)
            return 0 if found is None else int(found)

        name = _member(properties, ("name",))
        if name is None or _member(properties, ("major",)) is None:
            raise TypeError("expected device properties with at least name, major and minor")
        text = name.split(b"\0")[0].decode(errors="replace") if isinstance(name, bytes) else str(name)
        gib = 1 << 30
        return cls(
            kind="cuda",
            name=text,
            compute_capability=number("major") * 10 + number("minor"),
            sm_count=number("multiProcessorCount", "multi_processor_count"),
            memory_gib=(number("totalGlobalMem", "total_memory") + gib // 2) // gib,
            max_threads_per_block=number("maxThreadsPerBlock", "max_threads_per_block"),
            shared_bytes_per_block_optin=number("sharedMemPerBlockOptin", "shared_memory_per_block_optin"),
            registers_per_block=number("regsPerBlock", "regs_per_block"),
        )


@dataclass(frozen=True)
class Query:
    """A question. Categorical dimensions that are missing take their default."""

    kernel: str
    problem: Mapping[str, Value]
    device: DeviceKey = field(default_factory=DeviceKey)
    kernel_hash: str = ""
    objective: str = "time"
    method: str = "cold"


@dataclass(frozen=True)
class Answer(Mapping[str, Value]):
    """A configuration and how it is known. A mapping of its parameters: answer["BM"], dict(answer)."""

    configuration: Mapping[str, Value]
    """In declared order."""
    tier: Tier
    distance: float
    """Euclidean, of the log2 of the sizes; 0 for exact and default."""
    problem: Optional[Mapping[str, Value]]
    """The tuned problem; for predicted, the nearest one; None for default."""
    device: Optional[DeviceKey]
    """Where it was tuned; None for default."""
    stale: Stale
    median_us: Optional[float]
    """Of one launch, on that problem and device."""
    ci_us: Optional[Tuple[float, float]]
    """95 % interval of the median."""
    session: str
    tuned_at_utc: str
    kernel_hash: str
    objective: str
    method: str
    registers_per_thread: Optional[int]
    shared_bytes: Optional[int]
    """Static and dynamic, of one block."""
    expected_loss: Optional[float] = None
    """Share lost against the best configuration of the asked problem: 0.05 means that the best takes 0.95 of its time. None: not known."""
    loss_bound: Optional[float] = None
    """Eighty percent of such questions lose at most this share. None: not known."""
    predicted_us: Optional[float] = None
    """Of one launch, on the asked problem; predicted only."""
    source: str = ""
    """The file name of the book that answered; shipped only."""
    shipped_tier: Optional[Tier] = None
    """How that book's answer matched; shipped only."""

    def __getitem__(self, parameter: str) -> Value:
        return self.configuration[parameter]

    def __iter__(self) -> Iterator[str]:
        return iter(self.configuration)

    def __len__(self) -> int:
        return len(self.configuration)

    @classmethod
    def _from_json(cls, json: Dict[str, Any]) -> Answer:
        """From the library's text. A tier of None (a candidate that belongs to none) reads as default."""
        device = json["device"]
        interval = json["ci_us"]
        return cls(
            configuration=json["configuration"],
            tier=Tier(json["tier"] or "default"),
            distance=float(json["distance"]),
            problem=json["problem"],
            device=None if device is None else DeviceKey(**device),
            stale=Stale(json["stale"]),
            median_us=json["median_us"],
            ci_us=None if interval is None else (float(interval[0]), float(interval[1])),
            session=json["session"],
            tuned_at_utc=json["tuned_at_utc"],
            kernel_hash=json["kernel_hash"],
            objective=json["objective"],
            method=json["method"],
            registers_per_thread=json["registers_per_thread"],
            shared_bytes=json["shared_bytes"],
            expected_loss=json["expected_loss"],
            loss_bound=json["loss_bound"],
            predicted_us=json["predicted_us"],
            source=json["source"] or "",
            shipped_tier=Tier(json["shipped_tier"]) if json["shipped_tier"] else None,
        )


@dataclass(frozen=True)
class Consideration:
    """A candidate, and why it is not the answer."""

    candidate: Answer
    tier: Optional[Tier]
    """None: ruled out before any tier."""
    obstacle: str
    """"none" for the answer itself, else "constraint", "limit", "other device", ..."""
    reason: str
    """In words, with numbers."""


@dataclass(frozen=True)
class Explanation:
    """What best() considers, tier by tier in the order of preference."""

    answer: Optional[Answer]
    considered: List[Consideration]
    left_out: int
    """Candidates beyond the asked number."""

    @classmethod
    def _from_json(cls, json: Dict[str, Any]) -> Explanation:
        considered = [
            Consideration(
                candidate=Answer._from_json(one["candidate"]),
                tier=None if one["tier"] is None else Tier(one["tier"]),
                obstacle=one["obstacle"],
                reason=one["reason"],
            )
            for one in json["considered"]
        ]
        answer = json["answer"]
        return cls(None if answer is None else Answer._from_json(answer), considered, int(json["left_out"]))
