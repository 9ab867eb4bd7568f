// TensorProto files to ONNX Runtime's tensors and back.
import protobuf from "protobufjs/light.js";

// The fields that opcheck fills, and that this program fills; others are skipped.
const TensorProto = protobuf.Root.fromJSON({
  nested: {
    TensorProto: {
      fields: {
        dims: { rule: "repeated", type: "int64", id: 1 },
        dataType: { type: "int32", id: 2 },
        stringData: { rule: "repeated", type: "bytes", id: 6 },
        name: { type: "string", id: 8 },
        rawData: { type: "bytes", id: 9 },
      },
    },
  },
}).lookupType("TensorProto");

// JavaScript has no arrays of the other element types.
const half = globalThis.Float16Array ?? Uint16Array;
const TYPES = [
  { number: 1, name: "float32", array: Float32Array },
  { number: 2, name: "uint8", array: Uint8Array },
  { number: 3, name: "int8", array: Int8Array },
  { number: 4, name: "uint16", array: Uint16Array },
  { number: 5, name: "int16", array: Int16Array },
  { number: 6, name: "int32", array: Int32Array },
  { number: 7, name: "int64", array: BigInt64Array },
  { number: 8, name: "string", array: null },
  { number: 9, name: "bool", array: Uint8Array },
  { number: 10, name: "float16", array: half },
  { number: 11, name: "float64", array: Float64Array },
  { number: 12, name: "uint32", array: Uint32Array },
  { number: 13, name: "uint64", array: BigUint64Array },
  // Two elements share a byte, as in TensorProto; the native binding has no such tensors.
  { number: 21, name: "uint4", array: Uint8Array, only: "web" },
  { number: 22, name: "int4", array: Uint8Array, only: "web" },
];

/** Return the names of the element types that a runtime's tensors may have. */
export function elementTypes(runtime) {
  return TYPES.filter(({ only }) => only === undefined || only === runtime).map(({ name }) => name);
}

export class Unsupported extends Error {}

const utf8 = new TextDecoder("utf-8", { fatal: true });

/** Return a tensor of `ort` made from the bytes of a TensorProto. */
export function decode(bytes, ort) {
  const proto = TensorProto.decode(bytes);
  const type = TYPES.find(({ number }) => number === proto.dataType);
  if (type === undefined) throw new Unsupported(`the element type ${proto.dataType}`);
  const dims = proto.dims.map(Number);
  if (type.array === null) {
    return new ort.Tensor("string", proto.stringData.map((text) => utf8.decode(text)), dims);
  }
  // A copy, because a view of 8-byte elements must begin at a multiple of 8.
  const { buffer } = Uint8Array.from(proto.rawData);
  return new ort.Tensor(type.name, new type.array(buffer), dims);
}

/** Return the bytes of a TensorProto that holds a tensor. */
export function encode(tensor, name) {
  const type = TYPES.find((known) => known.name === tensor.type);
  if (type === undefined) throw new Unsupported(`an output of the element type ${tensor.type}`);
  const proto = { dims: [...tensor.dims], dataType: type.number, name };
  if (type.array === null) {
    proto.stringData = tensor.data.map((text) => Buffer.from(text));
  } else {
    const { buffer, byteOffset, byteLength } = tensor.data;
    proto.rawData = new Uint8Array(buffer, byteOffset, byteLength);
  }
  return TensorProto.encode(TensorProto.create(proto)).finish();
}
