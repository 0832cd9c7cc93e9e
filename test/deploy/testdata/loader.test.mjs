// Uses loaders rightly and wrongly. The argument is the folder of the networks.
import assert from 'node:assert/strict';
import { writeFileSync, readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { pathToFileURL } from 'node:url';
import { Worker } from 'node:worker_threads';

const dir = process.argv[2];
const loader = (name) => import(pathToFileURL(`${dir}/${name}.mjs`));
const open = async (name) => (await loader(name)).load();
const { load } = await loader('mixed');
const path = `${dir}/mixed.wasm`;

// What there is, and a run.
const mixed = await load();
assert.deepEqual(mixed.inputs, [
  { name: 'a', dtype: 'int64', shape: [3] }, { name: 'b', dtype: 'bool', shape: [3] }, { name: 'c', dtype: 'uint8', shape: [3] },
]);
assert.deepEqual(mixed.outputs.map((t) => t.name), ['x', 'y', 'z']);
const inputs = { a: new BigInt64Array([1n, -2n, 2n ** 40n]), b: new Uint8Array([0, 7, 1]), c: new Uint8ClampedArray([1, 2, 200]) };
const out = mixed.run(inputs);
assert.deepEqual(out.x, { name: 'x', dtype: 'int64', shape: [3], data: new BigInt64Array([2n, -4n, 2n ** 41n]) });
assert.deepEqual(out.y.data, new Uint8Array([1, 0, 0]));
assert.deepEqual(out.z.data, new Uint8Array([2, 4, 144]));

// Two networks share nothing but the code, and outputs stay as they are.
const other = await load(mixed.module);
other.run({ ...inputs, a: new BigInt64Array(3) });
mixed.run({ ...inputs, a: new BigInt64Array(3) });
assert.equal(out.x.data[2], 2n ** 41n);
assert.equal(other.run({ ...inputs, a: out.x }).x.data[2], 2n ** 42n);

// All sources.
const bytes = readFileSync(path);
for (const source of [path, pathToFileURL(path), pathToFileURL(path).href, bytes, bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.length),
  new Response(bytes), new Response(bytes, { headers: { 'content-type': 'application/wasm' } })]) {
  assert.equal((await load(source)).run(inputs).z.data[0], 2);
}
const server = createServer((request, response) => {
  if (request.url !== '/net.wasm') response.writeHead(404);
  response.end(bytes);
}).listen(0, '127.0.0.1');
await new Promise((listening) => { server.on('listening', listening); });
const url = `http://127.0.0.1:${server.address().port}`;
assert.equal((await load(`${url}/net.wasm`)).run(inputs).z.data[0], 2);
await assert.rejects(load(`${url}/other.wasm`), /HTTP status 404/);
server.close();

// In a worker.
const worker = new Worker(`import('${pathToFileURL(`${dir}/scalar.mjs`)}').then(async ({ load }) => {
  require('node:worker_threads').parentPort.postMessage((await load()).run({ x: new Float32Array([21]) }).y);
});`, { eval: true });
assert.deepEqual(await new Promise((answer) => { worker.on('message', answer); }), { name: 'y', dtype: 'float32', shape: [], data: new Float32Array([42]) });

// What is no network.
writeFileSync(`${dir}/page.wasm`, '<!doctype html>');
writeFileSync(`${dir}/empty.wasm`, bytes.subarray(0, 8));
writeFileSync(`${dir}/short.wasm`, bytes.subarray(0, bytes.length / 2));
await assert.rejects(load(`${dir}/page.wasm`), /lathe: .*page\.wasm: is not a WebAssembly module/);
await assert.rejects(load(`${dir}/short.wasm`), /lathe: .*short\.wasm: is not a WebAssembly module/);
await assert.rejects(load(`${dir}/empty.wasm`), /lathe: .*empty\.wasm: is a WebAssembly module, but not one that Lathe wrote/);
await assert.rejects(load(`${dir}/none.wasm`), /lathe: .*none\.wasm: ENOENT/);
await assert.rejects(load(42), /lathe: module: want a URL/);
await assert.rejects(load(null), /lathe: module: want a URL/);

// What is no input.
for (const [wrong, error] of [
  [undefined, /run takes an object with the inputs by name: \{ a, b, c \}/],
  [new Float32Array(3), /run takes an object/],
  [{ a: inputs.a, b: inputs.b }, /input "c" is missing/],
  [{ ...inputs, d: inputs.a }, /there is no input "d": there are a, b, c/],
  [{ ...inputs, a: new Float32Array(3) }, /input "a" is int64: want a BigInt64Array, got Float32Array/],
  [{ ...inputs, c: [1, 2, 3] }, /input "c" is uint8: want a Uint8Array, got undefined/],
  [{ ...inputs, c: 'abc' }, /input "c" is uint8: want a Uint8Array, got undefined/],
  [{ ...inputs, c: null }, /input "c" is uint8: want a Uint8Array, got undefined/],
  [{ ...inputs, a: new BigInt64Array(4) }, /input "a" has shape \[3\], 3 elements: got 4 elements/],
  [{ ...inputs, a: { data: inputs.a, shape: [1, 3] } }, /input "a" has shape \[3\], 3 elements: got shape \[1,3\]/],
]) {
  assert.throws(() => mixed.run(wrong), error);
}

// A name that needs care in a URL.
assert.deepEqual((await open("it's #1")).run({ x: new Float32Array([-1, 2, -3, 4]) }).y.data, new Float32Array([0, 2, 0, 4]));

// 16-bit floats: every value there and back, and rounding to nearest even.
const half = await open('half'), brain = await open('brain');
const round = (net, list) => Array.from(net.run({ x: new Float32Array(list) }).y.data);
assert.deepEqual(round(half, [1 + 2 ** -11, 1 + 3 * 2 ** -11, 65519, 65520, 2 ** -25, 3 * 2 ** -26]), [1, 1 + 2 ** -9, 65504, Infinity, 0, 2 ** -24]);
assert.deepEqual(round(half, [2 ** -14, 2 ** -14 - 2 ** -25, 1023 * 2 ** -24, NaN, Infinity, 0]), [2 ** -14, 2 ** -14, 1023 * 2 ** -24, NaN, Infinity, 0]);
assert.deepEqual(round(brain, [1 + 2 ** -8, 1 + 3 * 2 ** -8, 3.4e38, NaN, Infinity, 2 ** -133]), [1, 1 + 2 ** -6, Infinity, NaN, Infinity, 2 ** -133]);
for (let first = 0; first < 0x7c00; first += 6) {
  const x = Uint16Array.from({ length: 6 }, (_, i) => Math.min(first + i, 0x7c00));
  const floats = half.run({ x }).y.data;
  assert.deepEqual(half.run({ x: floats }).y.data, floats);
  floats.forEach((f, i) => {
    const h = x[i], e = h >> 10;
    assert.equal(f, h === 0x7c00 ? Infinity : e ? (1 + (h & 1023) / 1024) * 2 ** (e - 15) : (h & 1023) * 2 ** -24);
  });
}
