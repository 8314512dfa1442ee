"""The seven transformation tasks of seed 000 (section 2): sentences, tags, and the two rules that may explain them.

A task is an entry here, a grammar of the same name in `grammars/`, and a class of rules.
"""

import functools
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from zoo.errors import UserError, unknown_name

if TYPE_CHECKING:
    from tasks.transformation.task import TransformationTask

GRAMMARS = Path(__file__).parent / "grammars"


@dataclass(frozen=True)
class Entry:
    """What tells one task from another.

    rules: `module:Class` in this package, built as Class(grammar, **settings, **the caller's options).
    tags: the word that asks for a copy and the word that asks for the transformation.
    partial: how partial accuracy is found, exactly from the first word's distribution or from sampled outputs.
    options: what a caller of `load_task` may set, with its default; each is on (True) or off (False).
    """

    label: str
    rules: str
    tags: tuple[str, str]
    partial: str
    settings: dict[str, Any] = field(default_factory=dict)
    options: dict[str, bool] = field(default_factory=dict)


_ENGLISH_QUESTION = {"clause_starts": ("who", "that"), "auxiliaries": ("AUX.sg", "AUX.pl")}
_GERMAN_AUXILIARIES = ("AUX.sg.can", "AUX.pl.can", "AUX.sg.have", "AUX.pl.have")
_FULL_VERBS = (("VBD.intr", "VBZ.intr", "VBP.intr"), ("VBD.tr", "VBZ.tr", "VBP.tr"))

ENTRIES = {
    "question_formation": Entry(
        "question formation", "questions:QuestionRules", ("decl", "quest"), "first_word", _ENGLISH_QUESTION
    ),
    "question_formation_have": Entry(
        "question formation with have", "questions:QuestionRules", ("decl", "quest"), "first_word", _ENGLISH_QUESTION
    ),
    "german_question_formation": Entry(
        "German question formation",
        "questions:QuestionRules",
        ("decl", "quest"),
        "first_word",
        {"clause_starts": (",",), "auxiliaries": _GERMAN_AUXILIARIES},
    ),
    "tense_reinflection": Entry(
        "tense reinflection", "tense:TenseRules", ("PAST", "PRESENT"), "sampled", {"forms": _FULL_VERBS}
    ),
    "tense_reinflection_do": Entry(
        "tense reinflection with do",
        "tense:TenseRules",
        ("PAST", "PRESENT"),
        "sampled",
        {"forms": (("AUX.past", "AUX.sg", "AUX.pl"),)},
    ),
    "passivization": Entry("passivization", "passives:PassiveRules", ("decl", "passiv"), "sampled"),
    "german_passivization": Entry(
        "German passivization",
        "passives:GermanPassiveRules",
        ("decl", "passiv"),
        "sampled",
        options={"nominative_fix": True},
    ),
}
TASKS = tuple(ENTRIES)
GUIDES = {"source": "uses ground-truth parse trees", "target": "uses ground-truth parse trees, target tree given"}
OPTIONS = {
    "nominative_fix": "german_passivization: whether der Löwe and der Rabe are declined as German has it, not as in "
    "the published files (default: true)",
    "guide": "models that read a tree (guig and its kin): whose gold tree they are given, source or target (default: "
    "source)",
}


def load_task(name: str, **options: Any) -> "TransformationTask":
    """The task called `name`; UserError for an option that it has not, or a value that the option cannot have."""
    guide = options.pop("guide", "source")
    if guide not in GUIDES:
        raise unknown_name("guide", str(guide), GUIDES)
    known = ENTRIES[name].options
    for option, value in options.items():
        if option not in known:
            raise unknown_name(f"option of {name}", option, [*known, "guide"])
        if not isinstance(value, bool):
            raise UserError(f"the option {option} of {name} is {value!r}; allowed: True, False.")
    return _load_task(name, guide, **options)


@functools.cache
def _load_task(name: str, guide: str, **options: bool) -> "TransformationTask":
    from tasks.transformation.grammar import load_grammar
    from tasks.transformation.task import TransformationTask

    entry = ENTRIES[name]
    module, _, rules = entry.rules.partition(":")
    grammar = load_grammar(GRAMMARS / f"{name}.grammar")
    build = getattr(import_module(f"{__name__}.{module}"), rules)
    chosen = entry.options | options
    return TransformationTask(name, entry, grammar, build(grammar, **entry.settings, **chosen), chosen, guide)
