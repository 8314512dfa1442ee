"""Means and standard deviations over runs: tables (terminal, CSV, Markdown, LaTeX), bar figures, learning curves.

    python scripts/compare.py runs/* --paper

Takes run folders, folders of runs, results.json files and CSV files of rows. Runs are averaged only if they differ in
nothing but the seed; each task, budget and data has its own table and figure. Runs trained with --score-during have
their learning curves drawn, scored or not.
"""

import argparse
import sys
from pathlib import Path

from tasks.command_line import exit_status
from tasks.comparison.collect import collect_rows, find_sources
from tasks.comparison.curves import collect_curves, draw_curves
from tasks.comparison.figure import draw_figures, save_figure
from tasks.comparison.paper import read_paper, read_prior
from tasks.comparison.summary import summarize
from tasks.comparison.tables import (
    legend_of,
    make_tables,
    prior_tables,
    to_csv,
    to_latex,
    to_markdown,
    to_text,
)
from tasks.evaluation.rows import write_csv_rows
from tasks.files import write_text
from tasks.publishing.download import local_runs
from zoo.errors import UserError

PAPER = Path(__file__).resolve().parents[1] / "results" / "paper.csv"


def main() -> int:
    """Exit status: 0, 2 (bad input) or 130 (interrupted)."""
    return exit_status(lambda: compare(parse_arguments()))


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter, allow_abbrev=False
    )
    parser.add_argument(
        "paths", nargs="+", metavar="PATH", help="run folder, results.json, CSV of rows, or USER/NAME of the Hub"
    )
    parser.add_argument("--paper", action="store_true", help="put the paper's figures beside ours")
    parser.add_argument(
        "--output", type=Path, default=Path("comparison"), metavar="DIR", help="folder (default: %(default)s)"
    )
    parser.add_argument("--rows", type=Path, metavar="FILE.csv", help="also write the rows of all runs here")
    return parser.parse_args()


def compare(arguments: argparse.Namespace) -> None:
    if arguments.rows is not None and not arguments.rows.parent.is_dir():
        raise UserError(f"--rows is {arguments.rows}, but {arguments.rows.parent} is no folder; make it first.")
    paths = local_runs(arguments.paths)
    curves = collect_curves(find_sources(paths))
    rows, notices = collect_rows(paths, required=not curves)
    for notice in notices:
        print(f"note: {notice}", file=sys.stderr)
    paper = read_paper(PAPER) if arguments.paper else None
    summary = summarize(rows)
    tables = make_tables(summary, paper) + (prior_tables(summary, read_prior(PAPER)) if arguments.paper else [])
    legend = legend_of(summary, paper)
    contents = {}
    if rows:
        contents = {
            "comparison.csv": to_csv(summary, paper),
            "comparison.md": to_markdown(tables, legend),
            "comparison.tex": to_latex(tables),
        }
    figures = draw_figures(summary, paper)
    if curves:
        figures["curves"] = draw_curves(curves)

    folder: Path = arguments.output
    if folder.is_file():
        raise UserError(f"--output is {folder}, which is a file; give a folder.")
    folder.mkdir(parents=True, exist_ok=True)
    written = []
    for name, text in contents.items():
        write_text(folder / name, text)
        written.append(folder / name)
    for name, figure in figures.items():
        written += save_figure(figure, folder, name)
    if arguments.rows is not None:
        write_csv_rows(arguments.rows, rows)
        written.append(arguments.rows)

    if rows:
        print(to_text(tables, legend))
    print("\n".join(map(str, written)))


if __name__ == "__main__":
    sys.exit(main())
