#!/usr/bin/env python3
"""Usage: mistakes.py PENSTOCK. What mistakes.txt says of mistakes is what the program answers.

Run from the repository root."""
import os
import shutil
import subprocess
import sys
import tempfile


def rows(path):
    with open(path, encoding="utf-8") as lines:
        for number, line in enumerate(lines, 1):
            line = line.strip("\n")
            if not line or line.startswith("#"):
                continue
            command, answer = line.split(" => ")
            exit_code, words = answer.split(" ", 1)
            yield number, command, int(exit_code), words.split("|")


def prepare(penstock, folder):
    for source, name in (("data/models/llama-2-70b.json", "config.json"),
                         ("data/models/llama-2-70b.json", "model/config.json"),
                         ("data/profiles/gpt-6.7b.a100-40gb.json", "profile.json"),
                         ("data/clusters/a100-40gb-p4d-8x8.json", "cluster.json"),
                         ("data/schedules/1f1b-2x3.csv", "my.csv")):
        target = os.path.join(folder, name)
        os.makedirs(os.path.dirname(target), exist_ok=True)
        shutil.copy(source, target)
    for name, text in (("model.safetensors.index.json", '{"weight_map": {}}'), ("empty.json", ""),
                       ("ds_config.json", '{"train_batch_size": 64}'),
                       ("vit.json", '{"model_type": "vit", "hidden_size": 768, "num_hidden_layers": 12, '
                                    '"num_attention_heads": 12, "image_size": 224}')):
        with open(os.path.join(folder, name), "w", encoding="utf-8") as file:
            file.write(text)
    subprocess.run([penstock, "plan", "profile.json", "--cluster", "cluster.json", "--gpus", "8",
                    "--global-batch", "16", "-o", "plan.json"], cwd=folder, check=True,
                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def main():
    penstock = os.path.abspath(sys.argv[1])
    wrong = total = 0
    with tempfile.TemporaryDirectory() as folder:
        prepare(penstock, folder)
        for number, command, exit_code, words in rows("tests/cli/mistakes.txt"):
            total += 1
            done = subprocess.run(f'"{penstock}" {command}', shell=True, cwd=folder, text=True,
                                  stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=120)
            text = " ".join(done.stdout.split())
            missing = [word for word in words if " ".join(word.split()) not in text]
            if missing or done.returncode != exit_code:
                wrong += 1
                print(f"mistakes.txt:{number}: penstock {command}\n  exit {done.returncode}, "
                      f"expected {exit_code}; not said: {missing}\n  {text[:300]}")
    print(f"{total - wrong} of {total} answered as the table says")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
