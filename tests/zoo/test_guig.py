"""GuiG against its authors' own numbers, and what its models must stand."""

import itertools

import pytest
import torch

import zoo
from tests.zoo.guig_fixtures import our_name, read_fixture
from tests.zoo.guig_inputs import GUIDED, MODELS, inputs_for, labels_for, tiny, without_target
from zoo.configuration_guig import GuigConfig
from zoo.configuration_guig_expander import GuigExpanderConfig
from zoo.guig_layers import MultiEncoderAttention
from zoo.modeling_guig import GuigForConditionalGeneration
from zoo.modeling_guig_expander import GuigSyntaxExpander


def layers_of(stored, prefix, ours, grouped=True):
    parts = {name: name.removeprefix(prefix).split(".", 1) for name in stored if name.startswith(prefix)}
    return {f"{ours}.{number}.{our_name(rest, grouped)}": stored[name] for name, (number, rest) in parts.items()}


def test_multi_encoder_attention_equals_the_authors(shared):
    facts, stored = read_fixture(shared, "guig_multi_encoder_attention")
    size = facts["sizes"]
    groups = [size["text_heads"], size["syntax_heads"]]
    attention = MultiEncoderAttention(size["d_model"], groups, size["d_k"], size["d_v"], 0.0).double()
    attention.load_state_dict(
        {
            our_name("slf_attn." + key[6:]).removeprefix("attention."): value
            for key, value in stored.items()
            if key.startswith("param.")
        }
    )
    memories = [stored["io.text_memory"], stored["io.syntax_memory"]]
    masks = [~stored["io.text_key_masked"], ~stored["io.syntax_key_masked"]]
    output = attention(
        stored["io.query"],
        [attention.read(memory, group) for group, memory in enumerate(memories)],
        [mask[:, None, None] for mask in masks],
    )
    torch.testing.assert_close(output, stored["io.output"], rtol=0, atol=1e-11)


def test_the_text_generator_equals_the_authors(shared, monkeypatch):
    facts, stored = read_fixture(shared, "guig_text_generator")
    size = facts["sizes"]
    config = GuigConfig(
        vocab_size=size["text_tokens"], node_vocab_size=size["node_tokens"], level_vocab_size=size["level_tokens"],
        hidden_size=size["d_model"], inner_size=size["d_inner"], key_size=size["d_k"], value_size=size["d_v"],
        text_heads=size["text_heads"], syntax_heads=size["syntax_heads"], text_layers=size["layers"],
        syntax_layers=size["layers"], decoder_layers=size["layers"], dropout=0.0,
    )  # fmt: skip
    model = GuigForConditionalGeneration(config).double().eval()
    model.load_state_dict(
        {
            "encoder.text_embedding.weight": stored["txt_token_emb.weight"],
            "encoder.syntax_embedding.nodes.weight": stored["syn_token_emb.weight"],
            "encoder.syntax_embedding.levels.weight": stored["lvl_token_emb.weight"],
            **layers_of(stored, "txt_encoder.layer_stack.", "encoder.text_layers"),
            **layers_of(stored, "syn_encoder.layer_stack.", "encoder.syntax_layers", grouped=False),
            **layers_of(stored, "multi_enc_decoder.trf_dec_layers.", "decoder.layers"),
        }
    )
    source, nodes, levels = stored["io.source_text"], stored["io.node_ids"], stored["io.level_ids"]
    target = stored["io.target_text"][:, :-1]
    encoded = model.encoder(source, None, nodes, levels)
    torch.testing.assert_close(encoded.last_hidden_state, stored["io.text_encoder_output"], rtol=0, atol=1e-9)
    torch.testing.assert_close(encoded.second_states, stored["io.syntax_encoder_output"], rtol=0, atol=1e-9)
    # The authors' ids of bos and eos are 2 and 3; here they only say what is never generated.
    monkeypatch.setattr(GuigForConditionalGeneration, "never_generated", lambda self: [])
    inputs = {"input_ids": source, "node_ids": nodes, "level_ids": levels, "decoder_input_ids": target}
    logits = model(**inputs, decoder_attention_mask=target != 0).logits
    torch.testing.assert_close(logits[target != 0], stored["io.logits"][target != 0], rtol=0, atol=1e-9)
    logits = model.float()(**inputs, decoder_attention_mask=target != 0).logits
    torch.testing.assert_close(logits[target != 0], stored["io.logits"].float()[target != 0], rtol=0, atol=5e-4)


def test_the_syntax_expander_equals_the_authors(shared):
    facts, stored = read_fixture(shared, "guig_syntax_expander")
    size = facts["sizes"]
    config = GuigExpanderConfig(
        node_vocab_size=size["node_tokens"], level_vocab_size=size["level_tokens"], hidden_size=size["d_model"],
        inner_size=size["d_inner"], key_size=size["d_k"], value_size=size["d_v"], encoder_layers=size["encoder_layers"],
        decoder_layers=size["decoder_layers"], source_heads=size["source_heads"],
        template_heads=size["template_heads"], dropout=0.0,
    )  # fmt: skip
    model = GuigSyntaxExpander(config).double().eval()
    model.load_state_dict(
        {
            "encoder.embedding.nodes.weight": stored["syn_emb.weight"],
            "encoder.embedding.levels.weight": stored["lvl_emb.weight"],
            **layers_of(stored, "src_trf_encoder.layer_stack.", "encoder.source_layers"),
            **layers_of(stored, "tmpl_trf_encoder.layer_stack.", "encoder.template_layers"),
            **layers_of(stored, "multi_enc_decoder.trf_dec_layers.", "decoder.layers"),
        }
    )
    nodes, levels = stored["io.target_nodes"][:, :-1], stored["io.target_levels"][:, :-1]
    output = model(
        node_ids=stored["io.source_nodes"], level_ids=stored["io.source_levels"],
        template_node_ids=stored["io.template_nodes"], template_level_ids=stored["io.template_levels"],
        decoder_input_ids=nodes * size["level_tokens"] + levels, decoder_attention_mask=nodes != 0,
    )  # fmt: skip
    expected = model.join(stored["io.node_logits"], stored["io.level_logits"])
    torch.testing.assert_close(output.logits[nodes != 0], expected[nodes != 0], rtol=0, atol=1e-9)


@pytest.mark.parametrize("tied", [True, False])
@pytest.mark.parametrize("name", MODELS)
def test_a13_every_parameter_has_a_gradient(name, tied):
    model, inputs = tiny(name, tie_word_embeddings=tied).train(), inputs_for(name)
    model(**inputs, labels=labels_for(inputs)).loss.backward()
    for key, parameter in model.named_parameters():
        assert parameter.grad is not None, key
        assert parameter.grad.isfinite().all(), key
        if not key.endswith("key.weight"):  # zero where there is one key only
            assert parameter.grad.abs().max() > 0, key


@pytest.mark.parametrize("beams", [1, 3])
@pytest.mark.parametrize("name", MODELS)
def test_g02_g04_rows_of_a_batch_with_beams_and_cache_are_as_alone_and_without(name, beams):
    model, inputs = tiny(name), without_target(inputs_for(name))
    options = {"num_beams": beams, "do_sample": False, "max_new_tokens": 7}
    together = model.generate(**inputs, **options)
    assert torch.equal(model.generate(**inputs, **options, use_cache=False), together)
    for row in range(3):
        alone = model.generate(**{key: value[row : row + 1] for key, value in inputs.items()}, **options)[0]
        assert torch.equal(together[row][: len(alone)], alone)
        assert not together[row][len(alone) :].any()


@pytest.mark.parametrize("name", MODELS)
def test_sampling_is_the_same_with_the_same_seed(name):
    model, inputs = tiny(name), without_target(inputs_for(name))
    texts = []
    for _ in range(2):
        torch.manual_seed(5)
        texts.append(model.generate(**inputs, do_sample=True, max_new_tokens=7))
    assert torch.equal(*texts)


@pytest.mark.parametrize("sampled", [False, True])
@pytest.mark.parametrize("name", zoo.list_models("guig-expander"))
def test_generated_parses_are_trees_up_to_the_cap(name, sampled):
    model, inputs = tiny(name), without_target(inputs_for(name))
    beams = {"do_sample": True, "num_return_sequences": 20} if sampled else {"num_beams": 4}
    for row in model.generate(**inputs, **beams).tolist():
        nodes, levels = zip(*(divmod(pair, 12) for pair in row), strict=True)
        assert len(row) <= 52  # bos, 50 nodes, eos
        assert (nodes[0], levels[0]) == (1, 1)
        end = row.index(26) if 26 in row else len(row)  # the pair of eos and eos
        assert levels[1] == 4
        assert all(4 < level <= before + 1 for before, level in itertools.pairwise(levels[1:end]))
        assert all(node >= 4 for node in nodes[1:end])
        assert set(row[end + 1 :]) <= {0, 26}  # the library fills beams up with eos


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
@pytest.mark.parametrize("name", MODELS)
def test_n09_autocast_is_finite_forward_and_backward(name, dtype):
    model, inputs = tiny(name).train(), inputs_for(name)
    with torch.autocast("cpu", dtype=dtype):
        loss = model(**inputs, labels=labels_for(inputs)).loss
    loss.backward()
    assert loss.isfinite()
    assert all(parameter.grad.isfinite().all() for parameter in model.parameters())


@pytest.mark.parametrize("name", GUIDED)
def test_what_is_no_text_is_never_generated(name):
    model = tiny(name, first_added_token=17)
    logits = model(**inputs_for(name)).logits
    impossible = (logits == -torch.inf).all((0, 1)).nonzero()[:, 0].tolist()
    assert impossible == [0, 1, 3, 17, 18, 19]


def test_ablations_read_what_their_names_say():
    reads = {
        "guig-no-source": ("input_ids", 4), "guig-no-syntax": ("node_ids", 4),
        "guig-expander-no-source": ("node_ids", 4), "guig-expander-no-template": ("template_node_ids", 4),
    }  # fmt: skip
    for name in MODELS:
        model, inputs = tiny(name), inputs_for(name)
        expected = model(**inputs).logits
        for key in ("input_ids", "node_ids", "template_node_ids"):
            if key in inputs:
                ids = inputs[key]
                other = inputs | {key: torch.where(ids > 3, 4 + (ids - 3) % 8, ids)}
                ignored = reads.get(name, ("",))[0] == key
                assert torch.equal(model(**other).logits, expected) == ignored, (name, key)


def test_sizes_are_those_of_the_authors():
    config = GuigConfig()
    assert (config.hidden_size, config.inner_size, config.key_size, config.dropout) == (256, 1024, 64, 0.1)
    assert (config.text_layers, config.syntax_layers, config.decoder_layers, config.groups) == (4, 3, 6, [5, 3])
    expander = GuigExpanderConfig()
    assert (expander.encoder_layers, expander.decoder_layers, expander.groups) == (4, 6, [4, 4])
