"""Pictures of single digits and capital letters, drawn with free fonts and distorted.

Fonts come from Debian packages. TRAIN and HELD_OUT share no type family, and
no relatives that were drawn from one another (Carlito is Lato, Hack is DejaVu,
Nimbus is FreeSans), so accuracy on HELD_OUT says how the network does on
typefaces that it has never seen.
"""
import math
import re
import subprocess

import numpy as np
from PIL import Image, ImageDraw, ImageFilter, ImageFont

CLASSES = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"
NAMES = [("digit " if c.isdigit() else "letter ") + c for c in CLASSES]
SIDE = 64

TRAIN = """fonts-anonymous-pro fonts-cabin fonts-cantarell fonts-comfortaa fonts-crosextra-caladea
    fonts-crosextra-carlito fonts-dejavu-core fonts-dejavu-extra fonts-dosis fonts-ebgaramond fonts-firacode
    fonts-freefont-ttf fonts-hack fonts-inconsolata fonts-junicode fonts-jura fonts-lato fonts-liberation
    fonts-linuxlibertine fonts-noto-core fonts-open-sans fonts-play fonts-quicksand fonts-roboto-unhinted
    fonts-urw-base35 fonts-vollkorn""".split()
HELD_OUT = """fonts-b612 fonts-clear-sans fonts-comic-neue fonts-courier-prime fonts-go fonts-inter
    fonts-jetbrains-mono fonts-karla fonts-oldstandard fonts-opendin fonts-paratype""".split()

# Faces whose Latin letters are keyboard keys, ornaments, small capitals or a calligraphic script,
# and the faces of Noto that repeat its Latin or have none.
SKIP = re.compile(r"LinBiolinum_K|Initials|LinLibertine_I|D050000L|StandardSymbols|Z003|SC|"
                  r"Noto(?!(Sans|Serif|SansMono|SansDisplay|SerifDisplay)-)")


def faces(packages):
    """{package: [face, ...]}, a face being the 36 glyph masks drawn 96 pixels to the em."""
    result = {}
    for package in packages:
        result[package] = [face for face in map(load_face, font_files(package)) if face]
        if not result[package]:
            raise SystemExit(f"package {package} holds no usable font")
    return result


def font_files(package):
    """The font files of an installed Debian package, sorted."""
    listing = subprocess.run(["dpkg", "-L", package], check=True, capture_output=True, text=True).stdout
    return sorted(p for p in listing.splitlines() if p.endswith((".ttf", ".otf")) and not SKIP.search(p))


def load_face(path):
    """The masks of all classes in order, or None where the font lacks one of them."""
    font = ImageFont.truetype(path, 96, layout_engine=ImageFont.Layout.BASIC)
    missing = bytes(font.getmask("\uffff"))
    masks = []
    for c in CLASSES:
        left, top, right, bottom = font.getbbox(c)
        if right - left < 4 or bottom - top < 4 or bytes(font.getmask(c)) == missing:
            return None
        mask = Image.new("L", (right - left, bottom - top))
        ImageDraw.Draw(mask).text((-left, -top), c, 255, font=font)
        masks.append(mask)
    return masks


def dataset(packages, per_class, seed):
    """Pictures (N, 64, 64, 3) uint8 and labels (N,), every class equally often, every package equally likely."""
    rng = np.random.default_rng(seed)
    families = list(faces(packages).values())
    labels = np.tile(np.arange(len(CLASSES)), per_class)
    pictures = np.empty((len(labels), SIDE, SIDE, 3), np.uint8)
    for i, label in enumerate(labels):
        family = families[rng.integers(len(families))]
        pictures[i] = distorted(family[rng.integers(len(family))][label], rng)
    return pictures, labels


def distorted(mask, rng):
    """One random picture of a glyph: size, place, slant, perspective, colours, clutter, blur and noise."""
    height = rng.uniform(24, 54)
    scale = min(height / mask.height, 58 / mask.width)
    across, up = mask.width * scale * rng.uniform(0.88, 1.14), mask.height * scale
    room = np.maximum(0, [SIDE - across, SIDE - up]) / 2
    picture = composed(mask, across, up, SIDE,
                       centre=SIDE / 2 + rng.uniform(-0.8, 0.8, 2) * room,
                       angle=math.radians(rng.normal(0, 8)), shear=rng.normal(0, 0.1),
                       jitter=rng.uniform(-0.07, 0.07, (4, 2)) * max(across, up), rng=rng)
    if rng.random() < 0.6:
        picture = picture.filter(ImageFilter.GaussianBlur(rng.uniform(0.2, 1.3)))
    noise = rng.normal(0, rng.uniform(0, 18), (SIDE, SIDE, 3))
    return np.clip(np.asarray(picture) + noise, 0, 255).astype(np.uint8)


def composed(mask, across, up, side, centre, angle, shear, jitter, rng):
    """The glyph, across x up pixels, on a random background of side x side; edges antialiased two to one."""
    corners = np.array([(-1, -1), (1, -1), (1, 1), (-1, 1)]) * [across / 2, up / 2]
    corners[:, 0] -= shear * corners[:, 1]
    turn = np.array([(math.cos(angle), math.sin(angle)), (-math.sin(angle), math.cos(angle))])
    quad = 2 * (corners @ turn + jitter + centre)
    alpha = mask.transform((2 * side, 2 * side), Image.Transform.PERSPECTIVE,
                           perspective(quad, mask.width, mask.height), Image.Resampling.BICUBIC).reduce(2)
    ground, ink = colours(rng)
    back = gradient(ground, side, rng)
    for _ in range(rng.poisson(0.6)):
        ends = [tuple(p) for p in rng.uniform(0, side, (2, 2))]
        tint = tuple(int(v) for v in ground + (ink - ground) * rng.uniform(0.1, 0.35))
        ImageDraw.Draw(back).line(ends, fill=tint, width=int(rng.integers(1, 4)))
    back.paste(gradient(ink, side, rng), (0, 0), alpha)
    return back


def perspective(quad, width, height):
    """PIL's eight coefficients that take the corners of quad to those of a width x height picture."""
    rows, values = [], []
    for (x, y), (u, v) in zip(quad, [(0, 0), (width, 0), (width, height), (0, height)]):
        rows += [[x, y, 1, 0, 0, 0, -u * x, -u * y], [0, 0, 0, x, y, 1, -v * x, -v * y]]
        values += [u, v]
    return np.linalg.solve(rows, values)


def colours(rng):
    """Background and ink whose brightness differs by at least 70 of 255."""
    while True:
        pair = rng.uniform(0, 255, (2, 3))
        bright = pair @ [0.299, 0.587, 0.114]
        if abs(bright[0] - bright[1]) >= 70:
            return pair


def gradient(colour, side, rng):
    """A side x side picture running linearly, in a random direction, through colour."""
    angle = rng.uniform(0, 2 * math.pi)
    y, x = np.mgrid[-1:1:side * 1j, -1:1:side * 1j]
    ramp = (x * math.cos(angle) + y * math.sin(angle))[..., None] * rng.normal(0, 16, 3)
    return Image.fromarray(np.clip(colour + ramp, 0, 255).astype(np.uint8))
