#!/usr/bin/env python3
"""Draws the output of a terminal as SVG. It reads the output of the demo from standard input, and writes the picture to standard output.

    Examples/demo.sh | Scripts/terminal_svg.py [--parts 1,3,5:1] >Documentation/demo.svg

Texts that differ between runs (ports, temporary folders, dates) are replaced by fixed ones, so the picture changes only if the output
does. It follows the reader's light or dark colors.
"""

import argparse
import html
import re
import sys
import textwrap

COLUMNS = 98
CHARACTER, LINE = 7.83, 19  # of the font at 13 pixels
PADDING, BAR = 18, 34
ALL = 1000

# Replacements for texts that differ between runs.
NORMALISED = [
    (re.compile(r"http://127\.0\.0\.1:\d+"), "http://127.0.0.1:8080"),
    (re.compile(r"127\.0\.0\.1:\d+"), "127.0.0.1:8080"),
    (re.compile(r"[^\s'\"]*/tmp\.\w+(/home)?"), "~/demo"),
    (re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ"), "2026-11-22T09:30:00Z"),
    (re.compile(r"\{length = \d+, bytes = [^}]*\}"), "{length = 1872, bytes = 0x41434354… }"),
]

STYLE = """
    .back { fill: #ffffff; stroke: #d0d7de }
    .bar { fill: #f6f8fa }
    text { font: 13px ui-monospace, SFMono-Regular, Menlo, Consolas, "DejaVu Sans Mono", monospace; white-space: pre; fill: #1f2328 }
    .title { font-weight: 600; fill: #0550ae }
    .prompt { fill: #1a7f37 }
    .dim { fill: #59636e }
    .dot { fill: #d0d7de }
    @media (prefers-color-scheme: dark) {
      .back { fill: #0d1117; stroke: #3d444d }
      .bar { fill: #161b22 }
      text { fill: #e6edf3 }
      .title { fill: #79c0ff }
      .prompt { fill: #56d364 }
      .dim { fill: #9198a1 }
      .dot { fill: #3d444d }
    }
"""


def parts(lines, wanted):
    """The lines of the requested parts, each with its heading and the requested number of commands."""
    kept, part, commands = [], None, 0
    for line in lines:
        if heading := re.match(r"(\d+)\. (.*)", line):
            part, commands = int(heading[1]), 0
            line = f"# {heading[2]}"
        elif line.startswith("The demo is complete."):
            part = None
        commands += line.startswith("$ ")
        if part is None or not line or commands > (wanted.get(part, 0) if wanted else ALL):
            continue
        if wanted and part not in wanted:
            continue
        if line.startswith("# ") and kept:
            kept.append("")
        kept.append(line)
    return kept


def rows(line):
    """The rows of a line. Each row is a list of texts with their classes."""
    if line.startswith("# "):
        return [[("title", line)]]
    if re.match(r"\(.*\)$", line):
        return [[("dim", line)]]
    is_command = line.startswith("$ ")
    text = line[2:] if is_command else line
    # Indent the continuation lines of a command.
    pieces = textwrap.wrap(text, COLUMNS - 4, break_on_hyphens=False, drop_whitespace=False) or [""]
    pieces = [pieces[0], *(piece.lstrip() for piece in pieces[1:])]
    if not is_command:
        return [[("", piece)] for piece in pieces]
    return [[("prompt", "$ "), ("", pieces[0])]] + [[("", "    " + piece)] for piece in pieces[1:]]


def svg(lines):
    drawn = [row for line in lines for row in rows(line)]
    width = round(COLUMNS * CHARACTER + 2 * PADDING)
    height = BAR + len(drawn) * LINE + PADDING + 6
    out = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" role="img" '
        'aria-labelledby="title">',
        '  <title id="title">A terminal: signed in, offline, refreshed, and signed out by the service</title>',
        f"  <style>{STYLE}  </style>",
        f'  <rect class="back" x="0.5" y="0.5" width="{width - 1}" height="{height - 1}" rx="8"/>',
        f'  <path class="bar" d="M1 {BAR - 6} V9 a8 8 0 0 1 8 -8 H{width - 9} a8 8 0 0 1 8 8 V{BAR - 6} Z"/>',
    ]
    out += [f'  <circle class="dot" cx="{PADDING + 4 + 18 * n}" cy="{(BAR - 5) / 2}" r="5"/>' for n in range(3)]
    y = BAR + LINE - 5
    for row in drawn:
        if any(text for _, text in row):
            spans = "".join(
                f'<tspan class="{kind}">{html.escape(text)}</tspan>' if kind else html.escape(text) for kind, text in row)
            out.append(f'  <text x="{PADDING}" y="{y}" xml:space="preserve">{spans}</text>')
        y += LINE
    return "\n".join([*out, "</svg>"])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--parts", default="", help="the parts to draw, such as 1,3:2 for the first, and the first two commands of the third")
    arguments = parser.parse_args()
    text = re.sub(r"\x1b\[[0-9;]*m", "", sys.stdin.read())
    for pattern, replacement in NORMALISED:
        text = pattern.sub(replacement, text)
    wanted = {}
    for part in filter(None, arguments.parts.split(",")):
        number, _, commands = part.partition(":")
        wanted[int(number)] = int(commands or ALL)
    lines = parts(text.splitlines(), wanted)
    if not lines:
        sys.exit("the input has no numbered part: did the demo run?")
    print(svg(lines))


if __name__ == "__main__":
    main()
