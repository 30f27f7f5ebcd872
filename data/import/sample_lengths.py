"""Published lengths of samples, thinned -> data/lengths/*.csv.

usage: sample_lengths.py LENGTHS.csv OUT.csv FIRST,SECOND EVERY

Keeps the two columns named FIRST and SECOND of every EVERY-th row, beginning with the first, in the
order of the file: where tasks stand one after the other, each keeps its share.
"""

import csv
import sys


def main():
    if len(sys.argv) != 5:
        sys.exit(__doc__)
    source, out, columns, every = sys.argv[1:]
    first, second = columns.split(",")
    with open(source, encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))[:: int(every)]
    with open(out, "w", encoding="utf-8") as file:
        file.write(f"{first},{second}\n")
        for row in rows:
            file.write(f"{row[first]},{row[second]}\n")


if __name__ == "__main__":
    main()
