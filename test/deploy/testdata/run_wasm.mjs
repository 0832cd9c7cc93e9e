// Runs networks through their loaders. The argument is a file with a list of { loader, inputs: [{ name, dtype, file }],
// outputs: files }; the answer, on standard output, is a list of { shapes } or { error }. float16 and bfloat16 travel as
// float32.
import { readFileSync, writeFileSync } from 'node:fs';
import { pathToFileURL } from 'node:url';

const arrays = {
  float32: Float32Array, float64: Float64Array, int8: Int8Array, uint8: Uint8Array, bool: Uint8Array, int16: Int16Array,
  uint16: Uint16Array, int32: Int32Array, uint32: Uint32Array, int64: BigInt64Array, uint64: BigUint64Array,
  float16: Float32Array, bfloat16: Float32Array,
  int4: Uint8Array, uint4: Uint8Array,
};

const answers = [];
for (const job of JSON.parse(readFileSync(process.argv[2]))) {
  try {
    const { load } = await import(pathToFileURL(job.loader));
    const net = await load();
    const inputs = {};
    for (const { name, dtype, file } of job.inputs) {
      const b = readFileSync(file);
      inputs[name] = new arrays[dtype](b.buffer.slice(b.byteOffset, b.byteOffset + b.byteLength));
    }
    net.run(inputs);
    const out = net.run(inputs); // the second run finds what the first left behind
    answers.push({
      shapes: net.outputs.map(({ name, dtype }, i) => {
        const { data, shape } = out[name];
        if (!(data instanceof arrays[dtype])) throw new Error(`${name} of ${dtype} is a ${data.constructor.name}`);
        writeFileSync(job.outputs[i], new Uint8Array(data.buffer, data.byteOffset, data.byteLength));
        return shape;
      }),
    });
  } catch (e) {
    answers.push({ error: `${e.stack}` });
  }
}
console.log(JSON.stringify(answers));
