"""Path attention: against the seed's formula on copies of the sentence, and against its authors' numbers."""

import pytest
import torch

from tests.zoo.guig_fixtures import our_name, read_fixture
from tests.zoo.guig_inputs import LEVELS
from zoo.path_attention import PathAttention, PathLayer, attend_along_paths
from zoo.tree_paths import tree_paths


def naive_attention(query, key, value, paths):
    """Seed 002, section 3.3: attention in each path alone, summed over the paths; B x H x N x K."""
    total = torch.zeros_like(value)
    for row in range(len(paths)):
        for path in paths[row]:
            on = path.nonzero()[:, 0]
            if len(on):
                scores = query[row][:, on] @ key[row][:, on].transpose(-1, -2) / query.shape[-1] ** 0.5
                total[row][:, on] = total[row][:, on] + scores.softmax(-1) @ value[row][:, on]
    return total


def naive_layer(layer, x, paths):
    """Seed 002, section 3.3: a copy of the sentence for each path, with what is off the path masked; their average."""
    outputs = torch.zeros_like(x)
    for row in range(len(x)):
        real = [path for path in paths[row] if path.any()]
        for path in real:
            copy = x[row] * path[:, None]
            query, key, value = layer.query(layer.norm(copy)), layer.key(copy), layer.value(copy)
            heads = []
            parts = (part.chunk(layer.heads, 1) for part in (query, key, value))
            for q, k, v in zip(*parts, strict=True):
                scores = (q @ k.T / q.shape[1] ** 0.5).masked_fill(~path, -torch.inf)
                heads.append(scores.softmax(-1) @ v)
            outputs[row] = outputs[row] + (layer.output(torch.cat(heads, 1)) + copy) * path[:, None]
        count = len(real) if layer.averages == "all" else paths[row].sum(0)[:, None].clamp(min=1)
        outputs[row] = outputs[row] / count
    return outputs


def random_levels(rows, nodes, seed):
    """Level ids of trees of up to so many nodes, wrapped in bos and eos and padded."""
    generator = torch.Generator().manual_seed(seed)
    trees = []
    for row in range(rows):
        levels = [1]
        while len(levels) < nodes - row:
            levels.append(int(torch.randint(2, levels[-1] + 2, (1,), generator=generator)))
        trees.append([1, *(level + 3 for level in levels), 2, *[0] * row])
    return torch.tensor(trees)


@pytest.mark.parametrize("averages", ["all", "through"])
@pytest.mark.parametrize("seed", range(3))
def test_a_pass_equals_masked_copies_of_the_sentence_forward_and_backward(averages, seed):
    torch.manual_seed(seed)
    layer = PathAttention(6, heads=2, key_size=3, value_size=5, dropout=0.0, averages=averages).double()
    paths = tree_paths(random_levels(3, 13, seed))
    x, weights = torch.randn(2, 3, 15, 6, dtype=torch.double)
    results = []
    for form in (layer, lambda *arguments: naive_layer(layer, *arguments)):
        start = x.clone().requires_grad_()
        output = form(start, paths)
        results.append([output, *torch.autograd.grad((output * weights).sum(), [start, *layer.parameters()])])
    for one, other in zip(*results, strict=True):
        torch.testing.assert_close(one, other, rtol=0, atol=1e-11)
        assert other.abs().max() > 0


@pytest.mark.parametrize("scale", [1.0, 30.0, 300.0])
def test_attention_along_paths_equals_that_in_each_path_forward_and_backward(scale):
    paths = tree_paths(torch.tensor(LEVELS))
    tensors = [torch.randn(3, 2, 10, 4, dtype=torch.double) for _ in range(3)]
    tensors[0] *= scale
    ours, naive = ([tensor.clone().requires_grad_() for tensor in tensors] for _ in range(2))
    weights = torch.randn(3, 2, 10, 4, dtype=torch.double)
    outputs = [function(*values, paths) for function, values in ((attend_along_paths, ours), (naive_attention, naive))]
    torch.testing.assert_close(*outputs, rtol=1e-10, atol=1e-10)
    for output in outputs:
        (output * weights).sum().backward()
    for one, other in zip(ours, naive, strict=True):
        torch.testing.assert_close(one.grad, other.grad, rtol=1e-8, atol=1e-9)


@pytest.mark.parametrize("gap", [20.0, 40.0, 43.0, 50.0, 80.0, 200.0])
def test_a_path_far_less_probable_than_another_is_kept_in_float32(gap):
    """exp(-gap) is the sum of the second path; its reciprocal squared is beyond float32 from a gap of 45 on."""
    paths = tree_paths(torch.tensor([[1, 4, 5, 5, 2]]))
    query, key, value = torch.zeros(1, 1, 5, 1), torch.zeros(1, 1, 5, 1), torch.randn(1, 1, 5, 2)
    query[0, 0, 1], key[0, 0, 2], key[0, 0, 3] = 1.0, gap, 0.5
    results = []
    for form, dtype in ((attend_along_paths, torch.float), (naive_attention, torch.double)):
        inputs = [tensor.to(dtype, copy=True).requires_grad_() for tensor in (query, key, value)]
        output = form(*inputs, paths)
        results.append([output, *torch.autograd.grad(output.sin().sum(), inputs)])
    for one, other in zip(*results, strict=True):
        torch.testing.assert_close(one, other.float(), rtol=1e-5, atol=1e-4)


def test_n08_without_a_path_everything_is_zero_and_finite():
    layer = PathAttention(4, heads=2, key_size=3, value_size=3, dropout=0.0, averages="all")
    x = torch.randn(2, 3, 4, requires_grad=True)
    output = layer(x, tree_paths(torch.tensor([[1, 2, 0], [0, 0, 0]])))
    output.sum().backward()
    assert not output.any()
    assert not x.grad.any()


@pytest.mark.parametrize("name", ["guig_path_attention", "guig_path_attention_single"])
def test_a_path_attention_layer_equals_the_authors(shared, name):
    facts, stored = read_fixture(shared, name)
    size = facts["sizes"]
    layer = PathLayer(size["d_model"], size["d_inner"], size["heads"], size["d_k"], size["d_v"], 0.0, "all").double()
    layer.load_state_dict(
        {our_name(key[6:], grouped=False): value for key, value in stored.items() if key.startswith("param.")}
    )
    paths = tree_paths(stored["io.levels"])
    assert torch.equal(paths, stored["io.path_mask"])
    output = layer(stored["io.input"], stored["io.node_ids"] != 0, paths)
    torch.testing.assert_close(output, stored["io.output"], rtol=0, atol=1e-10)


def test_paths_are_those_of_figure_3():
    paths = tree_paths(torch.tensor([[1, 4, 5, 6, 5, 6, 6, 7, 7, 2]]))[0]
    # S NP PRP | S VP VBD | S VP NP DT | S VP NP NN, at places one on from their order because of bos
    assert [path.nonzero()[:, 0].tolist() for path in paths] == [[1, 2, 3], [1, 4, 5], [1, 4, 6, 7], [1, 4, 6, 8]]


def test_paths_of_random_trees_are_the_ancestors_of_each_leaf():
    levels = random_levels(4, 20, seed=5)
    for row, paths in zip(levels.tolist(), tree_paths(levels), strict=True):
        wanted, above = [], []
        for place, (level, following) in enumerate(zip(row, [*row[1:], 0], strict=True)):
            if level > 3:
                above = [*above[: level - 4], place]
                if following != level + 1:
                    wanted.append(above)
        assert [path.nonzero()[:, 0].tolist() for path in paths if path.any()] == wanted
