// Makes tensors of pictures with the example page's code. The argument is a file with a list of
// { picture: { width, height, file }, input: { dtype, shape }, settings, preset, output }.
import { readFileSync, writeFileSync } from 'node:fs';
import { prepare, presets } from '../../../examples/web/picture.js';

for (const { picture, input, preset, settings, output } of JSON.parse(readFileSync(process.argv[2]))) {
  const data = new Uint8ClampedArray(readFileSync(picture.file));
  const tensor = prepare({ ...picture, data }, input, { ...presets[preset], ...settings });
  writeFileSync(output, new Uint8Array(tensor.buffer));
}
