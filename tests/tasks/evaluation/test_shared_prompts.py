import pytest
import torch

from tasks.evaluation.prefixes import read_prompts
from tasks.evaluation.shared_prompts import Groups, SharedPromptCache
from tests.zoo.tiny_models import tiny


@pytest.mark.parametrize("sources", [[[4, 5, 6], [7, 8, 9]], [[4], [5, 6, 7, 8], [9, 10]]])
def test_outputs_that_share_prompts_have_the_probabilities_of_whole_strings(sources):
    model = tiny("tf")
    prefixes = read_prompts(model, sources)
    assert isinstance(prefixes.cache, SharedPromptCache)
    strings = [[1, *source] for source in sources]
    # Several outputs of a prompt, in any order; then without some; then each goes on by itself.
    for parents, tokens, uses_up in (
        ([1, 0, 0, 1, 1], [4, 5, 6, 7, 8], False),
        ([4, 0, 2, 2], [9, 10, 4, 5], True),
        ([0, 1, 2, 3], [11, 12, 13, 14], True),
        ([3, 1, 0], [4, 5, 6], True),
    ):
        prefixes = prefixes.follow(torch.tensor(parents), torch.tensor(tokens), uses_up)
        strings = [[*strings[parent], token] for parent, token in zip(parents, tokens, strict=True)]
        with torch.no_grad():
            whole = [model(input_ids=torch.tensor([string])).logits[0, -1].double().softmax(-1) for string in strings]
        torch.testing.assert_close(prefixes.probabilities, torch.stack(whole), rtol=1e-5, atol=1e-6)


def test_rows_stand_prompt_by_prompt_and_come_back_to_their_places():
    groups = Groups.of(torch.tensor([2, 0, 2, 2]), 3, None)
    x = torch.arange(8.0).view(4, 1, 2)
    spread = groups.spread(x, 3)
    assert spread.shape == (3, 1, 3, 2)
    assert spread[0, 0, 0].tolist() == [2.0, 3.0]
    assert spread[1].abs().sum() == 0
    assert torch.equal(groups.gather(spread), x)
