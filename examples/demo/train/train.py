"""Trains the demo network and measures it on fonts that it was not trained on.

    python3 train.py WEIGHTS.pt

The epoch count is fixed beforehand and the held-out fonts are looked at once,
after the last epoch, so their accuracy is not the best of several.
"""
import argparse
import time

import numpy as np
import torch
from torch import nn

import glyphs
import network

SEED = 20240601


def normalized(pictures):
    """(N, 64, 64, 3) uint8 RGB to (N, 3, 64, 64) float32: (v/255 - 0.5) / 0.5."""
    return (torch.from_numpy(pictures).permute(0, 3, 1, 2).float() / 255 - 0.5) / 0.5


def varied(batch):
    """The batch shifted by up to 3 pixels, channels permuted, half of the time as negatives."""
    batch = batch[:, torch.randperm(3)]
    batch = torch.roll(batch, torch.randint(-3, 4, (2,)).tolist(), (2, 3))
    return -batch if torch.rand(()) < 0.5 else batch


def train(net, pictures, labels, epochs, batch_size=128):
    steps = len(pictures) // batch_size
    optimizer = torch.optim.AdamW(net.parameters(), weight_decay=0.02)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, 6e-3, epochs=epochs, steps_per_epoch=steps)
    loss_of = nn.CrossEntropyLoss(label_smoothing=0.05)
    for epoch in range(epochs):
        net.train()
        start, total = time.time(), 0.0
        order = torch.randperm(len(pictures)).numpy()
        for step in range(steps):
            pick = order[step * batch_size:(step + 1) * batch_size]
            loss = loss_of(net(varied(normalized(pictures[pick]))), torch.from_numpy(labels[pick]))
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            schedule.step()
            total += loss.item()
        print(f"epoch {epoch + 1}/{epochs}: loss {total / steps:.4f}, {time.time() - start:.0f} s", flush=True)


def measure(net, pictures, labels):
    """Prints top-1 and top-5 accuracy and the commonest mistakes."""
    net.eval()
    with torch.no_grad():
        logits = torch.cat([net(normalized(p)) for p in np.array_split(pictures, max(1, len(pictures) // 500))])
    ranked = logits.argsort(1, descending=True).numpy()
    right = ranked[:, 0] == labels
    pair = np.isin(labels, [0, 24]) & np.isin(ranked[:, 0], [0, 24])  # digit 0 and letter O
    print(f"held-out fonts, {len(labels)} pictures: top-1 {right.mean():.2%}, "
          f"top-5 {(ranked[:, :5] == labels[:, None]).any(1).mean():.2%}, "
          f"top-1 with 0 and O taken as one class {(right | pair).mean():.2%}")
    mistakes, counts = np.unique(np.stack([labels, ranked[:, 0]])[:, ~right], axis=1, return_counts=True)
    for i in counts.argsort()[::-1][:8]:
        print(f"  {counts[i]:4d} x {glyphs.NAMES[mistakes[0, i]]} taken for {glyphs.NAMES[mistakes[1, i]]}")


def main():
    args = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    args.add_argument("weights", help="file to write")
    args.add_argument("--per-class", type=int, default=1500, help="training pictures of each class")
    args.add_argument("--held-out", type=int, default=300, help="pictures of each class to measure with")
    args.add_argument("--epochs", type=int, default=8)
    args = args.parse_args()
    torch.manual_seed(SEED)
    torch.set_num_threads(1)
    net = network.GlyphNet(len(glyphs.CLASSES))
    print(f"{sum(p.numel() for p in net.parameters())} parameters; drawing", flush=True)
    train(net, *glyphs.dataset(glyphs.TRAIN, args.per_class, SEED), args.epochs)
    torch.save(net.state_dict(), args.weights)
    measure(net, *glyphs.dataset(glyphs.HELD_OUT, args.held_out, SEED + 1))


if __name__ == "__main__":
    main()
