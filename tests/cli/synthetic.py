"""A matrix made by hand: what pages look like must not change with the tables."""

from __future__ import annotations

import datetime as dt

from cli.matrix.grid import Grid, grid_of
from compat import Answer, Case, Change, Finding, Image, Matrix, Pool, Remedy, Severity, Verdict, read_host
from compat.values.fact import Fact
from fleet.courses import Usage, UsingCourse

DOCS = "https://docs.example.org/toolkit/release-notes.html (Table 3) ; github:example/driver CHANGELOG.md"
FLOOR = Fact("CUDA 12.4 asks for driver 525.60.13", DOCS, "2026-11-20")
HERE = Fact("as given", "the case", "")


def answer(verdict: Verdict, *findings: Finding, remedy: Remedy | None = None) -> Answer:
    return Answer("", verdict, findings, remedy)


def pool(name: str, **fields: str) -> Pool:
    return Pool(name, read_host(Case(**fields)))


RUNS = answer(Verdict.COMPATIBLE, Finding("R-MINOR", Severity.NOTE, "driver 535.54.03 runs every CUDA 12.x", FLOOR))
SLOW = answer(
    Verdict.WITH_WARNING,
    Finding("R-PTX", Severity.WARN, "has only PTX: the first start takes minutes & more", FLOOR, ("layer 3",)),
)
OPEN = answer(Verdict.UNKNOWN, Finding("R-FRAMEWORK", Severity.UNKNOWN, "it is not known which build it is", HERE))
FAILS = answer(
    Verdict.INCOMPATIBLE,
    Finding("R-MINOR", Severity.REFUSE, "CUDA 12.4 needs driver 525.60.13 or newer; this one is <418.88>", FLOOR),
    Finding("R-BACK", Severity.REFUSE, "driver 418.88 is older than 550.54.14", FLOOR),
    Finding("R-ARCH", Severity.NOTE, "CUDA 12.4 makes code for the GPU", FLOOR),
    remedy=Remedy(
        "Use CUDA 10.1, or use driver 525.60.13 or newer.",
        (Change("cuda", "12.4", "10.1"), Change("build", "", "cu101")),
    ),
)
NOTHING = answer(Verdict.COMPATIBLE)

IMAGES = (
    Image("teaching", (Case(framework="torch", framework_version="2.6.0+cu124"), Case(cuda="12.4"))),
    Image("<script>alert(1)</script>", (Case(image="registry.example.org/a|b:1"),)),
    Image("docs", ()),
)
POOLS = (
    pool("old", gpu="GTX 1080 Ti", driver="418.88", host="kubernetes", container_toolkit="1.7.0"),
    pool("new", gpu="Tesla T4", driver="535.54.03", host="kubernetes", container_toolkit="1.17.8"),
    pool("cloud", instance_type="g5.xlarge"),
)
CELLS = ((FAILS, RUNS, OPEN), (SLOW, SLOW, FAILS), (NOTHING, NOTHING, NOTHING))

INTRO = UsingCourse("intro", "Intro & more", 180, dt.date(2027, 3, 31))
DEEP = UsingCourse("deep", "Deep learning", 1, dt.date(2027, 3, 31))
LESSON = Usage("teaching", "profile", "gpu", "lab", courses=(INTRO, DEEP))
USES = {
    ("teaching", "old"): (LESSON, Usage("teaching", "job", "nightly")),
    ("teaching", "new"): (LESSON,),
    ("docs", "new"): (Usage("docs", "hub", "lab"),),
}


def grid() -> Grid:
    """Three images on three pools, with every kind of cell."""
    answers = {
        (image.name, pool.name): cell
        for image, row in zip(IMAGES, CELLS, strict=True)
        for pool, cell in zip(POOLS, row, strict=True)
    }
    names = tuple(image.name for image in IMAGES), tuple(pool.name for pool in POOLS)
    return grid_of("fall: which image runs where", IMAGES, POOLS, Matrix(*names, answers), USES)


def big_grid(rows: int, columns: int) -> Grid:
    """Many of both."""
    images = [Image(f"image-{index}", (Case(cuda="12.4"),)) for index in range(rows)]
    pools = [pool(f"pool-{index}", gpu="Tesla T4", driver="535.54.03") for index in range(columns)]
    kinds = (RUNS, SLOW, OPEN, FAILS)
    answers = {
        (image.name, pool.name): kinds[(row * 7 + column * 3) % len(kinds)]
        for row, image in enumerate(images)
        for column, pool in enumerate(pools)
    }
    names = tuple(image.name for image in images), tuple(pool.name for pool in pools)
    return grid_of("big", images, pools, Matrix(*names, answers))


def many_that_run(columns: int) -> Grid:
    """One image that simply runs on every pool, each time for a reason of its own."""
    pools = [pool(f"pool-{index}", gpu="Tesla T4", driver="535.54.03") for index in range(columns)]
    answers = {
        ("image", pool.name): answer(
            Verdict.COMPATIBLE, Finding("R-ARCH", Severity.NOTE, f"has code for GPU {index}", FLOOR)
        )
        for index, pool in enumerate(pools)
    }
    images = [Image("image", (Case(cuda="12.4"),))]
    return grid_of("fine", images, pools, Matrix(("image",), tuple(pool.name for pool in pools), answers))
