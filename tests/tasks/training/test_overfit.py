import pytest
import torch
from tiny_run import TOKENIZER, pairs, tiny_trainer

from tasks.tokenization import EOS
from tasks.training.batches import Strings
from tasks.training.schedule import Budget
from zoo import create_model


@pytest.mark.parametrize("name", ["tf", "lstm"])
def test_g08_a_model_overfitted_on_ten_pairs_stops_by_itself_for_all_ten(tmp_path, name):
    model = create_model(name, tokenizer=TOKENIZER, hidden_size=32, dropout=0.0, seed=1)
    known = list(dict(pairs(30)).items())[:10]
    trainer = tiny_trainer(tmp_path, model=model, batch_tokens=512, budget=Budget(max_examples=1_200))
    trainer.run.training = Strings(TOKENIZER, known)
    trainer._plan = trainer._plan_epoch(0)
    trainer._checkpoint = lambda *_, **__: None
    trainer.train()
    model.eval()
    for source, target in known:
        prompt = torch.tensor([TOKENIZER(source).input_ids[:-1]])
        output = model.generate(prompt, max_new_tokens=20, do_sample=False)[0, prompt.shape[1] :]
        assert output[-1] == EOS
        assert TOKENIZER.decode(output[:-1]) == target
