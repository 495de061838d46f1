"""Prometheus' text format (https://prometheus.io/docs/instrumenting/exposition_formats/), version 0.0.4."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from kube32_sim.metrics.meters import Histogram

Number = int | float
Labels = Mapping[str, str]


def labelled(labels: Labels) -> str:
    """`a="1",b="2"`, escaped."""
    return ",".join(f'{name}="{_escaped(value)}"' for name, value in labels.items())


def _escaped(value: str) -> str:
    return value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")


def family(name: str, kind: str, about: str, samples: Iterable[tuple[str, Number]]) -> Iterator[str]:
    """Lines of a counter or gauge.  samples: (labels as `labelled` gives them, value); nothing where there is none."""
    headed = False
    for labels, value in samples:
        if not headed:
            headed = True
            yield from _head(name, kind, about)
        yield f"{name}{{{labels}}} {value}" if labels else f"{name} {value}"


def histograms(name: str, about: str, samples: Iterable[tuple[str, Histogram]]) -> Iterator[str]:
    """Lines of a histogram.  samples: (labels, histogram)."""
    headed = False
    for labels, histogram in samples:
        if not headed:
            headed = True
            yield from _head(name, "histogram", about)
        before = f"{labels}," if labels else ""
        number = 0
        for bound, count in zip(histogram.bounds, histogram.counts, strict=False):
            number += count
            yield f'{name}_bucket{{{before}le="{bound:g}"}} {number}'
        number += histogram.counts[-1]
        yield f'{name}_bucket{{{before}le="+Inf"}} {number}'
        after = f"{{{labels}}}" if labels else ""
        yield f"{name}_sum{after} {histogram.total}"
        yield f"{name}_count{after} {number}"


def _head(name: str, kind: str, about: str) -> Iterator[str]:
    yield f"# HELP {name} {about}"
    yield f"# TYPE {name} {kind}"
