#!/usr/bin/env python3
"""Draws a terminal's screen as SVG. It reads the screen from standard input, and writes the picture to standard output.

    Examples/picture.sh | Scripts/terminal_svg.py --squeeze --title TEXT >Documentation/demo.svg

The screen is text with the escape sequences for colors, such as the output of `tmux capture-pane -e`. Of these, the picture shows bold,
faint, red, green and yellow. It follows the reader's light or dark colors.

Texts that differ between runs (ports, temporary folders, dates, identifiers) are replaced by fixed ones, so the picture changes only if
the output does. The parameters of a sign-in address, most of which are random, are replaced by an ellipsis.
"""

import argparse
import html
import itertools
import re
import sys

CHARACTER, LINE = 7.83, 19  # of the font at 13 pixels
PADDING, BAR = 18, 34
INDENTATION = 4  # of the continuation lines of a command
GAP = 7  # above a command, if there are no blank lines

# Replacements for texts that differ between runs.
NORMALISED = [
    (re.compile(r"http://127\.0\.0\.1:\d+"), "http://127.0.0.1:8080"),
    (re.compile(r"127\.0\.0\.1:\d+"), "127.0.0.1:8080"),
    (re.compile(r"(/authorize\?response_type=code&client_id=)[^\s\x1b]+"), r"\1…"),
    (re.compile(r"[^\s'\"\x1b]*/tmp\.\w+(/home)?"), "~/demo"),
    (re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ"), "2026-11-22T09:30:00Z"),
]
IDENTIFIER = re.compile(r"\b[0-9a-f]{32}\b")
SEQUENCE = re.compile(r"\x1b\[([0-9;]*)m")
OTHER_SEQUENCE = re.compile(r"\x1b(\[[0-9;?]*[A-Za-ln-z]|[()][A-Z0-9]|[=>])|[\x0e\x0f]")

# SGR parameters (ECMA-48, section 8.3.117): the aspect that they set, and its value.
ASPECTS = {
    1: ("weight", "bold"), 2: ("weight", "dim"), 22: ("weight", ""),
    31: ("color", "red"), 32: ("color", "green"), 33: ("color", "yellow"), 39: ("color", ""),
    91: ("color", "red"), 92: ("color", "green"), 93: ("color", "yellow"),
}

STYLE = """
    .back { fill: #ffffff; stroke: #d0d7de }
    .bar { fill: #f6f8fa }
    text { font: 13px ui-monospace, SFMono-Regular, Menlo, Consolas, "DejaVu Sans Mono", monospace; white-space: pre; fill: #1f2328 }
    .bold { font-weight: 600 }
    .green { fill: #1a7f37 }
    .yellow { fill: #9a6700 }
    .red { fill: #cf222e }
    .dim { fill: #59636e }
    .dot { fill: #d0d7de }
    @media (prefers-color-scheme: dark) {
      .back { fill: #0d1117; stroke: #3d444d }
      .bar { fill: #161b22 }
      text { fill: #e6edf3 }
      .green { fill: #56d364 }
      .yellow { fill: #e3b341 }
      .red { fill: #ff7b72 }
      .dim { fill: #9198a1 }
      .dot { fill: #3d444d }
    }
"""


def normalised(text):
    for pattern, replacement in NORMALISED:
        text = pattern.sub(replacement, text)
    known = {}
    # The golden ratio spreads the digits of the identifiers.
    numbers = (f"{n * 0x9E3779B97F4A7C15F39CC0605CEDC835 % 2**128:032x}" for n in itertools.count(1))
    return IDENTIFIER.sub(lambda match: known.setdefault(match[0], next(numbers)), text)


def screen(text):
    """The lines of the screen. A line is a list of characters with their classes."""
    lines = []
    style = {"weight": "", "color": ""}
    for line in OTHER_SEQUENCE.sub("", text).splitlines():
        cells = []
        pieces = SEQUENCE.split(line)
        for index, piece in enumerate(pieces):
            if index % 2 == 0:
                classes = " ".join(filter(None, style.values()))
                cells += [(character, classes) for character in piece]
                continue
            for parameter in (int(number or 0) for number in piece.split(";")):
                if parameter == 0:
                    style = {"weight": "", "color": ""}
                elif parameter in ASPECTS:
                    aspect, value = ASPECTS[parameter]
                    style[aspect] = value
        while cells and cells[-1][0] == " ":
            cells.pop()
        lines.append(with_comment(cells))
    while lines and (not lines[-1] or plain(lines[-1]) == "$"):
        lines.pop()
    return lines


def plain(cells):
    return "".join(character for character, _ in cells)


def with_comment(cells):
    """A command's comment is dim."""
    comment = re.match(r"\$ (?:.*\s)?(#.*)", plain(cells))
    if not comment:
        return cells
    return cells[: comment.start(1)] + [(character, "dim") for character, _ in cells[comment.start(1) :]]


def rows(cells, columns):
    """The rows of a line that is wrapped between words, if possible."""
    indentation = [(" ", "")] * (INDENTATION if plain(cells).startswith("$ ") else 0)
    while len(cells) > columns:
        end = plain(cells).rfind(" ", len(indentation) + 1, columns + 1)
        end = end if end > 0 else columns
        yield cells[:end]
        rest = cells[end:]
        cells = indentation + list(itertools.dropwhile(lambda cell: cell[0] == " ", rest))
    yield cells


def svg(lines, columns, title, gap):
    drawn, bottom = [], BAR - 5
    for line in lines:
        bottom += gap if drawn and plain(line).startswith("$ ") else 0
        for row in rows(line, columns):
            bottom += LINE
            drawn.append((bottom, row))
    width, height = round(columns * CHARACTER + 2 * PADDING), bottom + PADDING
    out = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" role="img" '
        'aria-labelledby="title">',
        f'  <title id="title">{html.escape(title)}</title>',
        f"  <style>{STYLE}  </style>",
        f'  <rect class="back" x="0.5" y="0.5" width="{width - 1}" height="{height - 1}" rx="8"/>',
        f'  <path class="bar" d="M1 {BAR - 6} V9 a8 8 0 0 1 8 -8 H{width - 9} a8 8 0 0 1 8 8 V{BAR - 6} Z"/>',
    ]
    out += [f'  <circle class="dot" cx="{PADDING + 4 + 18 * n}" cy="{(BAR - 5) / 2}" r="5"/>' for n in range(3)]
    for y, row in drawn:
        if row:
            spans = ""
            for kind, group in itertools.groupby(row, key=lambda cell: cell[1]):
                text = html.escape(plain(group))
                spans += f'<tspan class="{kind}">{text}</tspan>' if kind else text
            out.append(f'  <text x="{PADDING}" y="{y}" xml:space="preserve">{spans}</text>')
    return "\n".join([*out, "</svg>"])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--columns", type=int, default=104, help="the width of the terminal (default: 104)")
    parser.add_argument("--squeeze", action="store_true", help="omit blank lines, and leave space above each command")
    parser.add_argument("--exact", action="store_true", help="show the texts that differ between runs, too")
    parser.add_argument("--title", default="A terminal", help="the title of the picture, for screen readers")
    arguments = parser.parse_args()
    text = sys.stdin.read()
    lines = screen(text if arguments.exact else normalised(text))
    if arguments.squeeze:
        lines = [line for line in lines if line]
    if not lines:
        sys.exit("the input is empty: did the command run?")
    print(svg(lines, arguments.columns, arguments.title, GAP if arguments.squeeze else 0))


if __name__ == "__main__":
    main()
