"""Writes the files of the demo from trained weights.

    python3 export.py WEIGHTS.pt DIR

DIR gets digits.onnx, labels.txt, sample.png, expected.json (what PyTorch says
of the sample) and accept.npz (the exact input tensor and PyTorch's logits).
"""
import json
import math
import pathlib
import sys

import numpy as np
import onnx
import torch
from PIL import Image

import glyphs
import network

SAMPLE_PACKAGE, SAMPLE_FACE, SAMPLE_CLASS, SAMPLE_SEED = "fonts-go", "Go-Bold.ttf", "7", 1


def write_onnx(net, data, path):
    """Opset 13, batch norms left as nodes of their own: folding them is the compiler's work."""
    torch.onnx.export(net, data, path, opset_version=13, input_names=["data"], output_names=["logits"],
                      training=torch.onnx.TrainingMode.PRESERVE, do_constant_folding=False)
    model = onnx.load(path)
    onnx.checker.check_model(model, full_check=True)
    norms = sum(node.op_type == "BatchNormalization" for node in model.graph.node)
    wanted = sum(isinstance(m, torch.nn.BatchNorm2d) for m in net.modules())
    if norms != wanted:
        raise SystemExit(f"{path} has {norms} batch norms, the network {wanted}")


def sample_picture():
    """A glyph of a held-out face in the middle of a 160 x 128 picture."""
    rng = np.random.default_rng(SAMPLE_SEED)
    path = next(p for p in glyphs.font_files(SAMPLE_PACKAGE) if p.endswith("/" + SAMPLE_FACE))
    mask = glyphs.load_face(path)[glyphs.CLASSES.index(SAMPLE_CLASS)]
    up = 76
    picture = glyphs.composed(mask, up * mask.width / mask.height, up, 160, centre=np.array([80, 80]),
                              angle=math.radians(-6), shear=0.06, jitter=rng.uniform(-4, 4, (4, 2)), rng=rng)
    noisy = np.asarray(picture.crop((0, 16, 160, 144))) + rng.normal(0, 3, (128, 160, 3))
    return np.clip(noisy, 0, 255).astype(np.uint8)


def prepared(picture):
    """(H, W, 3) uint8 to the network's (1, 3, 64, 64) float32, as expected.json describes."""
    height, width = picture.shape[:2]
    scale = glyphs.SIDE / min(height, width)
    rows, columns = round(height * scale), round(width * scale)
    resized = interpolated(interpolated(picture.astype(np.float64), rows, 0), columns, 1)
    top, left = (rows - glyphs.SIDE) // 2, (columns - glyphs.SIDE) // 2
    crop = resized[top:top + glyphs.SIDE, left:left + glyphs.SIDE]
    return torch.from_numpy((crop / 255 - 0.5) / 0.5).permute(2, 0, 1)[None].float().contiguous()


def interpolated(values, size, axis):
    """values resampled linearly to size along axis, half-pixel centres, edges clamped, no antialiasing."""
    old = values.shape[axis]
    at = np.clip((np.arange(size) + 0.5) * old / size - 0.5, 0, old - 1)
    low = np.floor(at).astype(int)
    weight = (at - low).reshape([-1 if i == axis else 1 for i in range(values.ndim)])
    high = np.minimum(low + 1, old - 1)
    return values.take(low, axis) * (1 - weight) + values.take(high, axis) * weight


PREPROCESSING = {
    "colour": "RGB, 8 bits a channel, no alpha",
    "resize": "shorter side to 64, longer side in proportion (160 x 128 becomes 80 x 64); bilinear, "
              "half-pixel centres, edges clamped, no antialiasing, result not rounded to integers",
    "crop": "centre 64 x 64 (columns 8 to 71 of the 80)",
    "scale": "value / 255", "mean": [0.5, 0.5, 0.5], "std": [0.5, 0.5, 0.5],
    "layout": "NCHW", "dtype": "float32", "shape": [1, 3, 64, 64],
}


def write_expected(logits, path):
    probabilities = torch.softmax(logits[0].double(), 0)
    top = [{"id": i, "name": glyphs.NAMES[i], "logit": round(logits[0, i].item(), 5),
            "probability": round(probabilities[i].item(), 6)}
           for i in logits[0].argsort(descending=True)[:5].tolist()]
    answer = {"model": "digits.onnx", "picture": "sample.png", "label": SAMPLE_CLASS,
              "preprocessing": PREPROCESSING, "top5": top}
    path.write_text(json.dumps(answer, indent=2) + "\n")


def main():
    if len(sys.argv) != 3:
        raise SystemExit(__doc__)
    weights, out = sys.argv[1], pathlib.Path(sys.argv[2])
    torch.set_num_threads(1)
    net = network.GlyphNet(len(glyphs.CLASSES))
    net.load_state_dict(torch.load(weights))
    net.eval()
    picture = sample_picture()
    Image.fromarray(picture).save(out / "sample.png", optimize=True)
    data = prepared(picture)
    with torch.no_grad():
        logits = net(data)
    write_onnx(net, data, str(out / "digits.onnx"))
    (out / "labels.txt").write_text("".join(name + "\n" for name in glyphs.NAMES))
    write_expected(logits, out / "expected.json")
    np.savez_compressed(out / "accept.npz", data=data.numpy(), logits=logits.numpy())


if __name__ == "__main__":
    main()
