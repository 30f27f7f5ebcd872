"""More models as people write them, of kinds that model_zoo.py has not: what train_models.py cuts and trains as well.

A scan over the tokens as in Mamba, low-rank and convolutional mixers, tokens chosen by a router, codebooks that follow
their data, contrastive losses, results with caches in them, parameters without dimensions or of several types.
"""

from typing import Dict, List, NamedTuple, Tuple

import torch
from torch import nn
from torch.nn import functional as F

from model_zoo import (HEADS, TOKENS, VOCABULARY, WIDTH, Attention, Block, DecoderBlock, Gpt2, LlamaBlock, Mlp, RmsNorm, causal_mask,
                       loss_of)


class Scan(nn.Module):
    """Mamba's selective scan, step by step: a loop over the tokens, whose number decides how often it runs."""

    def __init__(self, state=4):
        super().__init__()
        self.norm, self.inner = RmsNorm(), nn.Linear(WIDTH, 2 * WIDTH)
        self.conv = nn.Conv1d(WIDTH, WIDTH, 3, padding=2, groups=WIDTH)
        self.select, self.out = nn.Linear(WIDTH, WIDTH + 2 * state), nn.Linear(WIDTH, WIDTH)
        self.log_a, self.skip = nn.Parameter(torch.zeros(WIDTH, state)), nn.Parameter(torch.ones(WIDTH))
        self.state = state

    def forward(self, x):
        b, t, c = x.shape
        u, gate = self.inner(self.norm(x)).chunk(2, dim=-1)
        u = F.silu(self.conv(u.transpose(1, 2))[:, :, :t].transpose(1, 2))
        steps, to, back = self.select(u).split([c, self.state, self.state], dim=-1)
        steps, a = F.softplus(steps), -torch.exp(self.log_a)
        h, said = torch.zeros(b, c, self.state, dtype=x.dtype, device=x.device), []
        for i in range(t):
            h = h * torch.exp(steps[:, i, :, None] * a) + (steps[:, i] * u[:, i])[:, :, None] * to[:, i, None, :]
            said.append((h * back[:, i, None, :]).sum(-1))
        return x + self.out((torch.stack(said, dim=1) + u * self.skip) * F.silu(gate))


class Mamba(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed, self.norm = nn.Embedding(VOCABULARY, WIDTH), RmsNorm()
        self.layers = nn.ModuleList([Scan() for _ in range(3)])
        self.head = nn.Linear(WIDTH, VOCABULARY, bias=False)
        self.head.weight = self.embed.weight

    def forward(self, input_ids):
        x = self.embed(input_ids)
        for layer in self.layers:
            x = layer(x)
        return self.head(self.norm(x))


class CumulativeScan(nn.Module):
    """The same idea without a loop: a decaying mean by cumulative sums, as in a parallel scan."""

    def __init__(self):
        super().__init__()
        self.embed, self.head = nn.Embedding(VOCABULARY, WIDTH), nn.Linear(WIDTH, VOCABULARY)
        self.decays = nn.ParameterList([nn.Parameter(torch.linspace(0.1, 1.0, WIDTH)) for _ in range(3)])
        self.mixes = nn.ModuleList([nn.Linear(WIDTH, WIDTH) for _ in range(3)])

    def forward(self, input_ids):
        x = self.embed(input_ids)
        at = torch.arange(x.shape[1], device=x.device).to(x.dtype)[None, :, None]
        for decay, mix in zip(self.decays, self.mixes):
            weight = torch.exp(at * decay.abs() * 0.1)
            x = x + torch.tanh(mix((x * weight).cumsum(1) / weight.cumsum(1)))
        return self.head(x)


class RegisterVit(nn.Module):
    """A vision transformer with a class token and four registers, which its result does not read. Its pixels are the
    bits of the ids, its patches columns of them."""

    def __init__(self, registers=4):
        super().__init__()
        self.patches, self.registers = nn.Conv2d(1, WIDTH, (8, 2), (8, 2)), nn.Parameter(torch.randn(registers, WIDTH))
        self.token, self.places = nn.Parameter(torch.randn(1, 1, WIDTH)), nn.Parameter(torch.randn(TOKENS // 2, WIDTH))
        self.blocks = nn.ModuleList([Block() for _ in range(3)])
        self.scales = nn.ParameterList([nn.Parameter(torch.full((WIDTH,), 0.5)) for _ in range(3)])
        self.norm, self.head, self.count = nn.LayerNorm(WIDTH), nn.Linear(WIDTH, VOCABULARY), registers

    def forward(self, input_ids, labels):
        bits = (input_ids[:, None, None, :] // 2 ** torch.arange(8, device=input_ids.device)[None, None, :, None]) % 2
        x = self.patches(bits.to(self.token.dtype)).flatten(2).transpose(1, 2) + self.places
        b = x.shape[0]
        x = torch.cat([self.token.expand(b, -1, -1), self.registers[None].expand(b, -1, -1), x], dim=1)
        none = torch.zeros(1, device=x.device, dtype=x.dtype)
        for block, scale in zip(self.blocks, self.scales):
            x = x + scale * block(x, none)
        return F.cross_entropy(self.head(self.norm(x[:, 0])), labels[:, 0])


class SmoothEncoder(nn.Module):
    """BERT's kind: the result is compared with the embedding itself, behind a transformation; labels are smoothed."""

    def __init__(self):
        super().__init__()
        self.words, self.places = nn.Embedding(VOCABULARY, WIDTH), nn.Embedding(TOKENS, WIDTH)
        self.kinds, self.norm = nn.Embedding(2, WIDTH), nn.LayerNorm(WIDTH)
        self.layer = nn.ModuleList([Block() for _ in range(3)])
        self.transform, self.bias = nn.Linear(WIDTH, WIDTH), nn.Parameter(torch.zeros(VOCABULARY))

    def forward(self, input_ids, attention_mask, token_type_ids, position_ids, labels):
        x = self.norm(self.words(input_ids) + self.places(position_ids) + self.kinds(token_type_ids))
        mask = (1.0 - attention_mask.to(x.dtype))[:, None, None, :] * -1e4
        for block in self.layer:
            x = block(x, mask)
        logits = F.linear(F.gelu(self.transform(x)), self.words.weight, self.bias)
        return F.cross_entropy(logits.flatten(0, 1), labels.flatten(), label_smoothing=0.1)


class CachedAttention(nn.Module):
    """Says its keys and values as well, as Hugging Face's do with use_cache; two heads of queries share one of keys."""

    def __init__(self):
        super().__init__()
        self.q, self.k, self.v = nn.Linear(WIDTH, WIDTH), nn.Linear(WIDTH, WIDTH // 2), nn.Linear(WIDTH, WIDTH // 2)
        self.o, self.norm, self.mlp, self.norm2 = nn.Linear(WIDTH, WIDTH), RmsNorm(), Mlp(), RmsNorm()
        self.each = WIDTH // HEADS

    def forward(self, x, mask) -> Tuple[torch.Tensor, Tuple[torch.Tensor, torch.Tensor]]:
        b, t, c = x.shape
        h = self.norm(x)
        q = self.q(h).view(b, t, -1, self.each).transpose(1, 2)
        k, v = self.k(h).view(b, t, -1, self.each).transpose(1, 2), self.v(h).view(b, t, -1, self.each).transpose(1, 2)
        wide_k, wide_v = k.repeat_interleave(2, dim=1), v.repeat_interleave(2, dim=1)
        scores = (q @ wide_k.transpose(-2, -1) * self.each ** -0.5 + mask).softmax(-1)
        x = x + self.o((scores @ wide_v).transpose(1, 2).reshape(b, t, c))
        return x + self.mlp(self.norm2(x)), (k, v)


class Cached(nn.Module):
    """A dict with logits and past_key_values. TorchScript's dicts hold one type, so a script says a named tuple."""

    def __init__(self):
        super().__init__()
        self.embed, self.norm = nn.Embedding(VOCABULARY, WIDTH), RmsNorm()
        self.layers = nn.ModuleList([CachedAttention() for _ in range(3)])
        self.head = nn.Linear(WIDTH, VOCABULARY, bias=False)

    def run(self, input_ids) -> Tuple[torch.Tensor, List[Tuple[torch.Tensor, torch.Tensor]]]:
        x = self.embed(input_ids)
        mask = causal_mask(input_ids).to(x.dtype)
        past: List[Tuple[torch.Tensor, torch.Tensor]] = []
        for layer in self.layers:
            x, own = layer(x, mask)
            past.append(own)
        return self.head(self.norm(x)), past

    def forward(self, input_ids):
        return self.run(input_ids)


class CacheOutput(NamedTuple):
    logits: torch.Tensor
    past_key_values: List[Tuple[torch.Tensor, torch.Tensor]]


class CachedNamed(Cached):
    def forward(self, input_ids) -> CacheOutput:
        logits, past = self.run(input_ids)
        return CacheOutput(logits, past)


class CachedDict(Cached):
    def forward(self, input_ids) -> Dict[str, torch.Tensor]:
        logits, past = self.run(input_ids)
        return {"logits": logits, "past_keys": torch.stack([k for k, _ in past]),
                "past_values": torch.stack([v for _, v in past])}


class TwoTowers(nn.Module):
    """CLIP's kind: what the two towers say of a sample has to fit better than that of the other samples of its
    micro-batch. The temperature is a parameter without dimensions."""

    def __init__(self):
        super().__init__()
        self.one, self.other = nn.Embedding(VOCABULARY, WIDTH), nn.Embedding(VOCABULARY, WIDTH)
        self.left = nn.ModuleList([Block() for _ in range(2)])
        self.right = nn.ModuleList([Block() for _ in range(2)])
        self.project_one, self.project_other = nn.Linear(WIDTH, 8, bias=False), nn.Linear(WIDTH, 8, bias=False)
        self.logit_scale = nn.Parameter(torch.tensor(2.6593))

    def forward(self, input_ids, labels):
        none = torch.zeros(1, device=input_ids.device, dtype=self.logit_scale.dtype)
        x, y = self.one(input_ids), self.other(labels)
        for block in self.left:
            x = block(x, none)
        for block in self.right:
            y = block(y, none)
        x, y = F.normalize(self.project_one(x.mean(1)), dim=-1), F.normalize(self.project_other(y.mean(1)), dim=-1)
        scores = self.logit_scale.exp() * x @ y.t()
        right = torch.arange(x.shape[0], device=x.device)
        return (F.cross_entropy(scores, right) + F.cross_entropy(scores.t(), right)) / 2


class Router(nn.Module):
    """Mixture of depths: half of the tokens go through the block, the others around it."""

    def __init__(self):
        super().__init__()
        self.gate, self.block = nn.Linear(WIDTH, 1), Mlp()

    def forward(self, x):
        score = self.gate(x).squeeze(-1)
        top, at = score.topk(x.shape[1] // 2, dim=1)
        at = at.unsqueeze(-1).expand(-1, -1, x.shape[2])
        return x.scatter_add(1, at, self.block(x.gather(1, at)) * torch.sigmoid(top).unsqueeze(-1))


class Depths(nn.Module):
    def __init__(self):
        super().__init__()
        self.wte, self.head = nn.Embedding(VOCABULARY, WIDTH), nn.Linear(WIDTH, VOCABULARY)
        self.full, self.routed = nn.ModuleList([Mlp() for _ in range(2)]), nn.ModuleList([Router() for _ in range(2)])

    def forward(self, input_ids):
        x = self.wte(input_ids)
        for full, routed in zip(self.full, self.routed):
            x = routed(x + full(x))
        return self.head(x)


class Codebook(nn.Module):
    """VQ-VAE: the codes are a buffer that follows the data by a running mean, in training only; the gradient goes
    straight through."""

    def __init__(self, codes=8):
        super().__init__()
        self.wte, self.down, self.up = nn.Embedding(VOCABULARY, WIDTH), Mlp(), Mlp()
        self.head, self.codes = nn.Linear(WIDTH, VOCABULARY), codes
        self.register_buffer("book", torch.randn(codes, WIDTH))
        self.register_buffer("counts", torch.ones(codes))

    def forward(self, input_ids, labels):
        x = self.down(self.wte(input_ids))
        flat = x.flatten(0, 1)
        nearest = torch.cdist(flat, self.book).argmin(-1)
        chosen = F.embedding(nearest, self.book).view_as(x)
        if self.training:
            one_hot = F.one_hot(nearest, self.codes).to(x.dtype)
            self.counts.mul_(0.9).add_(one_hot.sum(0).detach(), alpha=0.1)
            self.book.mul_(0.9).add_((one_hot.t() @ flat).detach() / self.counts.unsqueeze(-1), alpha=0.1)
        commit = F.mse_loss(x, chosen.detach())
        x = x + (chosen - x).detach()
        return loss_of(self.head(self.up(x)), labels) + 0.25 * commit


class FNet(nn.Module):
    """Mixes by Fourier transforms: complex numbers inside, none between blocks."""

    def __init__(self):
        super().__init__()
        self.wte, self.head = nn.Embedding(VOCABULARY, WIDTH), nn.Linear(WIDTH, VOCABULARY)
        self.blocks, self.norms = nn.ModuleList([Mlp() for _ in range(3)]), nn.ModuleList(
            [nn.LayerNorm(WIDTH) for _ in range(3)])

    def forward(self, input_ids):
        x = self.wte(input_ids)
        for block, norm in zip(self.blocks, self.norms):
            x = norm(x + torch.fft.fft(torch.fft.fft(x, dim=-1), dim=-2).real)
            x = x + block(x)
        return self.head(x)


class DenseNet(nn.Module):
    """Every layer reads all layers before it: boundaries grow."""

    def __init__(self, growth=4):
        super().__init__()
        self.wte = nn.Embedding(VOCABULARY, WIDTH)
        self.layers = nn.ModuleList([nn.Conv1d(WIDTH + i * growth, growth, 3, padding=1) for i in range(4)])
        self.norms = nn.ModuleList([nn.GroupNorm(2, WIDTH + i * growth) for i in range(4)])
        self.head = nn.Linear(WIDTH + 4 * growth, VOCABULARY)

    def forward(self, input_ids):
        x = self.wte(input_ids).transpose(1, 2)
        for layer, norm in zip(self.layers, self.norms):
            x = torch.cat([x, layer(F.relu(norm(x)))], dim=1)
        return self.head(x.transpose(1, 2))


class Conformer(nn.Module):
    """Half perceptrons around attention and a gated convolution with a batch norm."""

    def __init__(self):
        super().__init__()
        self.wte, self.head = nn.Embedding(VOCABULARY, WIDTH), nn.Linear(WIDTH, VOCABULARY)
        self.first, self.last = nn.ModuleList([Mlp(), Mlp()]), nn.ModuleList([Mlp(), Mlp()])
        self.attention = nn.ModuleList([Attention(), Attention()])
        self.wide = nn.ModuleList([nn.Conv1d(WIDTH, 2 * WIDTH, 1) for _ in range(2)])
        self.deep = nn.ModuleList([nn.Conv1d(WIDTH, WIDTH, 3, padding=1, groups=WIDTH) for _ in range(2)])
        self.norm = nn.ModuleList([nn.BatchNorm1d(WIDTH) for _ in range(2)])
        self.layer_norm = nn.ModuleList([nn.LayerNorm(WIDTH) for _ in range(2)])

    def forward(self, input_ids):
        x = self.wte(input_ids)
        none = torch.zeros(1, device=x.device, dtype=x.dtype)
        for first, attend, wide, deep, norm, last, layer in zip(self.first, self.attention, self.wide, self.deep,
                                                                self.norm, self.last, self.layer_norm):
            x = x + 0.5 * first(x)
            x = x + attend(x, x, none)
            x = x + F.silu(norm(deep(F.glu(wide(x.transpose(1, 2)), dim=1)))).transpose(1, 2)
            x = layer(x + 0.5 * last(x))
        return self.head(x)


class EarlyExit(nn.Module):
    """How many blocks run depends on the values: no list of operations can say it."""

    def __init__(self):
        super().__init__()
        self.wte, self.head = nn.Embedding(VOCABULARY, WIDTH), nn.Linear(WIDTH, VOCABULARY)
        self.a, self.b = Mlp(), Mlp()

    def forward(self, input_ids):
        x = self.a(self.wte(input_ids))
        if bool(x.abs().mean() > 0.01):
            x = x + self.b(x)
        return self.head(x)


class Unused(Gpt2):
    """A pooler that no result reads, and a scale without dimensions."""

    def __init__(self):
        super().__init__()
        self.pooler, self.scale = nn.Linear(WIDTH, WIDTH), nn.Parameter(torch.tensor(1.5))

    def forward(self, input_ids):
        x = self.wte(input_ids) * self.scale
        mask = causal_mask(input_ids).to(x.dtype)
        for block in self.h:
            x = block(x, mask)
        return self.lm_head(self.ln_f(x))


class Bidirectional(nn.Module):
    """Two directions of a GRU, whose states are joined; weights are of nn.GRU's flat kind."""

    def __init__(self):
        super().__init__()
        self.wte, self.head = nn.Embedding(VOCABULARY, WIDTH), nn.Linear(2 * WIDTH, VOCABULARY)
        self.gru = nn.GRU(WIDTH, WIDTH, batch_first=True, bidirectional=True)

    def forward(self, input_ids):
        return self.head(self.gru(self.wte(input_ids))[0])


class Prefixed(nn.Module):
    """Prompt tuning of a frozen Llama: only the prefix, which every sample gets in front, is trained."""

    def __init__(self, prefix=2):
        super().__init__()
        self.embed, self.prefix = nn.Embedding(VOCABULARY, WIDTH), nn.Parameter(torch.randn(prefix, WIDTH))
        self.layers, self.norm = nn.ModuleList([LlamaBlock() for _ in range(3)]), RmsNorm()
        self.head, self.count = nn.Linear(WIDTH, VOCABULARY, bias=False), prefix
        for name, parameter in self.named_parameters():
            parameter.requires_grad_(name == "prefix")

    def forward(self, input_ids):
        x = self.embed(input_ids)
        x = torch.cat([self.prefix[None].expand(x.shape[0], -1, -1), x], dim=1)
        t = x.shape[1]
        mask = torch.full((t, t), -1e9, device=x.device, dtype=x.dtype).triu(1)
        none = torch.zeros(1, device=x.device, dtype=x.dtype)
        for layer in self.layers:
            x = layer(x, none + 1.0, none, mask)
        return self.head(self.norm(x))[:, self.count:]


class LoraLinear(nn.Module):
    def __init__(self, width, out, rank=2):
        super().__init__()
        self.base, self.a = nn.Linear(width, out), nn.Parameter(torch.randn(rank, width) * 0.1)
        self.b = nn.Parameter(torch.randn(out, rank) * 0.1)
        self.base.requires_grad_(False)

    def forward(self, x):
        return self.base(x) + F.linear(F.linear(x, self.a), self.b)


class Lora(nn.Module):
    """Low-rank changes beside frozen weights in every block; embedding and head are frozen as well."""

    def __init__(self):
        super().__init__()
        self.wte, self.head = nn.Embedding(VOCABULARY, WIDTH), nn.Linear(WIDTH, VOCABULARY)
        self.up = nn.ModuleList([LoraLinear(WIDTH, 2 * WIDTH) for _ in range(3)])
        self.down = nn.ModuleList([LoraLinear(2 * WIDTH, WIDTH) for _ in range(3)])
        self.wte.requires_grad_(False)
        self.head.requires_grad_(False)

    def forward(self, input_ids):
        x = self.wte(input_ids)
        for up, down in zip(self.up, self.down):
            x = x + down(F.gelu(up(x)))
        return self.head(x)


class Shifted(nn.Module):
    """Hugging Face's T5 and BART make the decoder's inputs of the labels, and Llama its mask, by writing into slices of
    a tensor that is new."""

    def __init__(self):
        super().__init__()
        self.shared, self.places = nn.Embedding(VOCABULARY, WIDTH), nn.Embedding(TOKENS, WIDTH)
        self.encoder, self.decoder = nn.ModuleList([Block() for _ in range(2)]), nn.ModuleList(
            [DecoderBlock() for _ in range(2)])
        self.lm_head = nn.Linear(WIDTH, VOCABULARY, bias=False)
        self.vocabulary = VOCABULARY

    def shift_right(self, ids):
        shifted = ids.new_zeros(ids.shape)
        shifted[:, 1:] = ids[:, :-1].clone()
        shifted[:, 0] = 0
        shifted.masked_fill_(shifted == -100, 0)
        return shifted

    def padded_mask(self, attention_mask, like):
        t = attention_mask.shape[1]
        mask = torch.full((t, t), -1e4, dtype=like.dtype, device=like.device).triu(1)
        mask = mask[None, None, :, :].expand(attention_mask.shape[0], 1, -1, -1).clone()
        padding = mask[:, :, :, :t] + attention_mask[:, None, None, :].to(like.dtype)
        mask[:, :, :, :t] = mask[:, :, :, :t].masked_fill(padding == 0, -1e4)
        return mask

    def forward(self, input_ids, attention_mask, labels):
        x = self.shared(input_ids) + self.places.weight
        for block in self.encoder:
            x = block(x, (1.0 - attention_mask[:, None, None, :].to(x.dtype)) * -1e4)
        y = self.shared(self.shift_right(labels))
        mask = self.padded_mask(attention_mask, y)
        for block in self.decoder:
            y = block(y, x, mask)
        return F.cross_entropy(self.lm_head(y).view(-1, self.vocabulary), labels.view(-1), ignore_index=-100)


class WrittenScan(nn.Module):
    """A recurrence that writes what it says into the rows of a tensor."""

    def __init__(self):
        super().__init__()
        self.wte, self.head = nn.Embedding(VOCABULARY, WIDTH), nn.Linear(WIDTH, VOCABULARY)
        self.cells = nn.ModuleList([nn.GRUCell(WIDTH, WIDTH) for _ in range(2)])

    def forward(self, input_ids):
        x = self.wte(input_ids)
        for cell in self.cells:
            y, h = torch.zeros_like(x), torch.zeros_like(x[:, 0])
            for i in range(x.shape[1]):
                h = cell(x[:, i], h)
                y[:, i] = h
            x = x + y
        return self.head(x)


MODELS = {
    "shifted": Shifted,
    "written-scan": WrittenScan,
    "mamba": Mamba,
    "cumulative-scan": CumulativeScan,
    "vit-registers": RegisterVit,
    "smooth-encoder": SmoothEncoder,
    "cache-tuple": Cached,
    "cache-named": CachedNamed,
    "cache-dict": CachedDict,
    "two-towers": TwoTowers,
    "mixture-of-depths": Depths,
    "codebook": Codebook,
    "fourier": FNet,
    "dense": DenseNet,
    "conformer": Conformer,
    "early-exit": EarlyExit,
    "unused": Unused,
    "gru": Bidirectional,
    "prompt-tuning": Prefixed,
    "lora": Lora,
}
