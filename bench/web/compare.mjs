// Times a network of Lathe against ONNX Runtime Web in Node.js, both on WebAssembly with SIMD and one thread, in runs that
// alternate within this process. Medians are those of the second half, when the engine has translated all code.
//
//   npm install --no-save --prefix bench/web onnxruntime-web@1.30.0
//   lathe compile -f wasm -o net.wasm net.onnx
//   node bench/web/compare.mjs net.onnx net.mjs [SECONDS]
import { existsSync, readFileSync } from 'node:fs';
import { basename, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import * as ort from 'onnxruntime-web/wasm';

const [model, loader, seconds = 10] = process.argv.slice(2);
ort.env.wasm.numThreads = 1;
const weights = model.replace(/\.onnx$/, '.weights'); // beside the networks that scripts/fill-zoo.sh writes
const session = await ort.InferenceSession.create(new Uint8Array(readFileSync(model)), {
  executionProviders: ['wasm'],
  graphOptimizationLevel: 'all',
  externalData: existsSync(weights) ? [{ path: basename(weights), data: new Uint8Array(readFileSync(weights)) }] : undefined,
});
const { load } = await import(pathToFileURL(resolve(loader)));
const net = await load();

const arrays = { float32: Float32Array, uint8: Uint8Array, int8: Int8Array, int32: Int32Array, int64: BigInt64Array };
const ours = {}, theirs = {};
for (const { name, dtype, shape } of net.inputs) {
  const size = shape.reduce((a, b) => a * b, 1);
  ours[name] = arrays[dtype].from({ length: size }, (_, i) => (dtype === 'int64' ? BigInt(i % 2) : dtype === 'float32' ? Math.sin(i) : i % 2));
  theirs[name] = new ort.Tensor(dtype, ours[name], shape);
}

async function timed(run) {
  const start = performance.now();
  const out = await run();
  return [performance.now() - start, out];
}
const sides = { lathe: () => net.run(ours), ort: () => session.run(theirs) };
const [firstOurs, y] = await timed(sides.lathe), [firstTheirs, z] = await timed(sides.ort);
let distance = 0, size = 0;
for (const { name } of net.outputs) {
  y[name].data.forEach((a, i) => {
    distance += (Number(a) - Number(z[name].data[i])) ** 2;
    size += Number(z[name].data[i]) ** 2;
  });
}

const times = { lathe: [], ort: [] };
for (const end = performance.now() + 1000 * seconds; performance.now() < end;) {
  for (const side of Object.keys(sides)) times[side].push((await timed(sides[side]))[0]);
}
const median = (list) => list.slice(list.length >> 1).sort((a, b) => a - b)[list.length >> 2];
const [a, b] = [median(times.lathe), median(times.ort)];
console.log(`${basename(model)}: lathe ${a.toFixed(2)} ms, ONNX Runtime Web ${b.toFixed(2)} ms, ${(b / a).toFixed(2)} times as fast; first runs ` +
  `${firstOurs.toFixed(0)} and ${firstTheirs.toFixed(0)} ms; relative L2 distance ${Math.sqrt(distance / size).toExponential(1)}; ${times.ort.length} runs each`);
process.exit(0); // the session keeps the process alive
