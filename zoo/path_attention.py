"""Path attention (seed 002, section 3.3): self-attention within each path of a tree, averaged over the paths."""

import torch
from torch import Tensor, nn

from .dropout import Dropout
from .guig_layers import FeedForward, Projection, merge_heads, split_heads

SMALLEST = 1e-18  # sum of a path for which the square of its reciprocal, in the gradient, is in the range of float32


def attend_along_paths(query: Tensor, key: Tensor, value: Tensor, paths: Tensor) -> Tensor:
    """What each node reads along each of its paths, summed over its paths.

    query, key [B, H, N, K], value [B, H, N, V], paths [B, P, N] -> [B, H, N, V]. Attention along a path is a softmax
    over the nodes of that path alone. Nodes on no path read zeros. As all paths share the scores, none is computed
    twice: exp(score) of every pair of nodes, its sum over the nodes of each path, and the reciprocals of these sums
    added up over the paths that a pair shares.
    """
    # scores, exponentials : B x H x N x N; sums : B x H x N x P; on_path : B x P x N
    on_path = paths.to(query.dtype)
    scores = _scores_of_related(query, key, on_path)
    highest = scores.detach().amax(-1, keepdim=True).clamp(min=torch.finfo(scores.dtype).min)
    exponentials = (scores - highest).exp()
    sums = _by_row(exponentials, on_path.mT).masked_fill(~paths.mT[:, None], torch.inf)
    if bool((sums < SMALLEST).any()):
        return _attend_path_by_path(scores, value, paths)
    return (exponentials * _by_row(sums.reciprocal(), on_path)) @ value


def _scores_of_related(query: Tensor, key: Tensor, on_path: Tensor) -> Tensor:
    """Scaled products [B, H, N, N] of queries and keys; -inf where no path holds both nodes."""
    # query, key : B x H x N x K, on_path : B x P x N
    shared_paths = on_path.mT @ on_path
    bias = torch.zeros_like(shared_paths).masked_fill(shared_paths == 0, -torch.inf)
    bias = bias[:, None].expand(-1, query.shape[1], -1, -1).flatten(0, 1)
    scores = torch.baddbmm(bias, query.flatten(0, 1), key.flatten(0, 1).mT, alpha=query.shape[-1] ** -0.5)
    return scores.unflatten(0, query.shape[:2])


def _by_row(x: Tensor, matrices: Tensor) -> Tensor:
    """The matrix of each row applied to all its heads, with no copy of it for each head."""
    # x : B x H x N x I, matrices : B x I x J -> B x H x N x J
    return (x.flatten(1, 2) @ matrices).unflatten(1, x.shape[1:3])


def _attend_path_by_path(scores: Tensor, value: Tensor, paths: Tensor) -> Tensor:
    # scores : B x H x N x N, value : B x H x N x V, paths : B x P x N -> B x H x N x V
    weights = torch.zeros_like(scores)
    for path in paths.unbind(1):
        together = (path[:, :, None] & path[:, None, :])[:, None]
        lowest = scores.masked_fill(~together, torch.finfo(scores.dtype).min)
        weights = weights + torch.where(together, lowest.softmax(-1), 0.0)
    return weights @ value


class PathAttention(nn.Module):
    """One execution of path attention, with the residual inside; nodes on no path become zeros.

    averages: `all`, divided by the number of paths of the sentence (seed 002 and its authors), or `through`, by the
    number of paths that the node lies on.
    """

    def __init__(self, width: int, heads: int, key_size: int, value_size: int, dropout: float, averages: str) -> None:
        super().__init__()
        self.heads, self.averages = heads, averages
        self.norm = nn.LayerNorm(width)
        self.query = Projection(width, heads * key_size, bias=False)
        self.key = Projection(width, heads * key_size, bias=False)
        self.value = Projection(width, heads * value_size, bias=False)
        self.output = Projection(heads * value_size, width)
        self.dropout = Dropout(dropout)

    def forward(self, x: Tensor, paths: Tensor) -> Tensor:
        # x : B x N x D, paths : B x P x N -> B x N x D
        query, key, value = (
            split_heads(part, self.heads) for part in (self.query(self.norm(x)), self.key(x), self.value(x))
        )
        with torch.autocast(x.device.type, enabled=False):  # reciprocals leave the range of half precision
            wide = torch.promote_types(query.dtype, torch.float32)
            read = attend_along_paths(query.to(wide), key.to(wide), value.to(wide), paths)
        through = paths.sum(1)[..., None].to(x.dtype)
        number = through if self.averages == "through" else paths.any(2).sum(1)[:, None, None].to(x.dtype)
        projected = nn.functional.linear(merge_heads(read).to(query.dtype), self.output.weight)
        # Bias and residual come once with each path.
        return (self.dropout(projected) + through * (self.output.bias + x)) / number.clamp(min=1)


class PathLayer(nn.Module):
    """A block of the syntax encoder: path attention twice with the same weights, then the feedforward network."""

    def __init__(
        self, width: int, inner: int, heads: int, key_size: int, value_size: int, dropout: float, averages: str
    ) -> None:
        super().__init__()
        self.attention = PathAttention(width, heads, key_size, value_size, dropout, averages)
        self.feedforward = FeedForward(width, inner, dropout)

    def forward(self, x: Tensor, mask: Tensor, paths: Tensor) -> Tensor:
        # x : B x N x D, mask : B x N, paths : B x P x N -> B x N x D
        for _ in range(2):
            x = self.attention(x, paths)
        return self.feedforward(x) * mask[..., None]
