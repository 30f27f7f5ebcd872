#!/usr/bin/python3
"""Models of images: cut, planned and trained on .npy and .npz files, compared with a plain loop.

    train_images.py PENSTOCK [--only NAME,NAME] [--layouts NAME,NAME]

The plain loop is written here, with PyTorch alone: which images a step takes follows from seed and epoch as
docs/training.md says. 20 images and steps of 8, so that a step crosses an epoch. Skipped (77) where there is no
PyTorch with NumPy.
"""

import argparse
import copy
import json
import os
import sys
import tempfile

try:
    import numpy
    import torch
    from torch import nn
    from torch.nn import functional as F
    torch.from_numpy(numpy.zeros(1))
except (ImportError, RuntimeError):
    sys.exit(77)

sys.dont_write_bytecode = True  # the source tree stays as it is
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import model_zoo  # noqa: E402
import train_models  # noqa: E402
from train_models import BATCH, MICRO_BATCH, RATE, SEED, STEPS  # noqa: E402

SHAPE, CLASSES, IMAGES = (3, 8, 8), 10, 20


class ResNet50(model_zoo.ResNet50):
    """Returns logits [samples, classes], as torchvision's does."""

    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(SHAPE[0], self.conv1.out_channels, 3, 1, 1, bias=False)
        self.fc = nn.Linear(self.fc.in_features, CLASSES)

    def forward(self, images):
        x = F.relu(self.bn1(self.conv1(images)))
        for block in self.blocks:
            x = block(x)
        return self.fc(x.mean(dim=(2, 3)))


class ResNet50WithLoss(ResNet50):
    def forward(self, images, labels):
        x = F.relu(self.bn1(self.conv1(images)))
        for block in self.blocks:
            x = block(x)
        return F.cross_entropy(self.fc(x.mean(dim=(2, 3))), labels)


class Vit(nn.Module):
    """Patches of 4 x 4, a class token, learned positions, two blocks."""

    def __init__(self):
        super().__init__()
        width = model_zoo.WIDTH
        self.patches = nn.Conv2d(SHAPE[0], width, 4, 4)
        self.token = nn.Parameter(torch.randn(1, 1, width))
        self.places = nn.Parameter(torch.randn(1, 5, width))
        self.norms = nn.ModuleList([nn.LayerNorm(width) for _ in range(2)])
        self.attention = nn.ModuleList([model_zoo.Attention() for _ in range(2)])
        self.blocks = nn.ModuleList([model_zoo.Mlp() for _ in range(2)])
        self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, CLASSES)

    def forward(self, pixel_values):
        x = self.patches(pixel_values).flatten(2).transpose(1, 2)
        x = torch.cat([self.token.expand(x.shape[0], -1, -1), x], dim=1) + self.places
        none = torch.zeros(1, device=x.device, dtype=x.dtype)
        for norm, attention, block in zip(self.norms, self.attention, self.blocks):
            y = norm(x)
            x = x + attention(y, y, none)
            x = x + block(x)
        return self.head(self.norm(x)[:, 0])


class Convolutions(nn.Module):
    """LeNet's kind: what sees the pixels has no input that needs a gradient."""

    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Conv2d(SHAPE[0], 8, 3, 1, 1), nn.Conv2d(8, 8, 3, 2, 1)
        self.c, self.d = nn.Linear(8 * 4 * 4, 16), nn.Linear(16, CLASSES)

    def forward(self, x):
        x = torch.tanh(self.b(torch.tanh(self.a(x))))
        return self.d(torch.tanh(self.c(x.flatten(1))))


# Model, type of its images.
MODELS = {"resnet50": (ResNet50, "float64"), "resnet50-loss": (ResNet50WithLoss, "uint8"),
          "vit": (Vit, "float32"), "convolutions": (Convolutions, "uint8")}
LAYOUTS = ("1f1b", "zb-h1", "D2", "ZeRO-1")


def data(kind):
    """Images as the file holds them and as the model sees them, and labels."""
    draw = numpy.random.default_rng(1)
    stored = draw.integers(0, 256, (IMAGES, *SHAPE)).astype("uint8")
    if kind != "uint8":
        stored = (stored / 255 - 0.5).astype(kind)
    seen = torch.from_numpy(stored).double()
    return stored, seen / 255 if kind == "uint8" else seen, draw.integers(0, CLASSES, IMAGES)


def shuffled(i, count, key):
    """Entry i of a permutation: eight rounds of a Feistel network, walked back into 0..count-1."""
    half = 1
    while 1 << (2 * half) < count:
        half += 1
    mask = (1 << half) - 1
    while True:
        left, right = i >> half, i & mask
        for turn in range(8):
            left, right = right, left ^ (train_models.mixed_bits(key, turn, right) & mask)
        i = left << half | right
        if i < count:
            return i


def number(step, i):
    taken = step * BATCH + i
    return shuffled(taken % IMAGES, IMAGES, train_models.mixed_bits(SEED, taken // IMAGES))


def plain_loop(model, images, labels, replicas):
    """Losses by step, with the gradients of each replica summed first, as train_models.plain_loop does."""
    model = model.double().train()
    takes_labels = len(train_models.argument_names(model)) == 2
    trained = list(model.parameters())
    optimizer = torch.optim.AdamW(trained, lr=RATE, betas=(0.9, 0.95), eps=1e-8, weight_decay=0.0)
    # Each replica has its own running means, which training does not read.
    losses, labels = [], torch.from_numpy(labels)
    for step in range(STEPS):
        sums, total = [0.0] * len(trained), 0.0
        for replica in range(replicas):
            optimizer.zero_grad()
            part = 0.0
            for first in range(replica * BATCH // replicas, (replica + 1) * BATCH // replicas, MICRO_BATCH):
                rows = [number(step, i) for i in range(first, first + MICRO_BATCH)]
                x, y = images[rows], labels[rows]
                loss = model(x, y) if takes_labels else F.cross_entropy(model(x), y)
                loss = loss * (MICRO_BATCH / BATCH)
                loss.backward()
                part += loss.item()
            total += part
            sums = [s + p.grad for p, s in zip(trained, sums)]
        for parameter, gradient in zip(trained, sums):
            parameter.grad = gradient
        optimizer.step()
        losses.append(total)
    return losses


class Runner(train_models.Runner):
    def files(self, kind, stored, labels):
        """Options that name the data: pairs of .npy files, two of them, or one .npz."""
        if kind == "uint8":
            numpy.savez(self.path("data.npz"), images=stored, labels=labels.astype("uint8"))
            return ["--data", "data.npz"]
        cut = 13
        for name, rows in (("a", slice(0, cut)), ("b", slice(cut, None))):
            numpy.save(self.path(f"images-{name}.npy"), stored[rows])
            numpy.save(self.path(f"labels-{name}.npy"), labels[rows])
        return ["--data", "images-*.npy", "--labels", "labels-*.npy"]

    def profile_images(self):
        return self.run("profile", "model.pt", "--image", "x".join(map(str, SHAPE)), "--micro-batch-sizes",
                        str(MICRO_BATCH), "--beside", "0", "--spread", "100", "--budget", "20s", "--precision",
                        "float64", "-o", "profile.json")

    def trained(self, layout, files, *options):
        planned = self.run("plan", "profile.json", "--cluster", "cluster.json", "--for", "penstock", "--global-batch",
                           str(BATCH), "-o", "plan.json", *train_models.LAYOUTS[layout])
        if planned.returncode != 0:
            return planned
        return self.run("train", "plan.json", *files, "--steps", str(STEPS), "--log", "run.jsonl", "--transport",
                        "loopback", "--no-pinning", *options)

    def logged(self):
        with open(self.path("run.jsonl"), encoding="utf-8") as file:
            return [json.loads(line) for line in file.read().split("\n")[1:] if line]


def outcome_of(runner, name, layouts):
    """(words, whether it is wrong)"""
    make, kind = MODELS[name]
    torch.manual_seed(1)
    model = make().train()
    torch.jit.script(copy.deepcopy(model)).save(runner.path("model.pt"))
    profiled = runner.profile_images()
    if profiled.returncode != 0:
        return profiled.stderr, True
    with open(runner.path("profile.json"), encoding="utf-8") as file:
        words, wrong = f"{len(json.load(file)['sections'])} sections", False
    stored, seen, labels = data(kind)
    files = runner.files(kind, stored, labels)
    for layout in layouts:
        replicas = train_models.replicas_of(layout)
        expected = plain_loop(copy.deepcopy(model), seen, labels, replicas)
        result = runner.trained(layout, files)
        if result.returncode != 0:
            return f"{words}, {layout}: {result.stderr}", True
        losses = [row["loss"] for row in runner.logged()]
        difference = max(abs(a - b) for a, b in zip(losses, expected))
        wrong |= not (difference <= 1e-10 and len(losses) == STEPS)
        wrong |= any(row["tokens"] != BATCH for row in runner.logged())  # an image has one target
        words += f", {layout} {difference:.0e}"
    return words, wrong


def refusals(runner):
    """What does not fit is refused with what it is and what to do; of the last model that was run."""
    stored, _, labels = data("float32")
    numpy.save(runner.path("images.npy"), stored)
    numpy.save(runner.path("labels.npy"), labels)
    numpy.save(runner.path("few.npy"), labels[1:])
    numpy.save(runner.path("wrong.npy"), numpy.full_like(labels, CLASSES))
    numpy.save(runner.path("small.npy"), stored[:, :, 1:])
    numpy.savez_compressed(runner.path("packed.npz"), images=stored, labels=labels)
    pair = ["--data", "images.npy", "--labels"]
    expected = (
        (["--data", "images.npy"], "images.npy: the model takes images with labels, and there are no labels"),
        ([*pair, "few.npy"], "few.npy: holds 19 labels, and images.npy holds 20 images"),
        ([*pair, "wrong.npy"], "a target is 10, and the model's result has 10 classes"),
        (["--data", "small.npy", "--labels", "labels.npy"],
         "small.npy: its images are 3x7x8 (channels, height, width), and the model was profiled with 3x8x8"),
        (["--data", "packed.npz"], "packed.npz: images: is compressed"),
        (["--data", "data.txt", "--labels", "labels.npy"], "data.txt: is no .npy array"))
    for options, said in expected:
        result = runner.trained("1f1b", options)
        if result.returncode != 2 or said not in result.stderr:
            print(f"{options}: exit {result.returncode}: {result.stderr}")
            return False
    # Images that are kept apart judge the model: without changes of the weights its loss is that of the whole.
    judged = ["--data", "images.npy", "--labels", "labels.npy", "--validation-data", "images.npy",
              "--validation-labels", "labels.npy", "--eval-every", "4"]
    result = runner.trained("1f1b", judged)
    if result.returncode != 0 or "evaluation_loss" not in runner.logged()[-1]:
        print(result.stderr)
        return False
    return True


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("penstock")
    parser.add_argument("--only", default="vit,resnet50-loss")
    parser.add_argument("--layouts", default="1f1b,D2")
    options = parser.parse_args()
    names = list(MODELS) if options.only == "all" else options.only.split(",")
    layouts = list(LAYOUTS) if options.layouts == "all" else options.layouts.split(",")
    failed = 0
    for name in names:
        with tempfile.TemporaryDirectory() as folder:
            runner = Runner(os.path.abspath(options.penstock), folder)
            words, wrong = outcome_of(runner, name, layouts)
            if name == names[0] and not wrong and not refusals(runner):
                wrong = True
        failed += wrong
        print(f"{name} ({MODELS[name][1]}): {words}{' WRONG' if wrong else ''}", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
