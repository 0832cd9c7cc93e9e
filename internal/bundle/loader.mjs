// SPDX-License-Identifier: Apache-2.0
//
// Loads and runs NAME.wasm, a neural network that Lathe compiled. It needs WebAssembly and nothing else: browsers, workers
// and Node.js import it alike.
//
//   import { load } from './NAME.mjs';
//   const net = await load();             // NAME.wasm beside this file; or a URL, a Response, bytes
//   console.log(net.inputs, net.outputs); // [{ name, dtype, shape }]
//   const out = net.run({ data: new Float32Array(3 * 224 * 224) });
//   console.log(out.prob.shape, out.prob.data);

// What a run takes and gives, by element type. float16 and bfloat16 are Float32Array outside (or, as an input, Uint16Array
// with their bits); a bool is a byte, 0 or 1.
const arrays = {
  float32: Float32Array, float64: Float64Array, int8: Int8Array, uint8: Uint8Array, bool: Uint8Array, int16: Int16Array,
  uint16: Uint16Array, int32: Int32Array, uint32: Uint32Array, int64: BigInt64Array, uint64: BigUint64Array,
  float16: Uint16Array, bfloat16: Uint16Array, int4: Uint8Array, uint4: Uint8Array,
};

// load compiles and instantiates a network. Each call gives one with a memory of its own; load(net.module) makes another
// without compiling again.
export async function load(source = new URL('./NAME.wasm', import.meta.url)) {
  const name = source instanceof URL ? source.href : typeof source === 'string' ? source : source?.url || 'module';
  let module;
  try {
    module = await compile(source);
  } catch (e) {
    throw new Error(`lathe: ${name}: ${reason(e)}`, { cause: e });
  }
  const sections = WebAssembly.Module.customSections(module, 'lathe');
  if (sections.length !== 1) throw new Error(`lathe: ${name}: is a WebAssembly module, but not one that Lathe wrote`);
  const about = JSON.parse(new TextDecoder().decode(sections[0]));
  if (about.format !== 1 || about.abi !== 2) {
    throw new Error(`lathe: ${name}: written by Lathe ${about.lathe} in another format: use the loader written with it`);
  }
  const instance = await WebAssembly.instantiate(module).catch((e) => {
    throw new Error(`lathe: ${name}: needs ${about.memory.bytes} bytes of memory: ${e.message}`, { cause: e });
  });
  return new Network(module, instance, about);
}

async function compile(source) {
  if (source instanceof WebAssembly.Module) return source;
  if (source instanceof ArrayBuffer || ArrayBuffer.isView(source)) return WebAssembly.compile(source);
  if (typeof source !== 'string' && !(source instanceof URL) && !(globalThis.Response && source instanceof Response)) {
    throw new TypeError('want a URL, a path, a Response, an ArrayBuffer, a typed array or a WebAssembly.Module');
  }
  const node = globalThis.process?.versions?.node;
  if (node && !(source instanceof globalThis.Response) && !/^(https?|data|blob):/.test(String(source))) {
    const { readFile } = await import(/* @vite-ignore */ 'node:fs/promises');
    return WebAssembly.compile(await readFile(/^file:/.test(String(source)) ? new URL(source) : source));
  }
  const response = source instanceof Response ? source : await fetch(source);
  if (!response.ok) throw new Error(`HTTP status ${response.status} ${response.statusText}`);
  if (response.headers.get('content-type') === 'application/wasm') return WebAssembly.compileStreaming(response);
  return WebAssembly.compile(await response.arrayBuffer());
}

// reason words why a module could not be compiled. The probe is a function that returns a zero vector.
function reason(e) {
  if (!(e instanceof WebAssembly.CompileError)) return e.message;
  const probe = [0, 97, 115, 109, 1, 0, 0, 0, 1, 5, 1, 96, 0, 1, 123, 3, 2, 1, 0, 10, 10, 1, 8, 0, 65, 0, 253, 15, 253, 98, 11];
  if (!WebAssembly.validate(new Uint8Array(probe))) {
    return `this engine has no WebAssembly SIMD (compile the network with -mattr=-simd128): ${e.message}`;
  }
  return `is not a WebAssembly module that this engine can compile: ${e.message}`;
}

class Network {
  #entry; #memory; #about;

  constructor(module, instance, about) {
    this.module = module;
    this.#about = about;
    this.#entry = instance.exports[`lathe_${about.module}_run`];
    this.#memory = instance.exports.memory.buffer; // it never grows
    const describe = ({ name, dtype, shape }) => Object.freeze({ name, dtype, shape: Object.freeze([...shape]) });
    this.inputs = Object.freeze(about.inputs.map(describe));
    this.outputs = Object.freeze(about.outputs.map(describe)); // shapes at their largest
  }

  // run computes all outputs from all inputs. inputs has one property for each input: a typed array in row-major order, or
  // an object { data, shape } such as an output. The result has { name, dtype, shape, data } by the outputs' names, in
  // memory of their own.
  run(inputs) {
    this.#check(inputs);
    this.inputs.forEach((t, i) => this.#set(t, this.#about.memory.inputs[i], inputs[t.name]));
    new DataView(this.#memory).setInt32(this.#about.memory.status, 0, true);
    const status = this.#entry(this.#about.memory.context, 0, 1, 0, this.#about.steps?.length ?? 0);
    if (status !== 0) {
      const why = status === 2 ? "a loop would run more often than its bound (--loop-bound)" : "an index or a size that depends on the input's values is out of range";
      throw new RangeError(`lathe: the network reports status ${status}: ${why}`);
    }
    return Object.fromEntries(this.outputs.map((t, i) => [t.name, this.#get(t, i)]));
  }

  #check(inputs) {
    const names = this.inputs.map((t) => t.name);
    if (inputs === null || typeof inputs !== 'object' || ArrayBuffer.isView(inputs)) {
      throw new TypeError(`lathe: run takes an object with the inputs by name: { ${names.join(', ')} }`);
    }
    for (const name of Object.keys(inputs)) {
      if (!names.includes(name)) throw new TypeError(`lathe: there is no input "${name}": there are ${names.join(', ')}`);
    }
  }

  #set(t, address, value) {
    if (value === undefined) throw new TypeError(`lathe: input "${t.name}" is missing`);
    const data = ArrayBuffer.isView(value) ? value : value?.data;
    const kind = ArrayBuffer.isView(data) ? data[Symbol.toStringTag] : typeof data;
    const to = new arrays[t.dtype](this.#memory, address, room(t));
    const short = t.dtype === 'float16' || t.dtype === 'bfloat16';
    const wanted = short ? ['Float32Array', 'Uint16Array'] : [arrays[t.dtype].name];
    if (!wanted.includes(kind) && !(kind === 'Uint8ClampedArray' && wanted[0] === 'Uint8Array')) {
      throw new TypeError(`lathe: input "${t.name}" is ${t.dtype}: want a ${wanted.join(' or a ')}, got ${kind}`);
    }
    const shape = data === value ? undefined : value.shape;
    if (data.length !== to.length || (shape && shape.join() !== t.shape.join())) {
      const got = shape ? `shape [${shape}]` : `${data.length} elements`;
      throw new RangeError(`lathe: input "${t.name}" has shape [${t.shape}], ${to.length} elements: got ${got}`);
    }
    if (short && kind === 'Float32Array') narrow[t.dtype](data, to);
    else if (t.dtype === 'bool') data.forEach((x, i) => { to[i] = x ? 1 : 0; });
    else to.set(data);
  }

  #get(t, i) {
    const { outputs, symbols } = this.#about.memory;
    const extents = this.#about.outputs[i].symbols; // of each axis: which symbol holds its extent, or -1
    const extent = (s) => Number(new DataView(this.#memory).getBigInt64(symbols + 8 * s, true));
    const shape = extents ? t.shape.map((n, k) => (extents[k] < 0 ? n : extent(extents[k]))) : [...t.shape];
    const data = new arrays[t.dtype](this.#memory, outputs[i], count(shape));
    return { name: t.name, dtype: t.dtype, shape, data: t.dtype in widen ? widen[t.dtype](data) : data.slice() };
  }
}

// room is the number of elements of an input's array: bytes of two for integers of 4 bits, the first in the low bits.
const room = (t) => (/int4$/.test(t.dtype) ? (count(t.shape) + 1) >> 1 : count(t.shape));
const count = (shape) => shape.reduce((a, b) => a * b, 1);
const bits = (f) => new Uint32Array(f.buffer, f.byteOffset, f.length);

// narrow rounds float32 to nearest even. Halves below 2^-14 have steps of 2^-24, which the addition of 0.5 rounds to.
const narrow = {
  bfloat16(from, to) {
    bits(from).forEach((b, i) => { to[i] = (b & 0x7fffffff) > 0x7f800000 ? (b >>> 16) | 0x40 : (b + 0x7fff + ((b >>> 16) & 1)) >>> 16; });
  },
  float16(from, to) {
    const half = new Float32Array(1), whole = bits(half);
    bits(from).forEach((b, i) => {
      const sign = (b >>> 16) & 0x8000, size = b & 0x7fffffff;
      let h;
      if (size >= 0x47800000) h = size > 0x7f800000 ? 0x7e00 : 0x7c00;
      else if (size >= 0x38800000) h = (size - 0x38000000 + 0xfff + ((size >>> 13) & 1)) >>> 13;
      else {
        half[0] = Math.abs(from[i]) + 0.5;
        h = whole[0] - 0x3f000000;
      }
      to[i] = sign | h;
    });
  },
};

const widen = {
  bfloat16: (from) => new Float32Array(Uint32Array.from(from, (h) => h << 16).buffer),
  float16: (from) => Float32Array.from(from, (h) => {
    const sign = h & 0x8000 ? -1 : 1, exponent = (h >> 10) & 31, fraction = h & 1023;
    if (exponent === 31) return fraction ? NaN : sign * Infinity;
    return sign * (exponent ? (1024 + fraction) * 2 ** (exponent - 25) : fraction * 2 ** -24);
  }),
};
