"""The training loop: steps, checkpoints, and how a run ends."""

import math
import signal
import sys
import time
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from accelerate import Accelerator
from accelerate.utils import DistributedDataParallelKwargs, broadcast_object_list
from tqdm import tqdm
from transformers import PreTrainedModel, PreTrainedTokenizerBase

from tasks.training.batches import Examples, to_device
from tasks.training.carried_state import CarriedState
from tasks.training.checkpoints import Progress, RunFolder, parameter_digest
from tasks.training.objective import summed_cross_entropy, validation_cross_entropy
from tasks.training.schedule import Budget, Plateau, Protocol
from tasks.training.scores import GeneralizationSample
from tasks.training.signals import Interrupted, Signals


class Diverged(RuntimeError):
    """The loss or a gradient is not a number, or infinite."""


@dataclass
class Run:
    """What one run trains, on what, and for how long."""

    model: PreTrainedModel
    tokenizer: PreTrainedTokenizerBase
    training: Examples
    validation: Examples
    protocol: Protocol
    budget: Budget
    folder: RunFolder
    sample: GeneralizationSample | None = None  # scored at each checkpoint; training is the same with and without


class Trainer:
    """Trains by the protocol: Adam on the mean over strings of -log p(w), checkpoints, plateau rule, budget.

    All processes take part in every step, see the same figures and so take the same decisions; those that
    depend on a clock, a signal or a validation figure are taken from the main process.
    """

    def __init__(self, accelerator: Accelerator, run: Run, *, seed: int = 1, save_minutes: float = 5.0) -> None:
        self.accelerator = accelerator
        self.run = run
        self._seed = seed
        self._save_seconds = 60 * save_minutes
        # Both raise UserError now, not at the first checkpoint, if a string is too long for a batch.
        run.validation.scoring_batches(run.protocol.batch_tokens)
        self._plan = self._plan_epoch(0)
        if run.training.carries_state:  # a learned initial state has a gradient only where rows begin
            accelerator.ddp_handler = DistributedDataParallelKwargs(find_unused_parameters=True)
        optimizer = torch.optim.Adam(run.model.parameters(), lr=run.protocol.learning_rate, fused=True)
        self.model, self.optimizer = accelerator.prepare(run.model, optimizer)
        self._parameters = list(self.model.parameters())
        self._carried = CarriedState() if run.training.carries_state else None
        self.progress = Progress(plateau=Plateau(run.protocol.learning_rate))

    def resume(self) -> None:
        """Goes back to the last saved state; without one, the run starts anew, as it did the first time."""
        folder = self.run.folder
        state = folder.latest_state()
        if state is not None:
            self.progress = folder.load_state(self.accelerator, state, self._carried)
            self._plan = self._plan_epoch(self.progress.epoch)
            if self.progress.at_checkpoint:
                self._publish()
        if self.accelerator.is_main_process:
            folder.reopen()
        self.accelerator.wait_for_everyone()

    def train(self) -> dict[str, Any]:
        """Trains until convergence or the end of the budget and returns what finished.json says.

        Raises Interrupted after SIGINT or SIGTERM (state saved), Diverged if the loss is no finite number.
        """
        self._started = time.perf_counter() - self.progress.seconds
        self._saved_at = self.progress.seconds
        self.model.train()
        with Signals() as signals, self._progress_bar() as bar:
            while (reason := self._reason_to_stop()) is None:
                interrupted, due = self._step(bar, signals)
                if due:
                    self._checkpoint(bar)
                elif interrupted or self._save_is_due():
                    self._save()
                if interrupted:
                    raise Interrupted(signals.received or signal.SIGTERM)
            if not self.progress.at_checkpoint:
                self._checkpoint(bar, counts=False)
        return self._finish(reason)

    def _plan_epoch(self, epoch: int) -> list[list[np.ndarray]]:
        return self.run.training.plan(
            self.run.protocol.batch_tokens,
            self.run.protocol.batch_examples,
            seed=self._seed,
            epoch=epoch,
            num_processes=self.accelerator.num_processes,
        )

    def _reason_to_stop(self) -> str | None:
        progress = self.progress
        patience = self.run.protocol.stop_patience
        if patience is not None and progress.plateau.waited >= patience:
            return "converged"
        return self.run.budget.spent(examples=progress.examples, minutes=progress.seconds / 60, epochs=progress.epoch)

    def _step(self, bar: tqdm, signals: Signals) -> tuple[bool, bool]:
        """One update. Returns whether a signal came, and whether a checkpoint is due."""
        progress, accelerator, protocol = self.progress, self.accelerator, self.run.protocol
        batches = self._plan[progress.epoch_step]
        strings = sum(map(len, batches))
        batch = self.run.training.batch(batches[accelerator.process_index])
        inputs, labels = to_device(batch, accelerator.device)
        loss = summed_cross_entropy(self.model, inputs, labels, self._carried, protocol.label_smoothing)
        # The processes' gradients are averaged: with this factor, that is the mean over all their strings.
        accelerator.backward(loss * (accelerator.num_processes / strings))
        norm = accelerator.clip_grad_norm_(self._parameters, protocol.gradient_norm or math.inf)
        total, interrupted, seconds, norm = self._share(loss, signals.received, norm)
        if not (math.isfinite(total) and math.isfinite(norm)):
            raise self._diverged(batches, total / strings, norm)
        for group in self.optimizer.param_groups:
            group["lr"] = progress.plateau.learning_rate * protocol.warmup_factor(progress.step + 1)
        self.optimizer.step()
        self.optimizer.zero_grad()

        interval = protocol.checkpoint_examples or len(self.run.training.lengths)
        due = (progress.examples + strings) // interval > progress.examples // interval
        progress.step += 1
        progress.examples += strings
        progress.loss += total
        progress.strings += strings
        progress.seconds = seconds
        progress.epoch_step += 1
        if progress.epoch_step == len(self._plan):
            progress.epoch, progress.epoch_step = progress.epoch + 1, 0
            self._plan = self._plan_epoch(progress.epoch)
            if self._carried is not None:
                self._carried.reset()
        bar.update(strings)
        bar.set_postfix(loss=f"{total / strings:.3f}", refresh=False)
        return interrupted > 0, due

    def _share(self, loss: torch.Tensor, signal_received: int, norm: torch.Tensor) -> list[float]:
        """What all processes must agree on: summed loss, number of signals, the main clock, gradient norm."""
        clock = time.perf_counter() - self._started if self.accelerator.is_main_process else 0.0
        figures = loss.new_tensor([0.0, float(signal_received), clock])
        figures[0] = loss.detach()
        figures = self.accelerator.reduce(figures, reduction="sum")
        return [*figures.tolist(), norm.item()]

    def _checkpoint(self, bar: tqdm, *, counts: bool = True) -> None:
        """Validates, adjusts the learning rate, saves the state, and then writes log, last/ and best/."""
        progress, run = self.progress, self.run
        value = validation_cross_entropy(self.accelerator, run.model, run.validation, run.protocol.batch_tokens)
        (value,) = broadcast_object_list([value])  # one process decides for all
        learning_rate = progress.plateau.learning_rate * run.protocol.warmup_factor(progress.step)
        best = progress.plateau.update(value, run.protocol, counts=counts)
        progress.checkpoint += 1
        progress.record = {
            "checkpoint": progress.checkpoint,
            "step": progress.step,
            "examples": progress.examples,
            "epoch": progress.epoch,
            "train_loss": progress.loss / progress.strings,
            "validation_cross_entropy": value if math.isfinite(value) else None,
            "learning_rate": learning_rate,
            "best": best,
            "seconds": round(progress.seconds, 3),
        }
        if not math.isfinite(value):
            progress.record["note"] = f"validation cross-entropy is {value}: not an improvement"
        elif run.sample is not None:
            progress.record["scores"] = self._score(run.sample)
        progress.loss, progress.strings = 0.0, 0
        self._save()
        self._publish()
        self.accelerator.log(_figures(progress.record), step=progress.examples)
        if self.accelerator.is_main_process:
            bar.write(
                f"checkpoint {progress.checkpoint}: {progress.examples:,} examples, "
                f"train loss {progress.record['train_loss']:.4f} a string, validation cross-entropy {value:.5f} a token"
                + (" (best so far)" if best else "")
                + describe_scores(progress.record),
                file=sys.stderr,
            )

    def _score(self, sample: GeneralizationSample) -> dict[str, Any]:
        """The scores of this checkpoint. The clock stands still: a budget of minutes is one of training."""
        begun = time.perf_counter()
        scores = sample.score(self.accelerator, self.run.model)
        self._started += time.perf_counter() - begun
        return scores

    def _save_is_due(self) -> bool:
        return self.progress.seconds - self._saved_at >= self._save_seconds

    def _save(self) -> None:
        self.run.folder.save_state(self.accelerator, self.progress, self._carried)
        self._saved_at = self.progress.seconds

    def _publish(self) -> None:
        if self.accelerator.is_main_process:
            model = self.accelerator.unwrap_model(self.model, keep_torch_compile=False)
            self.run.folder.publish(self.progress.record, model, self.run.tokenizer)

    def _finish(self, reason: str) -> dict[str, Any]:
        progress = self.progress
        summary = {
            "reason": reason,
            "step": progress.step,
            "examples": progress.examples,
            "minutes": round(progress.seconds / 60, 3),
            "budget": self.run.budget.describe(reason),
            "digest": parameter_digest(self.run.model),
        }
        if self.accelerator.is_main_process:
            self.run.folder.finish(summary)
        self.accelerator.wait_for_everyone()  # all leave the group of processes at about the same time
        return summary

    def _diverged(self, batches: list[np.ndarray], loss: float, norm: float) -> Diverged:
        progress = self.progress
        indices = np.concatenate(batches)
        texts = "; ".join(repr(self.run.training.text(int(i))) for i in indices[:2])
        listed = ", ".join(map(str, indices[:10])) + (", ..." if len(indices) > 10 else "")
        kept = f"The best checkpoint so far is kept in {self.run.folder.path / 'best'}."
        return Diverged(
            f"training diverged at step {progress.step + 1}: loss {loss}, gradient norm {norm}, "
            f"learning rate {progress.plateau.learning_rate:g}, epoch {progress.epoch + 1}, "
            f"batch {progress.epoch_step + 1} with the training examples {listed} ({texts}; ...). "
            + (kept if progress.plateau.best is not None else "There was no checkpoint yet.")
            + " Try a lower --learning-rate with a new --output."
        )

    def _progress_bar(self) -> tqdm:
        budget, seen = self.run.budget, self.progress.examples
        total = budget.max_examples
        if total is None and budget.max_epochs is not None:
            total = budget.max_epochs * len(self.run.training.lengths)
        # In a log file, where a bar becomes many lines, it is drawn rarely.
        interval = 0.5 if sys.stderr.isatty() else 30.0
        main = self.accelerator.is_main_process
        return tqdm(total=total, initial=seen, unit=" examples", disable=not main, mininterval=interval)


def describe_scores(record: dict[str, Any]) -> str:
    """The full accuracies of a log line, as the end of a sentence; empty where nothing was scored."""
    if "scores" not in record:
        return ""
    full = ", ".join(f"{rule} {value:.3f}" for rule, value in record["scores"]["full_accuracy"].items())
    return f"; full accuracy: {full}"


def _figures(record: dict[str, Any], prefix: str = "") -> dict[str, float]:
    """The measured numbers of a log line for trackers, nested ones by their path."""
    figures: dict[str, float] = {}
    for key, value in record.items():
        if isinstance(value, dict):
            figures |= _figures(value, f"{prefix}{key}/")
        elif isinstance(value, float):
            figures[prefix + key] = value
    return figures
