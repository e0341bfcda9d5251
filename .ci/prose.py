#!/usr/bin/env python3
"""Sentences of the documentation are short: none has more than 40 words, and a page has fewer than 20 on average."""

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent
WORDS_MAX, MEAN_MAX = 40, 20


def sentences(text):
    """The sentences of a page: those of paragraphs and of items of lists, without code, tables and headings."""
    text = re.sub(r"^```.*?^```", "", text, flags=re.DOTALL | re.MULTILINE)
    for paragraph in re.split(r"\n\s*\n|\n(?=\s*[-*] |\s*\d+\. )", text):
        lines = [line for line in paragraph.splitlines() if not re.match(r"\s*[|#]|    |\t", line)]
        plain = " ".join(line.strip().lstrip("-* ") for line in lines)
        plain = re.sub(r"`[^`]*`", "CODE", plain)
        plain = re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", plain)
        plain = re.sub(r"\([^()]*\)", "", plain)
        yield from (sentence.split() for sentence in re.split(r"(?<=[.!?])\s+", plain) if sentence.strip())


def complaints(path):
    found = [sentence for sentence in sentences(path.read_text(encoding="utf-8"))]
    for sentence in found:
        if len(sentence) > WORDS_MAX:
            yield f"{path.relative_to(ROOT)}: a sentence of {len(sentence)} words: {' '.join(sentence[:12])} …"
    mean = sum(map(len, found)) / max(len(found), 1)
    if mean >= MEAN_MAX:
        yield f"{path.relative_to(ROOT)}: {mean:.1f} words a sentence on average"


def main():
    listed = subprocess.run(["git", "ls-files", "*.md"], cwd=ROOT, capture_output=True, text=True, check=True)
    pages = [ROOT / name for name in listed.stdout.split()]
    wrong = [complaint for page in pages for complaint in complaints(page)]
    print("\n".join(wrong) or f"the sentences of {len(pages)} pages are short")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
