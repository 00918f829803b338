"""Collects results and writes them as Markdown."""


class Report:
    def __init__(self):
        self.targets = []
        self.sections = []

    def target(self, row, measured, demand, is_met):
        self.targets.append((row, measured, demand, "yes" if is_met else "**no**"))

    def at_most(self, row, ratio, limit, base):
        """Adds a target for a ratio."""
        self.target(row, str(ratio), f"≤ {round(limit, 2)}× {base}", ratio.median <= limit)

    def section(self, title, text, columns, rows):
        self.sections.append((title, text, columns, rows))

    def missed(self):
        return [f"{row}: {measured}, target {demand}" for row, measured, demand, met in self.targets if met != "yes"]

    def markdown(self, machine):
        lines = [
            "# Benchmark results", "", "Written by `make bench`; the [README](README.md) describes the measurements.", "", "## Targets", "",
            "Each figure is the median of the rounds of one run, followed by the smallest and the largest round. Only the ratios are "
            "meaningful for other machines.", ""]
        lines += table(("row", "measured", "target", "met"), self.targets)
        for title, text, columns, rows in (("Machine", "", ("", ""), machine), *self.sections):
            lines += ["", f"## {title}", ""]
            if text:
                lines += [text, ""]
            lines += table(columns, rows)
        return "\n".join(lines) + "\n"


def table(columns, rows):
    def line(cells):
        return "| " + " | ".join(str(cell) for cell in cells) + " |"

    return [line(columns), line("---" for _ in columns), *(line(row) for row in rows)]
