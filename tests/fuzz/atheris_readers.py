"""Coverage-guided mutants of files for every reader, by atheris (libFuzzer).

    python tests/fuzz/atheris_readers.py -runs=100000

The first byte of an input says of which format the rest is a file; mutants are made by
`fuzz_mutate`, and what reaches new code is kept to be changed further. The oracle is that of
`test_fuzz_readers`: a typed refusal, quarantine or a record, in time, and no identifier kept.
Further arguments are libFuzzer's; one that is no option is a folder for the inputs worth keeping.
"""

import contextlib
import os
import random
import sys
import tempfile
from pathlib import Path

import atheris

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parents[1]), str(HERE.parent)]
os.environ["REVIEWER_DEBUG"] = "raise"

with atheris.instrument_imports(
    include=["reviewer.importing", "reviewer.trace"], enable_loader_override=False
):
    from fuzz_reading import Desk, heads, leaked
    from fuzz_samples import SAMPLES, Sample, formats, laid_out

    from reviewer.testing.mutants import Mutator

    formats()  # readers are imported when they are first asked for

MOST_BYTES = 64 << 10
MOST_S = 20.0


class Target:
    """Every sample in a folder of its own, with one store for all."""

    def __init__(self, folder: Path) -> None:
        self.desk = Desk(folder)
        self.samples: list[tuple[str, Path, bytes]] = []
        for name, samples in sorted(SAMPLES.items()):
            for number, sample in enumerate(samples):
                self._lay(name, sample, folder / f"{name}-{number}")

    def _lay(self, name: str, sample: Sample, folder: Path) -> None:
        main = laid_out(sample, folder)
        content = main.read_bytes()
        if len(content) < MOST_BYTES and len(self.samples) < 256:
            self.samples.append((name, main, content))

    def seeds(self) -> list[bytes]:
        return [bytes([number]) + one[2] for number, one in enumerate(self.samples)]

    def __call__(self, data: bytes) -> None:
        if not data:
            return
        name, main, content = self.samples[data[0] % len(self.samples)]
        main.write_bytes(data[1:])
        try:
            heads(main)
            read = self.desk.read(main, name)
        finally:
            main.write_bytes(content)
        assert not leaked(read), (name, leaked(read))
        assert read.seconds < MOST_S, (name, read.seconds)


def mutated(data: bytes, most: int, seed: int) -> bytes:
    """A mutant of a file; now and then one after another, and never of another format."""
    mutator = Mutator(seed)
    content = data[1:]
    for _ in range(random.Random(seed).choice((1, 1, 2, 4))):
        content = mutator.mutant(content)[1][: most - 1]
    return data[:1] + content


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        target = Target(Path(folder))
        seeds = Path(folder, "seeds")
        seeds.mkdir()
        for number, seed in enumerate(target.seeds()):
            (seeds / str(number)).write_bytes(seed)
        options = [one for one in sys.argv[1:] if one.startswith("-")]
        kept = [one for one in sys.argv[1:] if not one.startswith("-")]
        bounds = [f"-max_len={2 * MOST_BYTES}", "-timeout=60", "-rss_limit_mb=4096"]
        argv = ["atheris_readers", *bounds, *options, *kept, str(seeds)]
        print(f"seeds: {len(target.seeds())} files", flush=True)
        with contextlib.chdir(folder):
            atheris.Setup(argv, target, custom_mutator=mutated, enable_python_coverage=True)
            atheris.Fuzz()


if __name__ == "__main__":
    main()
