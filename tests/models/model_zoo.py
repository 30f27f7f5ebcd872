"""Models as people write them, small: what tests/models/train_models.py cuts and trains.

Each entry of MODELS makes a module; forward takes token ids [samples, TOKENS] and returns logits, a tuple or
dict with them, or takes the targets as well and returns the loss. Frozen parameters do not require a gradient.
"""

import torch
from torch import nn
from torch.nn import functional as F

VOCABULARY, WIDTH, TOKENS, HEADS = 256, 16, 8, 2


def loss_of(logits, targets):
    return F.cross_entropy(logits.reshape(-1, logits.shape[-1]), targets.reshape(-1))


class Attention(nn.Module):
    def __init__(self):
        super().__init__()
        self.q, self.out = nn.Linear(WIDTH, WIDTH), nn.Linear(WIDTH, WIDTH)
        self.kv, self.heads = nn.Linear(WIDTH, 2 * WIDTH), HEADS

    def forward(self, x, memory, mask):
        b, t, c = x.shape
        q = self.q(x).view(b, t, self.heads, c // self.heads).transpose(1, 2)
        k, v = self.kv(memory).view(b, memory.shape[1], 2, self.heads, c // self.heads).permute(2, 0, 3, 1, 4).unbind(0)
        scores = q @ k.transpose(-2, -1) * (c // self.heads) ** -0.5 + mask
        return self.out((scores.softmax(-1) @ v).transpose(1, 2).reshape(b, t, c))


def causal_mask(ids):
    t = ids.shape[1]
    return torch.full((t, t), -1e9, device=ids.device).triu(1)


class Mlp(nn.Module):
    def __init__(self, dropout=0.0):
        super().__init__()
        self.up, self.down, self.drop = nn.Linear(WIDTH, 4 * WIDTH), nn.Linear(4 * WIDTH, WIDTH), nn.Dropout(dropout)

    def forward(self, x):
        return self.drop(self.down(F.gelu(self.up(x))))


class Block(nn.Module):
    def __init__(self, dropout=0.0):
        super().__init__()
        self.ln_1, self.ln_2, self.attn, self.mlp = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH), Attention(), Mlp(dropout)

    def forward(self, x, mask):
        h = self.ln_1(x)
        x = x + self.attn(h, h, mask)
        return x + self.mlp(self.ln_2(x))


class Gpt2(nn.Module):
    """GPT-2: learnt positions, a mask made of the ids' sizes, the head tied to the embedding or not."""

    def __init__(self, tied=True, dropout=0.0, layers=3):
        super().__init__()
        self.wte, self.wpe = nn.Embedding(VOCABULARY, WIDTH), nn.Embedding(TOKENS, WIDTH)
        self.h = nn.ModuleList([Block(dropout) for _ in range(layers)])
        self.ln_f, self.lm_head = nn.LayerNorm(WIDTH), nn.Linear(WIDTH, VOCABULARY, bias=False)
        if tied:
            self.lm_head.weight = self.wte.weight

    def forward(self, ids):
        x = self.wte(ids) + self.wpe(torch.arange(ids.shape[1], device=ids.device))
        mask = causal_mask(ids).to(x.dtype)
        for block in self.h:
            x = block(x, mask)
        return self.lm_head(self.ln_f(x))


class PaddedGpt(Gpt2):
    """The mask comes in, and depends on its values: every block reads it."""

    def forward(self, ids, attention_mask):
        x = self.wte(ids)
        mask = causal_mask(ids).to(x.dtype) + (1.0 - attention_mask.to(x.dtype))[:, None, None, :] * -1e9
        for block in self.h:
            x = block(x, mask)
        return self.lm_head(self.ln_f(x))


class GptWithLoss(Gpt2):
    def forward(self, ids, targets):
        x = self.wte(ids)
        mask = causal_mask(ids).to(x.dtype)
        for block in self.h:
            x = block(x, mask)
        return loss_of(self.lm_head(self.ln_f(x)), targets)


class RmsNorm(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(WIDTH))

    def forward(self, x):
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6) * self.weight


class LlamaBlock(nn.Module):
    def __init__(self):
        super().__init__()
        self.n1, self.n2, self.heads = RmsNorm(), RmsNorm(), HEADS
        self.qkv, self.o = nn.Linear(WIDTH, 3 * WIDTH, bias=False), nn.Linear(WIDTH, WIDTH, bias=False)
        self.gate, self.up = nn.Linear(WIDTH, 2 * WIDTH, bias=False), nn.Linear(WIDTH, 2 * WIDTH, bias=False)
        self.down = nn.Linear(2 * WIDTH, WIDTH, bias=False)

    def rotate(self, x, cos, sin):
        a, b = x.chunk(2, dim=-1)
        return x * cos + torch.cat([-b, a], dim=-1) * sin

    def forward(self, x, cos, sin, mask):
        b, t, c = x.shape
        q, k, v = self.qkv(self.n1(x)).view(b, t, 3, self.heads, c // self.heads).permute(2, 0, 3, 1, 4).unbind(0)
        q, k = self.rotate(q, cos, sin), self.rotate(k, cos, sin)
        scores = (q @ k.transpose(-2, -1) * (c // self.heads) ** -0.5 + mask).softmax(-1)
        x = x + self.o((scores @ v).transpose(1, 2).reshape(b, t, c))
        h = self.n2(x)
        return x + self.down(F.silu(self.gate(h)) * self.up(h))


class Llama(nn.Module):
    """Rotary positions from a buffer, gated perceptrons, no biases."""

    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(VOCABULARY, WIDTH)
        self.layers = nn.ModuleList([LlamaBlock() for _ in range(3)])
        self.norm, self.head = RmsNorm(), nn.Linear(WIDTH, VOCABULARY, bias=False)
        width = WIDTH // HEADS
        self.register_buffer("inv_freq", 10000.0 ** (-torch.arange(0, width, 2) / width))

    def forward(self, ids):
        x = self.embed(ids)
        at = torch.arange(ids.shape[1], device=ids.device).to(x.dtype)[:, None] * self.inv_freq.to(x.dtype)[None, :]
        angles = torch.cat([at, at], dim=-1)
        cos, sin, mask = angles.cos(), angles.sin(), causal_mask(ids).to(x.dtype)
        for layer in self.layers:
            x = layer(x, cos, sin, mask)
        return self.head(self.norm(x))


class DecoderBlock(nn.Module):
    def __init__(self):
        super().__init__()
        self.n1, self.n2, self.n3 = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.attn, self.cross, self.mlp = Attention(), Attention(), Mlp()

    def forward(self, x, memory, mask):
        h = self.n1(x)
        x = x + self.attn(h, h, mask)
        x = x + self.cross(self.n2(x), memory, torch.zeros(1, device=x.device, dtype=x.dtype))
        return x + self.mlp(self.n3(x))


class T5(nn.Module):
    """An encoder whose result every block of the decoder reads; both share the embedding."""

    def __init__(self):
        super().__init__()
        self.tokens = TOKENS
        self.shared = nn.Embedding(VOCABULARY, WIDTH)
        self.encoder, self.decoder = nn.ModuleList([Block(), Block()]), nn.ModuleList([DecoderBlock(), DecoderBlock()])
        self.bias = nn.Embedding(2 * TOKENS, HEADS)  # of relative positions, read by all blocks
        self.lm_head = nn.Linear(WIDTH, VOCABULARY, bias=False)

    def forward(self, input_ids, decoder_input_ids):
        t = input_ids.shape[1]
        at = torch.arange(t, device=input_ids.device)
        bias = self.bias(at[None, :] - at[:, None] + self.tokens).permute(2, 0, 1)
        memory = self.shared(input_ids)
        for block in self.encoder:
            memory = block(memory, bias)
        x = self.shared(decoder_input_ids)
        mask = bias + causal_mask(input_ids).to(x.dtype)
        for block in self.decoder:
            x = block(x, memory, mask)
        return self.lm_head(x)


class Experts(nn.Module):
    """Every expert sees all tokens and counts by its gate; of the gates the two largest are kept."""

    def __init__(self, experts=4):
        super().__init__()
        self.gate, self.experts = nn.Linear(WIDTH, experts), nn.ModuleList([Mlp() for _ in range(experts)])

    def forward(self, x):
        p = self.gate(x).softmax(-1)
        top, index = p.topk(2, dim=-1)
        weights = torch.zeros_like(p).scatter(-1, index, top / top.sum(-1, keepdim=True))
        y = torch.zeros_like(x)
        for i, expert in enumerate(self.experts):
            y = y + expert(x) * weights[:, :, i:i + 1]
        load = (weights > 0).to(p.dtype).mean(dim=(0, 1))
        return y, (load * p.mean(dim=(0, 1))).sum() * p.shape[-1]


class SparseExperts(Experts):
    """Each expert sees its own tokens only."""

    def forward(self, x):
        b, t, c = x.shape
        flat = x.reshape(b * t, c)
        p = self.gate(flat).softmax(-1)
        top, index = p.max(-1)
        y = torch.zeros_like(flat)
        for i, expert in enumerate(self.experts):
            mine = (index == i).nonzero().squeeze(-1)
            y = y.index_add(0, mine, expert(flat[mine]) * top[mine].unsqueeze(-1))
        return y.reshape(b, t, c), p.mean(0).pow(2).sum() * p.shape[-1]


class Moe(nn.Module):
    """The auxiliary losses of all blocks are part of the loss."""

    def __init__(self, kind=Experts):
        super().__init__()
        self.wte = nn.Embedding(VOCABULARY, WIDTH)
        self.blocks = nn.ModuleList([kind() for _ in range(3)])
        self.norms = nn.ModuleList([nn.LayerNorm(WIDTH) for _ in range(3)])
        self.head = nn.Linear(WIDTH, VOCABULARY)

    def run(self, ids):
        x = self.wte(ids)
        auxiliary = torch.zeros(1, dtype=x.dtype, device=x.device).sum()
        for block, norm in zip(self.blocks, self.norms):
            y, own = block(norm(x))
            x, auxiliary = x + y, auxiliary + own
        return self.head(x), auxiliary

    def forward(self, ids, targets):
        logits, auxiliary = self.run(ids)
        return loss_of(logits, targets) + 0.01 * auxiliary


class MoeTuple(Moe):
    def forward(self, ids):
        return self.run(ids)


class Residual(nn.Module):
    def __init__(self, channels, out, stride=1):
        super().__init__()
        self.c1, self.n1 = nn.Conv1d(channels, out, 3, stride, 1, bias=False), nn.BatchNorm1d(out)
        self.c2, self.n2 = nn.Conv1d(out, out, 3, 1, 1, bias=False), nn.BatchNorm1d(out)
        self.skip = nn.Sequential() if channels == out else nn.Sequential(nn.Conv1d(channels, out, 1, stride, bias=False),
                                                                          nn.BatchNorm1d(out))

    def forward(self, x):
        return F.relu(self.skip(x) + self.n2(self.c2(F.relu(self.n1(self.c1(x))))))


class ResNet(nn.Module):
    """Convolutions and batch norms along the tokens; ResNet-50's bottlenecks are ResNet2d below."""

    def __init__(self):
        super().__init__()
        self.wte = nn.Embedding(VOCABULARY, WIDTH)
        self.stem = nn.Sequential(nn.Conv1d(WIDTH, WIDTH, 3, 1, 1, bias=False), nn.BatchNorm1d(WIDTH), nn.ReLU())
        self.layers = nn.ModuleList([Residual(WIDTH, WIDTH), Residual(WIDTH, 2 * WIDTH), Residual(2 * WIDTH, 2 * WIDTH)])
        self.head = nn.Linear(2 * WIDTH, VOCABULARY)

    def forward(self, ids):
        x = self.stem(self.wte(ids).transpose(1, 2))
        for layer in self.layers:
            x = layer(x)
        return self.head(x.transpose(1, 2))


class Bottleneck(nn.Module):
    def __init__(self, channels, inner, stride):
        super().__init__()
        out = 4 * inner
        self.c1, self.n1 = nn.Conv2d(channels, inner, 1, bias=False), nn.BatchNorm2d(inner)
        self.c2, self.n2 = nn.Conv2d(inner, inner, 3, stride, 1, bias=False), nn.BatchNorm2d(inner)
        self.c3, self.n3 = nn.Conv2d(inner, out, 1, bias=False), nn.BatchNorm2d(out)
        self.down = nn.Sequential()
        if stride != 1 or channels != out:
            self.down = nn.Sequential(nn.Conv2d(channels, out, 1, stride, bias=False), nn.BatchNorm2d(out))

    def forward(self, x):
        y = F.relu(self.n2(self.c2(F.relu(self.n1(self.c1(x))))))
        return F.relu(self.n3(self.c3(y)) + self.down(x))


class ResNet50(nn.Module):
    """The 3 + 4 + 6 + 3 bottlenecks of ResNet-50, narrow, on ids as an image of 1 x 8 x TOKENS bits; its class is the
    first target."""

    def __init__(self, width=4):
        super().__init__()
        self.conv1, self.bn1 = nn.Conv2d(1, width, 3, 1, 1, bias=False), nn.BatchNorm2d(width)
        blocks, channels = [], width
        for stage, count in enumerate((3, 4, 6, 3)):
            for i in range(count):
                blocks.append(Bottleneck(channels, width * 2 ** stage, 2 if i == 0 and stage > 0 else 1))
                channels = 4 * width * 2 ** stage
        self.blocks, self.fc = nn.ModuleList(blocks), nn.Linear(channels, VOCABULARY)

    def forward(self, ids, targets):
        bits = (ids[:, None, None, :] // 2 ** torch.arange(8, device=ids.device)[None, None, :, None]) % 2
        x = F.relu(self.bn1(self.conv1(bits.to(self.fc.weight.dtype))))
        for block in self.blocks:
            x = block(x)
        return F.cross_entropy(self.fc(x.mean(dim=(2, 3))), targets[:, 0])


class Classifier(nn.Module):
    """One class per sample, which is no token loss: the logits do not fit the targets."""

    def __init__(self):
        super().__init__()
        self.wte, self.a, self.b = nn.Embedding(VOCABULARY, WIDTH), nn.Linear(WIDTH, WIDTH), nn.Linear(WIDTH, VOCABULARY)

    def forward(self, ids):
        return self.b(torch.tanh(self.a(self.wte(ids).mean(1))))


class ClassifierWithLoss(Classifier):
    def forward(self, ids, labels):
        return F.cross_entropy(self.b(torch.tanh(self.a(self.wte(ids).mean(1)))), labels[:, 0])


class Unet(nn.Module):
    """Every step down is read by the step up beside it."""

    def __init__(self):
        super().__init__()
        self.wte = nn.Embedding(VOCABULARY, WIDTH)
        self.down1, self.down2 = nn.Conv1d(WIDTH, WIDTH, 2, 2), nn.Conv1d(WIDTH, WIDTH, 2, 2)
        self.middle = nn.Conv1d(WIDTH, WIDTH, 3, 1, 1)
        self.up2, self.up1 = nn.ConvTranspose1d(2 * WIDTH, WIDTH, 2, 2), nn.ConvTranspose1d(2 * WIDTH, WIDTH, 2, 2)
        self.head = nn.Linear(2 * WIDTH, VOCABULARY)

    def forward(self, ids):
        x = self.wte(ids).transpose(1, 2)
        a = torch.tanh(self.down1(x))
        b = torch.tanh(self.down2(a))
        y = torch.tanh(self.middle(b))
        y = torch.tanh(self.up2(torch.cat([y, b], dim=1)))
        y = torch.tanh(self.up1(torch.cat([y, a], dim=1)))
        return self.head(torch.cat([y, x], dim=1).transpose(1, 2))


class TorchEncoder(nn.Module):
    def __init__(self, dropout=0.0):
        super().__init__()
        self.wte, self.head = nn.Embedding(VOCABULARY, WIDTH), nn.Linear(WIDTH, VOCABULARY)
        self.encoder = nn.TransformerEncoder(
            nn.TransformerEncoderLayer(WIDTH, HEADS, 2 * WIDTH, dropout, batch_first=True), 2)

    def forward(self, ids):
        return self.head(self.encoder(self.wte(ids)))


class Lstm(nn.Module):
    def __init__(self):
        super().__init__()
        self.wte, self.head = nn.Embedding(VOCABULARY, WIDTH), nn.Linear(WIDTH, VOCABULARY)
        self.lstm = nn.LSTM(WIDTH, WIDTH, num_layers=2, batch_first=True)

    def forward(self, ids):
        return self.head(self.lstm(self.wte(ids))[0])


class SharedBlocks(nn.Module):
    """ALBERT: one block, applied three times."""

    def __init__(self):
        super().__init__()
        self.wte, self.block, self.head = nn.Embedding(VOCABULARY, WIDTH), Mlp(), nn.Linear(WIDTH, VOCABULARY)
        self.norm = nn.LayerNorm(WIDTH)

    def forward(self, ids):
        x = self.wte(ids)
        for _ in range(3):
            x = x + self.block(self.norm(x))
        return self.head(x)


class BatchNormed(nn.Module):
    def __init__(self):
        super().__init__()
        self.wte = nn.Embedding(VOCABULARY, WIDTH)
        self.a, self.na = nn.Linear(WIDTH, WIDTH), nn.BatchNorm1d(WIDTH)
        self.b, self.nb = nn.Linear(WIDTH, WIDTH), nn.BatchNorm1d(WIDTH)
        self.head = nn.Linear(WIDTH, VOCABULARY)

    def forward(self, ids):
        x = torch.tanh(self.na(self.a(self.wte(ids)).transpose(1, 2)))
        x = torch.tanh(self.nb(self.b(x.transpose(1, 2)).transpose(1, 2)))
        return self.head(x.transpose(1, 2))


class SimpleMlp(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Embedding(VOCABULARY, WIDTH), nn.Linear(WIDTH, WIDTH), nn.Tanh(),
                                 nn.Linear(WIDTH, WIDTH), nn.Tanh(), nn.Linear(WIDTH, VOCABULARY))

    def forward(self, ids):
        return self.net(ids)


class GptDict(Gpt2):
    def forward(self, ids):
        x = self.wte(ids)
        mask = causal_mask(ids).to(x.dtype)
        for block in self.h:
            x = block(x, mask)
        return {"logits": self.lm_head(self.ln_f(x)), "hidden": x}


class GptTuple(Gpt2):
    def forward(self, ids):
        x = self.wte(ids)
        mask = causal_mask(ids).to(x.dtype)
        for block in self.h:
            x = block(x, mask)
        return self.lm_head(self.ln_f(x)), x


class TwoTexts(nn.Module):
    """Two inputs of unknown meaning."""

    def __init__(self):
        super().__init__()
        self.wte, self.head = nn.Embedding(VOCABULARY, WIDTH), nn.Linear(WIDTH, VOCABULARY)

    def forward(self, first, second):
        return self.head(self.wte(first) + self.wte(second))


class Accumulated(nn.Module):
    """Changes what a view of it shows."""

    def __init__(self):
        super().__init__()
        self.wte, self.head = nn.Embedding(VOCABULARY, WIDTH), nn.Linear(WIDTH, VOCABULARY)

    def forward(self, ids):
        x = self.wte(ids) * 1.0
        flat = x.view(-1)
        x.mul_(2.0)
        return self.head(x + flat.mean())


class Distilled(Gpt2):
    """A teacher whose result is detached."""

    def forward(self, ids, targets):
        x = self.wte(ids)
        mask = causal_mask(ids).to(x.dtype)
        teacher = self.h[0](x, mask).detach()
        x = self.h[2](self.h[1](x, mask), mask)
        return loss_of(self.lm_head(self.ln_f(x)), targets) + (x - teacher).pow(2).mean()


def frozen(model, prefixes):
    for name, parameter in model.named_parameters():
        if name.startswith(prefixes):
            parameter.requires_grad_(False)
    return model


MODELS = {
    "perceptron": SimpleMlp,
    "gpt2-tied": Gpt2,
    "gpt2-untied": lambda: Gpt2(tied=False),
    "gpt2-padded": PaddedGpt,
    "gpt2-with-loss": GptWithLoss,
    "gpt2-dict": GptDict,
    "gpt2-tuple": GptTuple,
    "gpt2-dropout": lambda: Gpt2(dropout=0.1),
    "llama": Llama,
    "t5": T5,
    "moe-loss": Moe,
    "moe-sparse": lambda: Moe(SparseExperts),
    "moe-tuple": MoeTuple,
    "resnet": ResNet,
    "resnet50": ResNet50,
    "classifier": Classifier,
    "classifier-loss": ClassifierWithLoss,
    "u-net": Unet,
    "torch-encoder": TorchEncoder,
    "torch-encoder-dropout": lambda: TorchEncoder(0.1),
    "lstm": Lstm,
    "shared-blocks": SharedBlocks,
    "batch-norm": BatchNormed,
    "frozen-backbone": lambda: frozen(Gpt2(tied=False), ("wte", "wpe", "h.0", "h.1")),
    "frozen-middle": lambda: frozen(Gpt2(tied=False), ("h.1",)),
    "frozen-embedding": lambda: frozen(Gpt2(tied=True), ("wte",)),
    "distilled": Distilled,
    "two-texts": TwoTexts,
    "in-place": Accumulated,
    "all-frozen": lambda: frozen(Gpt2(), ("",)),
}
