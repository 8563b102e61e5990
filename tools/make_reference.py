#!/usr/bin/env python3
"""Writes what PyTorch computes for a causal language model, for `wick verify` (docs/verify.md).

    tools/make_reference.py models/Qwen3-0.6B --out models/Qwen3-0.6B
    tools/make_reference.py Qwen/Qwen3-0.6B --out qwen3 --copy-model --prompt-ids 9707,11,1879

Needs torch, transformers and safetensors. Weights are loaded as float32, which holds f16 and bf16 exactly, so that
nothing but the order of sums differs from other exact arithmetic. Attention is the plain ("eager") one, since the
others do not hand out their patterns.
"""

import argparse
import json
import pathlib
import shutil

import torch
from safetensors.torch import save_file
from transformers import AutoModelForCausalLM

MODEL_FILES = ("*.json", "*.safetensors", "*.model", "*.txt", "*.jinja")


def find_folder(model):
    """The folder of a model that is a path, or an id of the Hugging Face hub."""
    if pathlib.Path(model).is_dir():
        return pathlib.Path(model)
    from huggingface_hub import snapshot_download

    return pathlib.Path(snapshot_download(model, allow_patterns=list(MODEL_FILES)))


def load_model(folder):
    for name in ("dtype", "torch_dtype"):  # older versions of transformers know the second only
        try:
            model = AutoModelForCausalLM.from_pretrained(folder, attn_implementation="eager", **{name: torch.float32})
            break
        except TypeError:
            if name == "torch_dtype":
                raise
    wrong = {str(parameter.dtype) for parameter in model.parameters()} - {"torch.float32"}
    if wrong:
        raise SystemExit(f"{folder}: was loaded with weights of {', '.join(sorted(wrong))}, expected float32")
    return model.eval()


def vocabulary_size(model):
    config = getattr(model.config, "text_config", None) or model.config
    return config.vocab_size


def random_ids(model, length, seed):
    generator = torch.Generator().manual_seed(seed)
    return torch.randint(0, vocabulary_size(model), (1, length), generator=generator)


def compute_states(model, ids):
    """Logits, hidden states and attention patterns of one text."""
    out = model(input_ids=ids, use_cache=False, output_hidden_states=True, output_attentions=True)
    tensors = {"logits": out.logits}
    layers = (getattr(model.config, "text_config", None) or model.config).num_hidden_layers
    hidden = getattr(out, "hidden_states", None) or ()
    if len(hidden) == layers + 1:
        tensors.update({f"hidden_{i}": state for i, state in enumerate(hidden)})
    elif hidden:
        print(f"note: {len(hidden)} hidden states for {layers} layers: left out, since it is not clear what they are")
    patterns = [pattern for pattern in getattr(out, "attentions", None) or () if pattern is not None]
    tensors.update({f"attention_{i}": pattern for i, pattern in enumerate(patterns)})
    return tensors


def write_greedily(model, ids, count):
    """The best tokens behind a text. Every step reads it all again: slow, but free of what a cache may do."""
    written = []
    for _ in range(count):
        best = model(input_ids=ids, use_cache=False).logits[0, -1].argmax()
        written.append(best)
        ids = torch.cat([ids, best.reshape(1, 1)], dim=1)
    return torch.stack(written).reshape(1, -1)


def copy_model(folder, out):
    for pattern in MODEL_FILES:
        for path in folder.glob(pattern):
            if path.stem != "reference" and path.resolve() != (out / path.name).resolve():
                shutil.copy(path, out / path.name)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", help="a Hugging Face folder, or an id of the hub")
    parser.add_argument("--out", required=True, type=pathlib.Path, help="the folder to write to")
    parser.add_argument("--prompt-ids", help="token ids with commas; default: random ones")
    parser.add_argument("--length", type=int, default=24, help="how many random tokens (default: 24)")
    parser.add_argument("--greedy", type=int, default=24, help="how many tokens to write behind them (default: 24)")
    parser.add_argument("--seed", type=int, default=0, help="of the random tokens (default: 0)")
    parser.add_argument("--copy-model", action="store_true", help="copy the model's files to the folder, too")
    options = parser.parse_args()

    folder = find_folder(options.model)
    model = load_model(folder)
    if options.prompt_ids:
        ids = torch.tensor([[int(word) for word in options.prompt_ids.split(",")]])
    else:
        ids = random_ids(model, options.length, options.seed)
    short_ids = random_ids(model, 9, options.seed + 1)
    with torch.no_grad():
        tensors = {"input_ids": ids, "input_ids_short": short_ids, **compute_states(model, ids)}
        tensors["logits_short"] = model(input_ids=short_ids, use_cache=False).logits
        if options.greedy > 0:
            tensors["greedy"] = write_greedily(model, ids, options.greedy)
    tensors = {name: tensor.detach().clone().contiguous() for name, tensor in tensors.items()}

    options.out.mkdir(parents=True, exist_ok=True)
    save_file(tensors, str(options.out / "reference.safetensors"))
    about = {
        "model_type": model.config.model_type,
        "what": f"float32 arithmetic on the stored weights; greedy = {options.greedy} argmax tokens after input_ids",
        "tensors": {name: [str(t.dtype).removeprefix("torch."), list(t.shape)] for name, t in tensors.items()},
    }
    (options.out / "reference.json").write_text(json.dumps(about, indent=1) + "\n")
    if options.copy_model:
        copy_model(folder, options.out)
    print(f"wrote {len(tensors)} tensors to {options.out / 'reference.safetensors'}")


if __name__ == "__main__":
    main()
