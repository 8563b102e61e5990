#!/usr/bin/env python3
"""What Hugging Face transformers does where `bench_cuda model SHAPE bf16 1` measures Wick: random weights of Qwen3 in bf16
on one CUDA device, batch 1: prefill of 2,048 tokens and decode, eagerly and compiled with a static cache.

    python3 benches/cuda/compare_transformers.py 0.6b    (or 8b)
"""

import argparse
import statistics
import time

import torch
from transformers import DynamicCache, Qwen3Config, Qwen3ForCausalLM, StaticCache

SHAPES = {
    "0.6b": dict(hidden_size=1024, intermediate_size=3072, num_hidden_layers=28, num_attention_heads=16,
                 tie_word_embeddings=True),
    "8b": dict(hidden_size=4096, intermediate_size=12288, num_hidden_layers=36, num_attention_heads=32,
               tie_word_embeddings=False),
}
PROMPT, PREFILL, WARM, DECODE = 16, 2048, 30, 30


def make_model(shape):
    config = Qwen3Config(vocab_size=151936, head_dim=128, num_key_value_heads=8, max_position_embeddings=40960,
                         rms_norm_eps=1e-6, rope_theta=1e6, **SHAPES[shape])
    config._attn_implementation = "sdpa"
    torch.set_grad_enabled(False)
    torch.set_default_dtype(torch.bfloat16)
    with torch.device("cuda"):
        return Qwen3ForCausalLM(config).eval()


def seconds(body):
    torch.cuda.synchronize()
    start = time.perf_counter()
    body()
    torch.cuda.synchronize()
    return time.perf_counter() - start


def prefill(model, ids):
    def once():
        model(input_ids=ids, use_cache=False, logits_to_keep=1).logits.argmax(-1).item()

    return ids.shape[1] / statistics.median(seconds(once) for _ in range(7))


def decode(step, token):
    """Tokens a second of `step(token)`, which gives the next one; the first ones are not counted."""
    times = []
    for _ in range(WARM + DECODE):
        result = []
        times.append(seconds(lambda: result.append(step(token))))
        token = result[0]
    return 1 / statistics.median(times[WARM:])


def eager_step(model, ids):
    cache = DynamicCache(config=model.config)
    first = model(input_ids=ids, past_key_values=cache, logits_to_keep=1).logits[:, -1:].argmax(-1)

    def step(token):
        token = model(input_ids=token, past_key_values=cache).logits[:, -1:].argmax(-1)
        token.item()
        return token

    return step, first


def compiled_step(model, ids):
    cache = StaticCache(config=model.config, max_cache_len=256)
    positions = torch.arange(ids.shape[1], device="cuda")
    first = model(input_ids=ids, past_key_values=cache, cache_position=positions, logits_to_keep=1)
    forward = torch.compile(model.forward, mode="reduce-overhead", fullgraph=True)
    at = [torch.tensor([ids.shape[1]], device="cuda")]

    def step(token):
        out = forward(input_ids=token, past_key_values=cache, cache_position=at[0], position_ids=at[0][None])
        token = out.logits[:, -1:].argmax(-1).clone()
        token.item()
        at[0] = at[0] + 1
        return token

    return step, first.logits[:, -1:].argmax(-1).clone()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("shape", choices=sorted(SHAPES))
    model = make_model(parser.parse_args().shape)
    ids = torch.randint(0, 150000, (1, PREFILL), device="cuda")
    print(f"prefill {PREFILL}: {prefill(model, ids):.0f} tokens/s", flush=True)
    for name, make_step in (("eager", eager_step), ("compiled, static cache", compiled_step)):
        print(f"decode, {name}: {decode(*make_step(model, ids[:, :PROMPT])):.1f} tokens/s", flush=True)


if __name__ == "__main__":
    main()
