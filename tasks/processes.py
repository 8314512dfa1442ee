"""The end of a process that works together with others."""

import gc

import torch


def leave_group() -> None:
    """Leaves the group of processes that train or score together, if there is one.

    By now nothing may refer to a wrapped model (what is left in cycles is collected here). Were its reference to the
    group the last one, the group would be taken down with Python's lock held; its threads may need that lock to end,
    and the process would hang.
    """
    if torch.distributed.is_initialized():
        gc.collect()
        torch.distributed.destroy_process_group()
