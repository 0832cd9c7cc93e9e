"""The demo network: a small convnet with one of each block that such networks are made of."""
import torch
from torch import nn


class ConvNorm(nn.Sequential):
    """Convolution without bias, batch norm, and ReLU unless act is false. Size is kept when stride is 1."""

    def __init__(self, inputs, outputs, kernel, stride=1, groups=1, act=True):
        conv = nn.Conv2d(inputs, outputs, kernel, stride, kernel // 2, groups=groups, bias=False)
        super().__init__(conv, nn.BatchNorm2d(outputs), *([nn.ReLU()] if act else []))


class PoolConcat(nn.Module):
    """Halves height and width and doubles the channels: a strided convolution beside a max pool."""

    def __init__(self, channels):
        super().__init__()
        self.conv = ConvNorm(channels, channels, 3, stride=2)
        self.pool = nn.MaxPool2d(2)

    def forward(self, x):
        return torch.cat([self.conv(x), self.pool(x)], 1)


class Residual(nn.Module):
    """Two 3x3 convolutions and a shortcut; ReLU after the sum."""

    def __init__(self, channels):
        super().__init__()
        self.body = nn.Sequential(ConvNorm(channels, channels, 3), ConvNorm(channels, channels, 3, act=False))

    def forward(self, x):
        return torch.relu(x + self.body(x))


class SqueezeExcite(nn.Module):
    """Scales each channel by a gate in 0..1 computed from all channel means."""

    def __init__(self, channels, inner):
        super().__init__()
        self.gate = nn.Sequential(nn.AdaptiveAvgPool2d(1), nn.Conv2d(channels, inner, 1), nn.ReLU(),
                                  nn.Conv2d(inner, channels, 1), nn.Sigmoid())

    def forward(self, x):
        return x * self.gate(x)


def separable(inputs, outputs, stride=1):
    """Depthwise 3x3, then 1x1."""
    return nn.Sequential(ConvNorm(inputs, inputs, 3, stride, groups=inputs), ConvNorm(inputs, outputs, 1))


class GlyphNet(nn.Module):
    """(N, 3, 64, 64) float32 in -1..1, RGB, to (N, classes) logits."""

    def __init__(self, classes):
        super().__init__()
        self.stem = ConvNorm(3, 16, 3, stride=2)
        self.down = PoolConcat(16)
        self.residual = Residual(32)
        self.separable1 = separable(32, 96, stride=2)
        self.excite = SqueezeExcite(96, 24)
        self.separable2 = separable(96, 160)
        self.pool = nn.AdaptiveAvgPool2d(1)
        self.classify = nn.Linear(160, classes)

    def forward(self, data):
        x = self.residual(self.down(self.stem(data)))
        x = self.separable2(self.excite(self.separable1(x)))
        return self.classify(torch.flatten(self.pool(x), 1))
