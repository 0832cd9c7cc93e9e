// Pictures to tensors: the same arithmetic as `lathe run --image`, number for number. It needs no page, so that tests run it
// in Node.js.

const imagenet = { margin: 256 / 224, mean: [0.485, 0.456, 0.406], std: [0.229, 0.224, 0.225] };

// presets have the names of `lathe run --preprocess`. margin times the input's size is what the picture is resized to, the
// shorter side or, with stretch, both; the centre is cut out.
export const presets = {
  unit: {},
  raw: { scale: 1 },
  signed: { mean: [0.5, 0.5, 0.5], std: [0.5, 0.5, 0.5] },
  imagenet,
  'imagenet-square': { ...imagenet, stretch: true },
  caffe: { margin: 256 / 224, scale: 1, bgr: true, mean: [123.68, 116.779, 103.939] },
};

const defaults = { margin: 1, stretch: false, scale: 1 / 255, mean: [0, 0, 0], std: [1, 1, 1], bgr: false, filter: 'bilinear' };

// prepare makes the input { shape, dtype } of a network of { width, height, data }, RGBA with 8 bits a channel, such as an
// ImageData. settings are a preset with changes. Alpha is dropped.
export function prepare(picture, input, settings = {}) {
  const s = { ...defaults, ...settings };
  const { width, height, channels, planar } = axes(input);
  const size = resizedSize(picture, { width, height }, s);
  const rgb = resize(picture, size, s.filter);
  const left = roundEven((size.width - width) / 2), top = roundEven((size.height - height) / 2);
  const out = new (arrays[input.dtype] ?? Float32Array)(width * height * channels);
  const mean = perChannel(s.mean, s, channels), std = perChannel(s.std, s, channels);
  for (let y = 0; y < height; y++) {
    for (let x = 0; x < width; x++) {
      const at = 3 * ((top + y) * size.width + left + x);
      const pixel = perChannel([rgb[at] / 257, rgb[at + 1] / 257, rgb[at + 2] / 257], s, channels);
      for (let c = 0; c < channels; c++) {
        const i = planar ? (c * height + y) * width + x : (y * width + x) * channels + c;
        if (input.dtype === 'float32') out[i] = (pixel[c] * s.scale - mean[c]) / std[c];
        else if (input.dtype === 'uint8') out[i] = clamp(roundEven(pixel[c]), 0, 255);
        else if (input.dtype === 'int8') out[i] = clamp(roundEven(pixel[c] - 128), -128, 127);
        else throw new TypeError(`pictures cannot fill inputs of type ${input.dtype}`);
      }
    }
  }
  return out;
}

const arrays = { float32: Float32Array, uint8: Uint8Array, int8: Int8Array };
const luma = [0.299, 0.587, 0.114];
const clamp = (x, low, high) => Math.min(Math.max(x, low), high);

function roundEven(x) {
  const r = Math.round(x);
  return r - x === 0.5 && r % 2 !== 0 ? r - 1 : r;
}

function perChannel(rgb, s, channels) {
  if (channels === 1) return [luma[0] * rgb[0] + luma[1] * rgb[1] + luma[2] * rgb[2]];
  return s.bgr ? [rgb[2], rgb[1], rgb[0]] : rgb;
}

// axes reads the shape of an input of one picture: [1, C, H, W] or [1, H, W, C], with 1 or 3 channels.
function axes({ shape }) {
  const [a, b, c] = shape.length === 4 ? shape.slice(1) : shape;
  if ((shape.length === 4 && shape[0] === 1) || shape.length === 3) {
    if (a === 3 || (a === 1 && c !== 3)) return { planar: true, channels: a, height: b, width: c };
    if (c === 3 || c === 1) return { planar: false, channels: c, height: a, width: b };
  }
  throw new RangeError(`an input of shape [${shape}] does not take a picture`);
}

// resizedSize covers margin times the crop and keeps the proportions; the longer side is cut to whole pixels.
function resizedSize({ width: w, height: h }, crop, { margin, stretch }) {
  const box = { width: Math.round(crop.width * margin), height: Math.round(crop.height * margin) };
  if (stretch) return box;
  if (box.width * h >= box.height * w) return { width: box.width, height: Math.max(box.height, Math.floor((box.width * h) / w)) };
  return { width: Math.max(box.width, Math.floor((box.height * w) / h)), height: box.height };
}

// resize returns R, G, B of the resized picture, 16 bits a channel: nothing is rounded to 8.
function resize(picture, size, filter) {
  const { width, height, data } = picture;
  if (width === size.width && height === size.height) {
    return Uint16Array.from({ length: 3 * width * height }, (_, i) => data[4 * Math.floor(i / 3) + (i % 3)] * 257);
  }
  if (filter === 'point') return interpolated(picture, size);
  if (!(filter in kernels)) throw new RangeError(`unknown filter ${filter}`);
  return averaged(picture, size, kernels[filter]);
}

// interpolated weighs the four pixels around each point, whatever the size.
function interpolated({ width, height, data }, size) {
  const along = (n, to) => Array.from({ length: to }, (_, i) => {
    const at = (i + 0.5) * (n / to) - 0.5, first = Math.trunc(at);
    if (at < 0) return [0, 0, 0];
    if (first + 1 > n - 1) return [n - 1, n - 1, 1];
    return [first, first + 1, at - first];
  });
  const columns = along(width, size.width), rows = along(height, size.height);
  const out = new Uint16Array(3 * size.width * size.height);
  let o = 0;
  for (const [y0, y1, fy] of rows) {
    for (const [x0, x1, fx] of columns) {
      for (let c = 0; c < 3; c++) {
        const at = (x, y) => data[4 * (y * width + x) + c] * 257;
        const upper = (1 - fx) * at(x0, y0) + fx * at(x1, y0), lower = (1 - fx) * at(x0, y1) + fx * at(x1, y1);
        out[o++] = Math.trunc((1 - fy) * upper + fy * lower);
      }
    }
  }
  return out;
}

// kernels weigh pixels by their distance, up to a support; shrinking widens them, so that every pixel counts.
const kernels = {
  bilinear: { support: 1, at: (t) => 1 - t },
  bicubic: { support: 2, at: (t) => (t < 1 ? (1.5 * t - 2.5) * t * t + 1 : ((-0.5 * t + 2.5) * t - 4) * t + 2) },
};

function weights({ support, at }, from, to) {
  const scale = from / to, wide = Math.max(scale, 1);
  return Array.from({ length: to }, (_, i) => {
    const centre = (i + 0.5) * scale - 0.5, list = [];
    const end = Math.min(Math.ceil(centre + support * wide), from);
    let total = 0;
    for (let k = Math.max(Math.floor(centre - support * wide), 0); k < end; k++) {
      const t = Math.abs((centre - k) * (scale > 1 ? 1 / scale : 1));
      const weight = t < support ? at(t) : 0;
      if (weight === 0) continue;
      total += weight;
      list.push({ k, weight });
    }
    return { list, inverse: 1 / total };
  });
}

// averaged resizes rows, then columns. The fourth channel is the sum of the weights alone: a sum of pixels that rounding
// made larger is cut to it.
function averaged({ width, height, data }, size, kernel) {
  const columns = weights(kernel, width, size.width), rows = weights(kernel, height, size.height);
  const middle = new Float64Array(4 * size.width * height);
  const sum = [0, 0, 0, 0];
  let o = 0;
  for (let y = 0; y < height; y++) {
    for (const { list, inverse } of columns) {
      sum.fill(0);
      for (const { k, weight } of list) {
        const at = 4 * (y * width + k);
        for (let c = 0; c < 3; c++) sum[c] += data[at + c] * 257 * weight;
        sum[3] += 65535 * weight;
      }
      for (let c = 0; c < 4; c++) middle[o++] = sum[c] * (inverse / 65535);
    }
  }
  const out = new Uint16Array(3 * size.width * size.height);
  o = 0;
  for (const { list, inverse } of rows) {
    for (let x = 0; x < size.width; x++) {
      sum.fill(0);
      for (const { k, weight } of list) {
        const at = 4 * (k * size.width + x);
        for (let c = 0; c < 4; c++) sum[c] += middle[at + c] * weight;
      }
      for (let c = 0; c < 3; c++) out[o++] = clamp(Math.trunc(65535 * (Math.min(sum[c], sum[3]) * inverse) + 0.5), 0, 65535);
    }
  }
  return out;
}
