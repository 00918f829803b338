"""Collects results and writes them as Markdown."""

from measure import duration


class Report:
    def __init__(self):
        self.targets = []
        self.sections = []

    def target(self, what, demand, measured, met):
        """Adds a row of the targets. `measured` and `met` are `None` if a required program is missing."""
        self.targets.append((what, demand, measured or "not measured: see below", {True: "met", False: "**missed**", None: "–"}[met]))

    def at_most(self, what, ratio, limit, base):
        """Adds a target for a ratio; `None` means that the peer is missing."""
        if ratio is None:
            return self.target(what, f"≤ {round(limit, 2)}× {base}", None, None)
        return self.target(what, f"≤ {round(limit, 2)}× {base}", str(ratio), ratio.median <= limit)

    def section(self, title, text, columns, rows):
        self.sections.append((title, text, columns, rows))

    def missed(self):
        return [f"{what}: {demand}, measured {measured}" for what, demand, measured, met in self.targets if "missed" in met]

    def markdown(self, head):
        lines = ["# Benchmark results", "", "Written by `make bench`; the [README](README.md) describes the measurements.", ""]
        lines += table(("", ""), head)
        lines += [
            "", "Each figure is the median of the rounds of one run, followed by the smallest and the largest round. Only the ratios "
            "are meaningful for other machines.", "", "## Targets", ""]
        lines += table(("what", "target", "measured", ""), self.targets)
        for title, text, columns, rows in self.sections:
            lines += ["", f"## {title}", ""]
            if text:
                lines += [text, ""]
            lines += table(columns, rows)
        return "\n".join(lines) + "\n"


def table(columns, rows):
    def line(cells):
        return "| " + " | ".join(str(cell) for cell in cells) + " |"

    return [line(columns), line("---" for _ in columns), *(line(row) for row in rows)]


def time(values):
    """The median of the rounds, as text."""
    ordered = sorted(values)
    return duration(ordered[len(ordered) // 2])
