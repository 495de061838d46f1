"""The options of `kube32-sim preview` that ask what would make a pod fit, and how many would."""

from __future__ import annotations

import argparse

EXAMPLES = (
    "  %(prog)s -f app.yaml --explain web-2               # what would make this pod fit\n"
    "  %(prog)s --explain web-2                           # the same of a pod of the cluster that is Pending\n"
    "  %(prog)s -f app.yaml --how-many                    # how many more of it fit now\n"
    "  %(prog)s -f app.yaml --how-many --survive node     # and also if any one node is lost"
)


def add_questions(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--explain",
        default=None,
        metavar="POD",
        help="tell the smallest changes with which this pod would fit; without -f, a Pending one of the cluster",
    )
    parser.add_argument(
        "--how-many",
        action="store_true",
        help="tell how many more of these pods fit, beside all that are there; of several, in proportion",
    )
    parser.add_argument(
        "--count",
        type=_count,
        action="append",
        default=[],
        metavar="NAME=N",
        help="with --how-many: so many are wanted of this object, whatever its replicas are",
    )
    parser.add_argument(
        "--survive",
        choices=("node", "zone"),
        metavar="WHAT",
        help="tell whether all pods still fit when any one node, or zone, is lost; with --how-many, how many more",
    )


def _count(text: str) -> tuple[str, int]:
    name, _, number = text.rpartition("=")
    if not name or not (number.isascii() and number.isdigit()) or len(number) > 5:
        raise argparse.ArgumentTypeError(f"{text!r} is not NAME=N, such as web=50, with N from 0 to 50000")
    if int(number) > 50_000:
        raise argparse.ArgumentTypeError(f"{text!r}: more than 50000 pods")
    return name, int(number)
