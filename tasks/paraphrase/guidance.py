"""Which parse a model is given for a pair: the conditions of seed 002's tables, and those of its data."""

from collections.abc import Sequence

from tasks.metrics import Nodes
from tasks.paraphrase import Pair, linearize
from zoo.errors import UserError, unknown_name

GIVEN = {
    "target": "the target's parse is given",
    "template": "the template is given directly",
    "exemplar": "the parse of another sentence, the exemplar, is given",
    "expanded": "a parse is given that was expanded from the template",
}
TEMPLATE_LEVELS = 3  # that the authors cut parses to


def check_given(given: Sequence[str]) -> None:
    """UserError for a condition that there is not."""
    for name in given:
        if name not in GIVEN:
            raise unknown_name("condition", name, GIVEN)


def syntax(parse: str | None) -> Nodes:
    """The nodes of a parse, without its words and ROOT; None is the empty tree."""
    return Nodes(*linearize(parse)) if parse else Nodes([], [])


def template(pair: Pair, levels: int) -> Nodes:
    """The first levels of the template's parse if the pair has one, else of the target's."""
    return syntax(pair.template_parse or pair.target_parse).cut(levels)


def asked_for(pairs: Sequence[Pair], given: str, template_levels: int) -> list[Nodes]:
    """What is asked for under a condition: the whole parse, or the template, which may be expanded later.

    Raises UserError for the condition `exemplar` where a pair has none.
    """
    if given == "target":
        return [syntax(pair.target_parse) for pair in pairs]
    if given == "exemplar":
        for number, pair in enumerate(pairs, start=1):
            if not pair.template_parse:
                raise UserError(
                    f"pair {number} has no template_parse, so no exemplar can be given. Allowed for these data: "
                    "target, template, expanded."
                )
        return [syntax(pair.template_parse) for pair in pairs]
    return [template(pair, template_levels) for pair in pairs]
