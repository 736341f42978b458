"""Masking one long text, by alphabet: `python benchmarks/long_texts.py [--bytes 890000]`.

Each text holds an e-mail address at its end, so that it takes the slow path; the ratio is that to
the same number of bytes in English. The least of several runs is the figure to trust.
"""

import argparse
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from reviewer.trace.redaction import Redactor

TEXTS = {
    "English": "The size of the passage was chosen, except above the offices. ",
    "German": "Die Größe des Übergangs wählt man – außer über Ämtern. ",
    "Russian": "Размер прохода выбирают везде, кроме как над конторами. ",
    "Chinese": "通道的大小由人选择，办公室上方除外。",
    "Persian, joiners": "می\u200cخواهم این متن را بخوانم. ",
    "Arabic, digits": "هذا نص عربي طويل من سنة ٢٠٢٤ إلى ٢٠٢٦. ",
    "soft hyphens": "Über\u00adgangs\u00adgröße und Wahl\u00admöglich\u00adkeit. ",
    "full width": "ＡＢＣ１２３、漢字とかな。",
    "emoji": "ok 👩\u200d💻 done ⚠️ ",
}


def seconds(redactor: Redactor, text: str, times: int) -> float:
    best = float("inf")
    for _ in range(times):
        started = time.perf_counter()
        redactor.mask(text)
        best = min(best, time.perf_counter() - started)
    return best


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--bytes", type=int, default=890_000)
    parser.add_argument("--times", type=int, default=3)
    asked = parser.parse_args()
    redactor = Redactor()
    redactor.mask("warm up: bob@corp.example, token=9f8e7d6c5b4a")
    english = 0.0
    print("| text | MB | s | ÷ English |\n|---|---|---|---|")
    for name, part in TEXTS.items():
        text = part * (asked.bytes // len(part.encode())) + "write to bob@corp.example"
        took = seconds(redactor, text, asked.times)
        english = english or took
        print(f"| {name} | {len(text.encode()) / 1e6:.2f} | {took:.2f} | {took / english:.1f} |")


if __name__ == "__main__":
    main()
