"""Parsers by name: tokenised sentences in, trees in brackets out.

stanza, stanza:de     Stanza's constituency parser (pip install "syntax-zoo[stanza]"; its models are downloaded once)
benepar               the Berkeley parser, model benepar_en3, or benepar:MODEL (pip install "syntax-zoo[benepar]")
grammar               exact trees of sentences of the transformation grammars, grammar:TASK,TASK for those of some tasks
command:PROGRAM ...   any program that reads a sentence a line and writes a tree a line, a blank one where it has none
"""

import shlex
import subprocess
from collections.abc import Callable, Sequence
from types import ModuleType

from tasks.brackets import write_tree
from tasks.paraphrase.grammar_pairs import GRAMMARS
from tasks.paraphrase.pairs import Pair
from zoo.errors import UserError, unknown_name

Parser = Callable[[Sequence[str]], list[str | None]]
"""Trees of sentences, which are blank-separated tokens; None where there is none."""


def get_parser(name: str) -> Parser:
    """The parser called `name`, e.g. `stanza` or `command:python parse.py`; loading it may take long.

    Raises UserError for an unknown name, and for a package or a model that is not there, saying what to install.
    """
    kind, _, setting = name.partition(":")
    if kind not in PARSERS:
        raise unknown_name("parser", name, [*PARSERS, "command:PROGRAM"])
    parse = PARSERS[kind](setting)

    def parse_all(sentences: Sequence[str]) -> list[str | None]:
        """Only what has words is given to the parser."""
        worded = [sentence for sentence in sentences if sentence.strip()]
        trees = iter(parse(worded) if worded else [])
        return [next(trees) if sentence.strip() else None for sentence in sentences]

    return parse_all


def add_parses(pairs: Sequence[Pair], parser: Parser) -> list[Pair]:
    """The pairs with the parses that they lacked, also those of exemplars."""
    fields = (("source", "source_parse"), ("target", "target_parse"), ("exemplar", "template_parse"))
    for text, parse in fields:
        places = [place for place, pair in enumerate(pairs) if getattr(pair, parse) is None and getattr(pair, text)]
        trees = dict(zip(places, parser([getattr(pairs[place], text) for place in places]), strict=True))
        pairs = [
            pair._replace(**{parse: trees[place] or ""}) if place in trees else pair for place, pair in enumerate(pairs)
        ]
    return list(pairs)


def _stanza(language: str) -> Parser:
    stanza = _import("stanza", "stanza")
    language = language or "en"
    try:
        pipeline = stanza.Pipeline(
            language,
            processors="tokenize,pos,constituency",
            tokenize_pretokenized=True,
            download_method=None,
            verbose=False,
        )
    except Exception as error:
        raise UserError(
            f"stanza has no model for {language!r} here ({error}); get it once with"
            f" python -c \"import stanza; stanza.download('{language}')\"."
        ) from error

    def parse(sentences: Sequence[str]) -> list[str | None]:
        document = pipeline([sentence.split() for sentence in sentences])
        return [str(sentence.constituency) for sentence in document.sentences]

    return parse


def _benepar(model: str) -> Parser:
    benepar = _import("benepar", "benepar")
    model = model or "benepar_en3"
    try:
        parser = benepar.Parser(model)
    except LookupError as error:
        raise UserError(
            f"benepar's model {model!r} is not here; get it once with"
            f" python -c \"import benepar; benepar.download('{model}')\"."
        ) from error

    def parse(sentences: Sequence[str]) -> list[str | None]:
        # escaped_words are the leaves of the tree; else the parser would change quotation marks and brackets.
        inputs = [benepar.InputSentence(words=words, escaped_words=words) for words in map(str.split, sentences)]
        return [write_tree(tree) for tree in parser.parse_sents(inputs)]

    return parse


def _grammar(tasks: str) -> Parser:
    from tasks.language_modeling.grammar_text import grammar_tree

    names = tasks.split(",") if tasks else list(GRAMMARS)

    def parse_one(sentence: str) -> str | None:
        try:
            return write_tree(grammar_tree(names, sentence))
        except UserError:
            return None

    return lambda sentences: [parse_one(sentence) for sentence in sentences]


def _command(text: str) -> Parser:
    program = shlex.split(text)
    if not program:
        raise UserError("the parser command: names no program; write e.g. command:python parse.py.")

    def parse(sentences: Sequence[str]) -> list[str | None]:
        lines = "".join(f"{sentence}\n" for sentence in sentences)
        try:
            done = subprocess.run(program, input=lines.encode(), capture_output=True, check=False)
        except OSError as error:
            raise UserError(f"the parser {text!r} cannot be started: {error.strerror}; check the command.") from None
        if done.returncode:
            told = done.stderr.decode(errors="replace").strip().splitlines()[-1:] or ["no message"]
            raise UserError(f"the parser {text!r} ended with status {done.returncode}: {told[0]}")
        trees = done.stdout.decode(errors="replace").removesuffix("\n").split("\n")
        if len(trees) != len(sentences):
            raise UserError(
                f"the parser {text!r} wrote {len(trees):,} lines for {len(sentences):,} sentences; it must write one"
                " tree a line, a blank line where it has none."
            )
        return [" ".join(tree.split()) or None for tree in trees]

    return parse


PARSERS: dict[str, Callable[[str], Parser]] = {
    "stanza": _stanza,
    "benepar": _benepar,
    "grammar": _grammar,
    "command": _command,
}


def _import(module: str, extra: str) -> ModuleType:
    from importlib import import_module

    try:
        return import_module(module)
    except ImportError as error:
        raise UserError(
            f'the parser {module} is not installed ({error}); run pip install "syntax-zoo[{extra}]", or name another'
            " parser, e.g. command:PROGRAM."
        ) from None
