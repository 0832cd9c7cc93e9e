// SPDX-License-Identifier: Apache-2.0
//
// Types of the loader NAME.mjs.

export type DType =
  | 'float32' | 'float64' | 'float16' | 'bfloat16' | 'bool'
  | 'int4' | 'uint4' | 'int8' | 'int16' | 'int32' | 'int64' | 'uint8' | 'uint16' | 'uint32' | 'uint64';

export type Data =
  | Float32Array | Float64Array | Int8Array | Int16Array | Int32Array | BigInt64Array
  | Uint8Array | Uint8ClampedArray | Uint16Array | Uint32Array | BigUint64Array;

export interface TensorInfo {
  readonly name: string;
  readonly dtype: DType;
  readonly shape: readonly number[];
}

export interface Tensor extends TensorInfo {
  readonly data: Data;
}

export interface Network {
  readonly module: WebAssembly.Module;
  readonly inputs: readonly TensorInfo[];
  readonly outputs: readonly TensorInfo[];
  run(inputs: Record<string, Data | { data: Data; shape?: readonly number[] }>): Record<string, Tensor>;
}

export function load(source?: string | URL | Response | ArrayBuffer | ArrayBufferView | WebAssembly.Module): Promise<Network>;
