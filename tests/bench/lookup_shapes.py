"""The shapes that lookup_quality.py asks for: a stated generator, the same for the same seed."""

import math
import random

ODD_SHARE = 0.35
GIB = 1 << 30

# Sizes from, to; `small` for the cpu device. A problem is redrawn while it needs more than `flops`
# operations, or a buffer of it more than `elements` numbers. `box`: sizes whose product stays small
# enough without that, so that a sweep can cover them.
KERNELS = {
    "matmul:f32": {
        "kernel": "matmul", "dtype": "f32", "flops": 3e11, "elements": GIB / 8,
        "sizes": {"m": (16, 16384), "n": (16, 16384), "k": (16, 16384)},
        "box": {"m": (16, 4096), "n": (16, 4096), "k": (16, 4096)},
        "small": {"m": (8, 200), "n": (8, 200), "k": (8, 200)}},
    "matmul:bf16": {
        "kernel": "matmul", "dtype": "bf16", "flops": 1e12, "elements": GIB / 4,
        "sizes": {"m": (1, 16384), "n": (16, 16384), "k": (16, 16384)},
        "box": {"m": (1, 4096), "n": (16, 4096), "k": (16, 4096)},
        "small": {"m": (1, 150), "n": (8, 150), "k": (8, 150)}},
    "softmax:f32": {
        "kernel": "softmax", "dtype": "f32", "elements": GIB / 8,
        "sizes": {"m": (32, 16384), "n": (64, 131072)},
        "box": {"m": (32, 8192), "n": (64, 16384)},
        "small": {"m": (4, 128), "n": (16, 4096)}},
    "layer_norm:bf16": {
        "kernel": "layer_norm", "dtype": "bf16", "elements": GIB / 4,
        "sizes": {"m": (32, 16384), "n": (64, 131072)},
        "box": {"m": (32, 8192), "n": (64, 16384)},
        "small": {"m": (4, 128), "n": (16, 4096)}},
    "rms_norm:bf16": {
        "kernel": "rms_norm", "dtype": "bf16", "elements": GIB / 4,
        "sizes": {"m": (32, 16384), "n": (64, 131072)},
        "box": {"m": (32, 8192), "n": (64, 16384)},
        "small": {"m": (4, 128), "n": (16, 4096)}},
    "transpose:f32": {
        "kernel": "transpose", "dtype": "f32", "elements": GIB / 8,
        "sizes": {"m": (128, 16384), "n": (128, 16384)},
        "box": {"m": (128, 8192), "n": (128, 8192)},
        "small": {"m": (16, 512), "n": (16, 512)}},
    "reduce:f32": {
        "kernel": "reduce", "dtype": "f32", "elements": GIB / 4,
        "sizes": {"n": (1024, GIB // 4)},
        "box": {"n": (1024, GIB // 4)},
        "small": {"n": (256, 1 << 18)}},
    "conv2d_nchw:f32": {
        "kernel": "conv2d_nchw", "dtype": "f32", "flops": 2e11, "elements": GIB / 16,
        "sizes": {"images": (1, 64), "channels": (3, 512), "h": (7, 224), "w": (7, 224),
                  "filters": (16, 512)},
        "box": {"images": (1, 16), "channels": (3, 256), "h": (7, 112), "w": (7, 112),
                "filters": (16, 256)},
        "small": {"images": (1, 2), "channels": (1, 16), "h": (5, 28), "w": (5, 28),
                  "filters": (4, 32)}},
    # What serving a language model asks for: m tokens of no pattern; n and k of the layers of
    # Llama 3.1 8B, Qwen 2.5 7B and Gemma 2 9B (queries with keys and values, output, gate with
    # up, down).
    "llm": {
        "kernel": "matmul", "dtype": "bf16", "sizes": {"m": (1, 8192)}, "small": {"m": (1, 64)},
        "layers": [(6144, 4096), (4096, 4096), (28672, 4096), (4096, 14336),
                   (4608, 3584), (3584, 3584), (37888, 3584), (3584, 18944),
                   (8192, 3584), (3584, 4096), (28672, 3584), (3584, 14336)],
        "small_layers": [(96, 64), (64, 64), (224, 64), (64, 112), (72, 56), (56, 56)]},
}


# Shapes.

def draw_size(rng, low, high, odd):
    """Log-uniform in [low, high]; `odd`: no multiple of 8, else one, where the bounds have one."""
    for _ in range(1000):
        value = round(math.exp(rng.uniform(math.log(low), math.log(high))))
        if not odd and high >= 8:
            value = 8 * max(1, round(value / 8))
        if low <= value <= high and (odd == (value % 8 != 0) or high < 8):
            return value
    return low


def too_large(row, shape):
    sizes = list(shape.values())
    if row["kernel"] == "matmul":
        m, n, k = shape["m"], shape["n"], shape["k"]
        flops, elements = 2 * m * n * k, max(m * k, k * n, m * n)
    elif row["kernel"] == "conv2d_nchw":
        pixels = shape["images"] * shape["h"] * shape["w"]
        flops = 18 * pixels * shape["channels"] * shape["filters"]
        elements = pixels * max(shape["channels"], shape["filters"])
    else:
        flops, elements = 0, math.prod(sizes)
    return flops > row.get("flops", math.inf) or elements > row.get("elements", math.inf)


def limits(row):
    """The same as conditions of a plan's region."""
    if row["kernel"] == "matmul":
        texts = [f"2 * m * n * k <= {row['flops']:.0f}"] if "flops" in row else []
        if "elements" in row:
            texts += [f"{x} * {y} <= {row['elements']:.0f}" for x, y in ("mk", "kn", "mn")]
        return texts
    if row["kernel"] == "conv2d_nchw":
        pixels = "images * h * w"
        return [f"18 * {pixels} * channels * filters <= {row['flops']:.0f}",
                f"{pixels} * max(channels, filters) <= {row['elements']:.0f}"]
    product = " * ".join(row["sizes"])
    return [f"{product} <= {row['elements']:.0f}"] if len(row["sizes"]) > 1 else []


def draw_shapes(name, seed, count, sizes_of):
    """So many different shapes in an order of no pattern: the first are tuned, the others asked.

    `sizes_of`: "sizes", "box" or "small".
    """
    row = KERNELS[name]
    rng = random.Random(f"{name} {seed}")
    sizes = row.get(sizes_of, row["sizes"])
    layers = row.get("small_layers" if sizes_of == "small" else "layers")
    shapes = []
    while len(shapes) < count:
        if layers:  # tokens come in any number
            low, high = sizes["m"]
            shape = {"m": round(math.exp(rng.uniform(math.log(low), math.log(high))))}
            shape["n"], shape["k"] = layers[len(shapes) % len(layers)]
        else:
            shape = {size: draw_size(rng, low, high, rng.random() < ODD_SHARE)
                     for size, (low, high) in sizes.items()}
        if not too_large(row, shape) and shape not in shapes:
            shapes.append(shape)
    rng.shuffle(shapes)
    return shapes


def shape_text(row, shape):
    sizes = ",".join(f"{size}={value}" for size, value in shape.items())
    return f"{sizes},dtype={row['dtype']}"
