"""A tree over its sentence, with the level of each word below it as a heat strip: an SVG, made without libraries."""

from collections.abc import Iterable, Sequence
from xml.sax.saxutils import escape

from tasks.language_modeling.trees import Span

# Sizes in pixels.
MARGIN = 24
FONT = 15
CHARACTER = 8.6  # width that a character of this font hardly exceeds
GAP = 14  # between words
NARROWEST = 46  # of a word, so that its level fits below it
STEP = 22  # between a constituent and the highest of its parts
STRIP = 26  # height of the heat strip
LABEL = 52  # width of what stands left of it
PALE, DARK = (236, 243, 250), (8, 64, 129)  # colours of the lowest and the highest level of the sentence


def draw_tree(tokens: Sequence[str], spans: Iterable[Span], levels: Sequence[float], title: str) -> str:
    """The picture of a tree as SVG; the same for the same arguments.

    spans: constituents of two words or more; levels: d_f of each token, printed in its field and, by colour, placed
    between the lowest and the highest of the sentence.
    """
    widths = [max(NARROWEST, len(token) * CHARACTER) for token in tokens]
    lefts = [MARGIN + LABEL + sum(widths[:i]) + i * GAP for i in range(len(tokens))]
    centres = [left + width / 2 for left, width in zip(lefts, widths, strict=True)]
    nodes = sorted({(0, len(tokens)), *spans}, key=lambda span: (span[1] - span[0], span))
    places, lines = _place_nodes(nodes, centres)
    top = MARGIN + 34
    baseline = top + STEP * max((height for _, height in places.values()), default=1)
    width = max(lefts[-1] + widths[-1] + MARGIN, 2 * MARGIN + len(title) * CHARACTER)
    height = baseline + 32 + STRIP + MARGIN
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0f}" height="{height:.0f}" '
        f'viewBox="0 0 {width:.0f} {height:.0f}" font-family="Helvetica, Arial, \'DejaVu Sans\', sans-serif">',
        f'<rect width="{width:.0f}" height="{height:.0f}" fill="white"/>',
        f'<text x="{MARGIN}" y="{MARGIN + 6}" font-size="{FONT - 1}" fill="#555">{escape(title)}</text>',
        *(_branch(line, baseline) for line in lines),
        *(_word(token, centre, baseline + 20) for token, centre in zip(tokens, centres, strict=True)),
        *_heat_strip(levels, lefts, widths, baseline + 32),
        "</svg>",
    ]
    return "\n".join(parts) + "\n"


Point = tuple[float, float]  # x, and height above the words in steps


def _place_nodes(
    nodes: Sequence[Span], centres: Sequence[float]
) -> tuple[dict[Span, Point], list[tuple[Point, Point]]]:
    """Where constituents stand, and the lines to their parts; nodes: the smaller ones first."""
    roots: list[tuple[Span, Point]] = [((i, i + 1), (x, 0.0)) for i, x in enumerate(centres)]
    places: dict[Span, Point] = {}
    lines = []
    for begin, end in nodes:
        if end - begin < 2:
            continue
        inside = [place for span, place in roots if begin <= span[0] and span[1] <= end]
        place = ((inside[0][0] + inside[-1][0]) / 2, 1 + max(height for _, height in inside))
        lines += [(place, child) for child in inside]
        roots = [root for root in roots if not (begin <= root[0][0] and root[0][1] <= end)]
        roots = sorted([*roots, ((begin, end), place)])
        places[begin, end] = place
    return places, lines


def _branch(line: tuple[Point, Point], baseline: float) -> str:
    """From a constituent sideways, then down to a part."""
    (x, height), (part_x, part_height) = line
    y, part_y = baseline - STEP * height, baseline - STEP * part_height
    return (
        f'<path d="M{x:.1f} {y:.1f}H{part_x:.1f}V{part_y:.1f}" fill="none" stroke="#333" stroke-width="1.4" '
        'stroke-linejoin="round" stroke-linecap="round"/>'
    )


def _word(token: str, x: float, y: float) -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" font-size="{FONT}" text-anchor="middle" fill="black">{escape(token)}</text>'


def _heat_strip(levels: Sequence[float], lefts: Sequence[float], widths: Sequence[float], y: float) -> list[str]:
    low, high = min(levels), max(levels)
    middle = y + STRIP / 2 + 4
    parts = [f'<text x="{MARGIN}" y="{middle:.1f}" font-size="{FONT - 2}" fill="#555">level</text>']
    for level, left, width in zip(levels, lefts, widths, strict=True):
        share = (level - low) / (high - low) if high > low else 0.0
        colour = "#" + "".join(f"{round(a + (b - a) * share):02x}" for a, b in zip(PALE, DARK, strict=True))
        ink = "white" if share > 0.5 else "#222"
        parts.append(
            f'<rect x="{left - GAP / 2:.1f}" y="{y:.1f}" width="{width + GAP:.1f}" height="{STRIP}" fill="{colour}"/>'
        )
        parts.append(
            f'<text x="{left + width / 2:.1f}" y="{middle:.1f}" font-size="{FONT - 3}" text-anchor="middle" '
            f'fill="{ink}">{level:.3f}</text>'
        )
    return parts
