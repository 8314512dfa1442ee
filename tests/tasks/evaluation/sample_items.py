"""Worker of test_processes.py: outputs generated for items that the processes share."""

import json
import sys

import torch

from tasks.evaluation.processes import map_batches, process_state
from tasks.evaluation.sampling import sample_outputs, uniform_noise
from tasks.tokenization import EOS, PAD, word_tokenizer
from tests.tasks.evaluation.toy_models import bigram
from tests.zoo.tiny_models import MODELS, small
from zoo import create_model

WORDS = ["a", "b", "c", "d", "e", "f", "g", "h"]
FEW, MANY = 4 + WORDS.index("f"), 4  # the words before the outputs `g h` and `b c d e f g h`
SOURCES = [[4, 5], [7], [6, 6, 5], [5, 4, 4, 7], [8, 4, 9], [11], [10, 5, 5, 5, 4]]  # 7 items, whatever 2 makes of them


def alphabet():
    """After each word comes the next one, after the last the end."""
    table = torch.full((12, 12), -1e9)
    table[range(4, 11), range(5, 12)] = 0
    table[:4, EOS] = table[11, EOS] = 0
    return bigram(table)


def texts(model, sources):
    """One sampled output of each source as text, over all processes; and for how many of them this one worked."""
    tokenizer, mine = word_tokenizer(WORDS), []

    def compute(batch):
        mine.extend(batch)
        noise = torch.stack([uniform_noise(0, index, 1, 9) for index in batch])
        outputs = sample_outputs(model, [sources[index] for index in batch], noise)[:, 0]
        return [tokenizer.decode(row[row != PAD]) for row in outputs]

    return map_batches(compute, [len(source) for source in sources], 12, "items"), len(mine)


def every_model():
    for name in MODELS:
        yield name, create_model(name, word_types=len(WORDS), hidden_size=8, seed=1, **small(name)).eval()


def main():
    state = process_state()
    report = {
        "processes": state.num_processes,
        "unlike lengths": texts(alphabet(), [[FEW], [MANY], [FEW], [MANY], [FEW]]),
        "models": {name: texts(model, SOURCES) for name, model in every_model()},
    }
    if state.is_main_process:
        with open(sys.argv[1], "w") as file:
            json.dump(report, file)
    state.destroy_process_group()


if __name__ == "__main__":
    main()
