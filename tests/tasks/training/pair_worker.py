"""What two processes do together; started by torchrun, writes FOLDER/results.json.

torchrun --nproc_per_node 2 pair_worker.py FOLDER
"""

import json
import math
import os
import signal
import sys
from pathlib import Path

import numpy as np
import torch
from accelerate import Accelerator
from accelerate.utils import gather_object
from tiny_run import TOKENIZER, pairs, record_gradients, tiny_model, tiny_sample, tiny_trainer
from torch.nn.parallel import DistributedDataParallel

from tasks.processes import leave_group
from tasks.training import loop
from tasks.training.batches import Strings
from tasks.training.objective import summed_cross_entropy, validation_cross_entropy
from tasks.training.schedule import Budget
from tasks.training.signals import Interrupted
from tasks.training.stream import Stream
from tests.zoo import guig_inputs

# Validation figures as rank 0 sees them: it converges at the fifth checkpoint. Rank 1 sees ever better ones.
FALLING_OUT = [3.0, 2.0, 2.5, 2.1, 2.2]
SAMPLES = {"plain": None, "scored": tiny_sample()}


def gradients(folder):
    """Largest difference of the gradients from those of one process with both batches in one, relative to them."""
    trainer = tiny_trainer(folder, dropout=0.0, budget=Budget(max_examples=1), gradient_norm=1e9)
    batches = trainer._plan[0]
    seen = record_gradients(trainer)
    trainer.train()
    model = tiny_model(dropout=0.0)
    pooled = np.concatenate(batches)
    (summed_cross_entropy(model, *trainer.run.training.batch(pooled)) / len(pooled)).backward()
    expected = dict(model.named_parameters())
    largest = max(value.grad.abs().max() for value in expected.values())
    difference = max((seen[name] - value.grad).abs().max() for name, value in expected.items())
    return {"sizes": list(map(len, batches)), "difference": float(difference / largest)}


def early_stop(folder):
    """Both processes stop, at the same step, though the figures of one alone cross the patience limit."""
    original = loop.validation_cross_entropy
    values = iter(FALLING_OUT)
    falling = iter(range(100, 0, -1))

    def validate(accelerator, *_):
        return next(values) if accelerator.is_main_process else float(next(falling))

    loop.validation_cross_entropy = validate
    summary = tiny_trainer(folder, budget=Budget(max_examples=1_000)).train()
    loop.validation_cross_entropy = original
    return [summary["reason"], summary["step"]]


def resumed(folder):
    """Digests of an unbroken run and of one that died and was resumed, with dropout."""
    budget = Budget(max_examples=130)
    unbroken = tiny_trainer(folder / "unbroken", budget=budget, save_minutes=0).train()
    trainer = tiny_trainer(folder / "broken", budget=budget, save_minutes=0)
    step = trainer._step

    def dying(*arguments):
        if trainer.progress.step == 5:
            raise KeyboardInterrupt
        return step(*arguments)

    trainer._step = dying
    try:
        trainer.train()
    except KeyboardInterrupt:
        trainer.accelerator.wait_for_everyone()
    resumed = tiny_trainer(folder / "broken", budget=budget, save_minutes=0, resume=True)
    begun = resumed.progress.step
    return {"begun": begun, "digests": [unbroken["digest"], resumed.train()["digest"]]}


def signalled(folder):
    """The step and signal at which both end when only the second process gets a signal."""
    trainer = tiny_trainer(folder, budget=Budget(max_examples=130))
    step = trainer._step

    def signalling(*arguments):
        if trainer.progress.step == 3 and not trainer.accelerator.is_main_process:
            os.kill(os.getpid(), signal.SIGTERM)
        return step(*arguments)

    trainer._step = signalling
    try:
        trainer.train()
    except Interrupted as interruption:
        return [trainer.progress.step, interruption.number, trainer.run.folder.latest_state() is not None]


def diverging(folder):
    """Both processes stop when the parameters of one are not a number."""
    trainer = tiny_trainer(folder, budget=Budget(max_examples=130))
    step = trainer._step

    def spoilt(*arguments):
        if trainer.progress.step == 3 and not trainer.accelerator.is_main_process:
            trainer._parameters[0].data.fill_(math.nan)
        return step(*arguments)

    trainer._step = spoilt
    try:
        trainer.train()
    except loop.Diverged as error:
        return str(error)


def validation(folder):
    """The validation figure of 9 strings, and of 1 string, which one of the processes lacks."""
    accelerator, model = Accelerator(cpu=True), tiny_model()
    return [validation_cross_entropy(accelerator, model, Strings(TOKENIZER, pairs(count)), 64) for count in (9, 1)]


def continuous(folder):
    """Training on continuous text, whose learned initial state has no gradient in most steps; and its validation."""
    from zoo import create_model

    sentences = [target for _, target in pairs(60, seed=5)]
    model = create_model("lstm", tokenizer=TOKENIZER, hidden_size=8, seed=1, dropout=0.0)
    stream = Stream(TOKENIZER, sentences, 7)
    value = validation_cross_entropy(Accelerator(cpu=True), model, stream, 28)
    trainer = tiny_trainer(folder, model=model, training=stream, budget=Budget(max_examples=56), batch_tokens=28)
    return {"validation": value, "summary": trainer.train(), "loss": trainer.progress.record["train_loss"]}


def scored(folder):
    """Scores of 11 examples of each rule, and of 1, which one of the processes lacks; digests with and without."""
    accelerator, model = Accelerator(cpu=True), tiny_model()
    scores = [tiny_sample(count).score(accelerator, model) for count in (11, 1)]
    budget = Budget(max_examples=130)
    digests = [
        tiny_trainer(folder / name, budget=budget, sample=sample).train()["digest"] for name, sample in SAMPLES.items()
    ]
    return {"scores": scores, "digests": digests}


def registry(folder):
    """For each registry entry, the loss after 3 updates, which need a gradient for every parameter."""
    from tests.zoo.tiny_models import MODELS, small
    from zoo import create_model

    result = {}
    for name in MODELS:
        model = create_model(name, tokenizer=TOKENIZER, parameters=3_000, seed=1, **small(name))
        trainer = tiny_trainer(folder / name, model=model, budget=Budget(max_examples=30), checkpoint_examples=1_000)
        try:
            summary = trainer.train()
            result[name] = {"step": summary["step"], "loss": trainer.progress.record["train_loss"]}
        except Exception as error:
            result[name] = {"error": str(error)[:500]}
    return result


def trees(_):
    """Three updates of every model that reads trees, on other data in each process: a sum of its parameters."""
    result = {}
    for name in guig_inputs.MODELS:
        model = DistributedDataParallel(guig_inputs.tiny(name).train())
        inputs = guig_inputs.inputs_for(name, seed=torch.distributed.get_rank())
        optimiser = torch.optim.SGD(model.parameters(), 0.1)
        try:
            for _ in range(3):
                optimiser.zero_grad()
                model(**inputs, labels=guig_inputs.labels_for(inputs)).loss.backward()
                optimiser.step()
            result[name] = float(sum(parameter.detach().double().abs().sum() for parameter in model.parameters()))
        except Exception as error:
            result[name] = str(error)[:500]
    return result


def main(folder):
    accelerator = Accelerator(cpu=True)
    checks = [gradients, early_stop, resumed, signalled, diverging, validation, continuous, scored, registry, trees]
    results = {"processes": accelerator.num_processes}
    for check in checks:
        results[check.__name__] = gather_object([check(folder / check.__name__)])
    if accelerator.is_main_process:
        (folder / "results.json").write_text(json.dumps(results))
    leave_group()


if __name__ == "__main__":
    torch.set_num_threads(1)
    main(Path(sys.argv[1]))
