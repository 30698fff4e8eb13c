"""Measure how long it takes to decide whether patterns overlap."""

from __future__ import annotations

import random

from bench.measure import Row, Section, at_most, blocks, median, percentile
from dibs.core.patterns.lookup import PatternIndex
from dibs.core.patterns.pattern import overlap, parse

SEED = 20_261


def _pattern(draw: random.Random) -> str:
    folder = f"src/pkg{draw.randrange(40)}"
    name = f"mod_{draw.randrange(400)}"
    shapes = (
        f"{folder}/{name}.py", f"{folder}/*.py", f"{folder}/**", f"**/{name}*.py", f"src/*/{name}.py",
        f"{folder}/{{a,b,{name}}}.py", "src/**/test_*[0-9].py", f"{folder}/?{name}*",
    )  # fmt: skip
    return draw.choice(shapes)


def pairs() -> Section:
    """Time the overlap check of two parsed patterns."""
    draw = random.Random(SEED)
    pool = [parse(_pattern(draw)) for _ in range(600)]
    both = [(draw.choice(pool), draw.choice(pool)) for _ in range(20_000)]
    for a, b in both:
        overlap(a, b)
    samples = blocks({"pair": lambda n: overlap(*both[n])}, rounds=1, each=len(both))["pair"]
    hostile = parse("*a*a*a*a*a*a*a*b"), parse("*a*a*a*a*a*a*a*c")
    worst = blocks({"worst": lambda _: overlap(*hostile)}, rounds=1, each=2000)["worst"]
    texts = [f"src/auth/login_{n}.py" for n in range(2000)]
    cold = blocks({"parse": lambda n: parse(texts[n])}, rounds=1, each=2000)["parse"]
    rows = [
        at_most("overlap of two parsed patterns, p50", median(samples) * 1e6, 5, " µs"),
        Row("same, p99", f"{percentile(samples, 0.99) * 1e6:.2f} µs"),
        Row("hostile pair `*a*a*…b` / `*a*a*…c`, p50", f"{median(worst) * 1e6:.2f} µs"),
        Row("parse a literal path, cold, p50", f"{median(cold) * 1e6:.2f} µs"),
    ]
    return Section(
        "Overlap", "Correctness is covered by tests/core/patterns/test_overlap.py.", rows
    )


def _held(count: int) -> PatternIndex:
    """Return an index with ten patterns in each folder: eight literal paths and two globs."""
    index = PatternIndex()
    for n in range(count):
        folder = f"src/pkg{n // 100}/sub{n // 10 % 10}"
        text = f"{folder}/mod_{n}.py" if n % 5 else f"{folder}/part_{n}_*.py"
        index.add(str(n), parse(text))
    return index


def lookup() -> Section:
    """Time the search for overlaps among few and many claimed patterns."""
    few, many = _held(10), _held(10_000)
    literals = [parse(f"src/pkg0/sub0/free_{n}.py") for n in range(2000)]
    wide = [parse("**/*.rs"), parse("**/test_zz*.py"), parse("docs/**")]
    samples = blocks(
        {
            "few": lambda n: list(few.overlapping(literals[n])),
            "many": lambda n: list(many.overlapping(literals[n])),
        },
        rounds=20,
        each=100,
    )
    globs = blocks({"wide": lambda n: list(many.overlapping(wide[n % 3]))}, rounds=1, each=300)
    ratio = median(samples["many"]) / median(samples["few"])
    rows = [
        Row("literal path among 10 claims, p50", f"{median(samples['few']) * 1e6:.2f} µs"),
        Row("literal path among 10,000 claims, p50", f"{median(samples['many']) * 1e6:.2f} µs"),
        at_most("10,000 claims / 10 claims", ratio, 1.5),
        at_most("wide glob among 10,000 claims, p50", median(globs["wide"]) * 1e3, 1, " ms"),
    ]
    return Section(
        "In-memory index",
        "Ten claims in each folder, 80 % literal paths and 20 % globs; nothing overlaps.",
        rows,
    )
