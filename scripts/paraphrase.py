"""Paraphrases of sentences, each with the tree that it was asked to have.

    python scripts/paraphrase.py RUN --sentence "it rains ." --parse "(S (NP (NN)) (VP (VBZ)) (.))"
    python scripts/paraphrase.py RUN --sentence "it rains ." --exemplar "snow falls ." --parser stanza
    python scripts/paraphrase.py RUN --input sentences.txt --template "(S (NP) (VP))" --expander RUN2 --parser stanza

RUN: a run of train.py --task paraphrase, or its repository USER/NAME on the Hub. What guides: a whole parse, a template
(the first levels of a parse; an expander fills in the rest, or it guides as it is), or another sentence that has the
form that is wanted. Each may be repeated: n of them give n paraphrases of each sentence. Sentences are blank-separated
tokens, like those that the model was trained on.
"""

import argparse
import sys
from pathlib import Path
from typing import Any, NamedTuple

from tasks.command_line import exit_status
from tasks.evaluation.run_folder import checkpoint_of
from tasks.metrics import Nodes, brackets
from tasks.paraphrase.generation import Decoding, generate_parses, generate_texts
from tasks.paraphrase.guidance import syntax
from tasks.paraphrase.parsers import Parser, get_parser
from tasks.paraphrase.scoring import parsed
from tasks.publishing.download import local_runs
from zoo import load_model
from zoo.errors import UserError


class Guide(NamedTuple):
    """What guides a paraphrase: how it is called, its tree, and whether that is to be expanded."""

    label: str
    tree: Nodes
    is_template: bool = False


def main() -> int:
    """Exit status: 0, 2 (bad input) or 130 (interrupted)."""
    return exit_status(lambda: paraphrase(parse_arguments()))


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter, allow_abbrev=False
    )
    parser.add_argument("run", metavar="RUN", help="run folder, or USER/NAME of the Hub")
    parser.add_argument("--sentence", action="append", default=[], help="a sentence; may be repeated")
    parser.add_argument("--input", type=Path, metavar="FILE", help="sentences, one a line")
    for name, text in (("parse", "a whole parse"), ("template", "a template"), ("exemplar", "an exemplar sentence")):
        parser.add_argument(f"--{name}", action="append", default=[], help=f"{text}; may be repeated")
    parser.add_argument(
        "--parser", help="for exemplars, expansion and outputs: stanza, benepar, command:PROGRAM, grammar"
    )
    parser.add_argument("--expander", metavar="RUN", help="run of guig-expander, for templates")
    parser.add_argument("--beams", type=int, default=4, help="default: %(default)s")
    return parser.parse_args()


def paraphrase(arguments: argparse.Namespace) -> None:
    decoding = Decoding(arguments.beams)
    sentences = read_sentences(arguments)
    model, tokenizer = load(arguments.run)
    if model.reads == "expansion":
        raise UserError(f"{arguments.run} writes parses, not text; give it as --expander, and a run of guig as RUN.")
    parser = get_parser(arguments.parser) if arguments.parser else None
    guides = make_guides(arguments, parser)
    expand = load(arguments.expander) if arguments.expander else None
    for sentence in sentences:
        trees = [guide.tree for guide in guides]
        if expand is not None:
            trees = expanded(
                expand, sentence, guides, needed(parser, "--expander reads the parse of each sentence"), decoding
            )
        outputs = generate_texts(model, tokenizer, [sentence] * len(guides), trees, decoding)
        found = [parsed(tree) for tree in parser(outputs)] if parser else [None] * len(outputs)
        print(sentence)
        for guide, tree, output, own in zip(guides, trees, outputs, found, strict=True):
            print(f"  {output}")
            print(f"    guided by {guide.label}")
            if guide.is_template and expand is not None:
                print(f"    expanded to {brackets(tree)}")
            if parser:
                print(f"    its tree {'cannot be parsed' if own is None else brackets(own)}")


def read_sentences(arguments: argparse.Namespace) -> list[str]:
    lines = list(arguments.sentence)
    if arguments.input is not None:
        lines += arguments.input.read_text(encoding="utf-8").splitlines()
    sentences = [" ".join(line.split()) for line in lines if line.strip()]
    if not sentences:
        raise UserError("there is no sentence; give --sentence TEXT, or --input FILE with one a line.")
    return sentences


def load(run: str) -> tuple[Any, Any]:
    (folder,) = local_runs([run])
    return load_model(checkpoint_of(folder))


def needed(parser: Parser | None, reason: str) -> Parser:
    if parser is None:
        raise UserError(f'{reason}, so a parser is needed: --parser stanza, benepar, grammar or "command:PROGRAM".')
    return parser


def make_guides(arguments: argparse.Namespace, parser: Parser | None) -> list[Guide]:
    """Raises UserError for brackets that are no tree, an exemplar that cannot be parsed, and for no guide at all."""
    guides = [Guide(f"the parse {text}", syntax(text)) for text in arguments.parse]
    guides += [Guide(f"the template {text}", syntax(text), is_template=True) for text in arguments.template]
    if arguments.exemplar:
        parses = needed(parser, "an exemplar guides by its parse")(arguments.exemplar)
        for text, parse in zip(arguments.exemplar, parses, strict=True):
            if parse is None:
                raise UserError(f"the exemplar {text!r} cannot be parsed by {arguments.parser}; give another.")
            guides.append(Guide(f"the exemplar {text!r}, {brackets(syntax(parse))}", syntax(parse)))
    if not guides:
        raise UserError("nothing guides the paraphrases; give --parse, --template or --exemplar.")
    return guides


def expanded(expander: Any, sentence: str, guides: list[Guide], parser: Parser, decoding: Decoding) -> list[Nodes]:
    """The trees of the guides, templates expanded with the parse of the sentence."""
    (parse,) = parser([sentence])
    if parse is None:
        raise UserError(f"{sentence!r} cannot be parsed, so templates cannot be expanded for it.")
    templates = [guide.tree for guide in guides if guide.is_template]
    model, tokenizer = expander
    found = iter(generate_parses(model, tokenizer, [syntax(parse)] * len(templates), templates, decoding))
    return [next(found).nodes if guide.is_template else guide.tree for guide in guides]


if __name__ == "__main__":
    sys.exit(main())
