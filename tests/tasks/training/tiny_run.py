"""The smallest training run, for tests in this process and for the workers that torchrun starts."""

from pathlib import Path
from types import SimpleNamespace

import torch
from accelerate import Accelerator
from accelerate.utils import set_seed
from transformers import GPT2Config, GPT2LMHeadModel, PreTrainedModel

from tasks.tokenization import word_tokenizer
from tasks.training.batches import Examples, Strings
from tasks.training.checkpoints import RunFolder
from tasks.training.loop import Run, Trainer
from tasks.training.schedule import Budget, protocol_for
from tasks.training.scores import GeneralizationSample
from tasks.transformation.corpus import Example

WORDS = ["a", "b", "c", "d", ".", "decl"]
TOKENIZER = word_tokenizer(WORDS)


def pairs(count: int, seed: int = 0) -> list[tuple[str, str]]:
    """Pairs of 2 to 7 words to copy, of many lengths."""
    random = torch.Generator().manual_seed(seed)
    result = []
    for _ in range(count):
        length = int(torch.randint(2, 8, (), generator=random))
        words = [WORDS[int(i)] for i in torch.randint(4, (length,), generator=random)]
        result.append((" ".join([*words, ".", "decl"]), " ".join([*words, "."])))
    return result


def tiny_sample(count: int = 11, partial: str = "first_word") -> GeneralizationSample:
    """A sample of the copies above, which the linear rule turns round."""
    task = SimpleNamespace(partial=partial, linear=lambda source: " ".join(reversed(source.split())))
    return GeneralizationSample(task, TOKENIZER, [Example(*pair) for pair in pairs(count, seed=2)])


def tiny_model(dropout: float = 0.1) -> GPT2LMHeadModel:
    torch.manual_seed(0)
    rates = dict.fromkeys(("resid_pdrop", "embd_pdrop", "attn_pdrop"), dropout)
    sizes = {"n_embd": 8, "n_layer": 1, "n_head": 2, "n_positions": 64, "vocab_size": len(TOKENIZER)}
    return GPT2LMHeadModel(GPT2Config(**sizes, **rates, bos_token_id=1, eos_token_id=2))


def tiny_trainer(
    folder: Path,
    *,
    model: PreTrainedModel | None = None,
    budget: Budget | None = None,
    train_size: int = 60,
    training: Examples | None = None,
    resume: bool = False,
    dropout: float = 0.1,
    save_minutes: float = 5.0,
    sample: GeneralizationSample | None = None,
    **protocol: float,
) -> Trainer:
    """A trainer as scripts/train.py makes it: a checkpoint every 40 examples, 64 tokens a batch."""
    accelerator = Accelerator(cpu=True)
    settings = {"learning_rate": 1e-2, "batch_tokens": 64, "checkpoint_examples": 40, **protocol}
    run = Run(
        model=model or tiny_model(dropout),
        tokenizer=TOKENIZER,
        training=training or Strings(TOKENIZER, pairs(train_size)),
        validation=Strings(TOKENIZER, pairs(9, seed=1)),
        protocol=protocol_for("seed-000", **settings),
        budget=budget or Budget(),
        folder=RunFolder(folder),
        sample=sample,
    )
    set_seed(1, device_specific=True)
    trainer = Trainer(accelerator, run, save_minutes=save_minutes)
    run.folder.check(settings, resume=resume)
    accelerator.wait_for_everyone()
    if resume:
        trainer.resume()
    elif accelerator.is_main_process:
        run.folder.write_arguments(settings)
    return trainer


def record_gradients(trainer: Trainer) -> dict[str, torch.Tensor]:
    """A dictionary that holds, after each step, the gradients with which the optimiser was called."""
    seen: dict[str, torch.Tensor] = {}
    step = trainer.optimizer.step

    def recording_step() -> None:
        seen.update({name: value.grad.clone() for name, value in trainer.run.model.named_parameters()})
        step()

    trainer.optimizer.step = recording_step
    return seen
