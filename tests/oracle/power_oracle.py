#!/usr/bin/env python3
"""Energy of intervals in exact fractions, from every sample of a stream, lost ones included. Shares nothing with the program.

Standard input: JSON with
  volt: [offset, gain], ampere: [offset, gain], ohm            doubles as hex floats
  cell: ticks of a sample; edge: ticks of the begin of the first sample's cell
  runs: [[count, v, i], ...]                                    codes; consecutive equal samples as one run
  lost: [[first, last), ...]                                    sample indices that no block carried
  intervals: [[begin, end], ...]                                ticks
Standard output: mean power of each interval in watts as a fraction "n/d". Power of a sample is (V - I R) I; a mean weighs each
sample's cell by its overlap with the interval; where an edge lies in a lost stretch, that stretch has its own mean throughout."""
import json
import sys
from fractions import Fraction


def main():
    case = json.load(sys.stdin)
    v0, v1 = (Fraction(float.fromhex(x)) for x in case["volt"])
    i0, i1 = (Fraction(float.fromhex(x)) for x in case["ampere"])
    ohm = Fraction(float.fromhex(case["ohm"]))
    cell, edge = case["cell"], case["edge"]

    def power(v, i):
        current = i0 + i1 * i
        return (v0 + v1 * v - current * ohm) * current

    # Pieces of constant power in ticks; runs are cut at the edges of lost stretches.
    cuts = sorted({index for pair in case["lost"] for index in pair})
    pieces, index = [], 0
    for count, v, i in case["runs"]:
        end = index + count
        for stop in [c for c in cuts if index < c < end] + [end]:
            pieces.append([index, stop, power(v, i)])
            index = stop
    for first, last in case["lost"]:
        inside = [p for p in pieces if first <= p[0] and p[1] <= last]
        mean = sum(p[2] * (p[1] - p[0]) for p in inside) / (last - first)
        for p in inside:
            p.append(mean)
    out = []
    for begin, end in case["intervals"]:
        total, time = Fraction(0), 0
        for p in pieces:
            first, last = edge + p[0] * cell, edge + p[1] * cell
            overlap = min(last, end) - max(first, begin)
            if overlap <= 0:
                continue
            # Whole lost stretches keep their samples; both ways give the same there.
            total += (p[3] if len(p) > 3 else p[2]) * overlap
            time += overlap
        mean = total / time
        out.append(f"{mean.numerator}/{mean.denominator}")
    json.dump(out, sys.stdout)


if __name__ == "__main__":
    main()
