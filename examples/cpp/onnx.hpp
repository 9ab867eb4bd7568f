// Just enough of ONNX's protobuf messages: models and tensors in, tensors out.
// Field numbers are those of https://github.com/onnx/onnx/blob/main/onnx/onnx.proto.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <map>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

struct Unsupported : std::runtime_error {
  using std::runtime_error::runtime_error;
};
// The model or its inputs are wrong; the phase is that of the protocol.
struct Rejected : std::runtime_error {
  std::string phase;
  Rejected(std::string p, const std::string& what) : std::runtime_error(what), phase(std::move(p)) {}
};

namespace onnx {

// Values of TensorProto.DataType, their names in the protocol and their sizes in bytes.
// Types that share bytes (4 bits and fewer), strings and later additions have no size here.
enum Type : int {
  kFloat = 1, kUint8, kInt8, kUint16, kInt16, kInt32, kInt64, kString, kBool, kFloat16, kDouble,
  kUint32, kUint64, kComplex64, kComplex128, kBfloat16
};
struct TypeInfo {
  const char* name;
  size_t size;
};
inline const std::map<int, TypeInfo>& types() {
  static const std::map<int, TypeInfo> table = {
      {kFloat, {"float32", 4}},   {kUint8, {"uint8", 1}},      {kInt8, {"int8", 1}},
      {kUint16, {"uint16", 2}},   {kInt16, {"int16", 2}},      {kInt32, {"int32", 4}},
      {kInt64, {"int64", 8}},     {kBool, {"bool", 1}},        {kFloat16, {"float16", 2}},
      {kDouble, {"float64", 8}},  {kUint32, {"uint32", 4}},    {kUint64, {"uint64", 8}},
      {kComplex64, {"complex64", 8}}, {kComplex128, {"complex128", 16}},
      {kBfloat16, {"bfloat16", 2}}};
  return table;
}
inline size_t size_of(int type) {
  auto found = types().find(type);
  if (found == types().end()) throw Unsupported("the element type " + std::to_string(type));
  return found->second.size;
}
inline std::string name_of(int type) {
  auto found = types().find(type);
  return found == types().end() ? "type " + std::to_string(type) : found->second.name;
}

struct Tensor {
  std::string name;
  int type = 0;
  std::vector<int64_t> shape;
  std::string bytes;  // little-endian, as raw_data is

  template <class T>
  const T* data() const { return reinterpret_cast<const T*>(bytes.data()); }
  template <class T>
  T* data() { return reinterpret_cast<T*>(&bytes[0]); }
};

constexpr uint64_t kMaxBytes = uint64_t{1} << 33;

// The number of elements of a shape; no product overflows unseen.
inline int64_t count(const std::vector<int64_t>& shape) {
  uint64_t product = 1;
  bool empty = false;
  for (int64_t size : shape) {
    if (size < 0) throw std::runtime_error("a negative size");
    empty = empty || size == 0;
  }
  if (empty) return 0;
  for (int64_t size : shape) {
    if (static_cast<uint64_t>(size) > kMaxBytes / product) throw std::runtime_error("a huge shape");
    product *= static_cast<uint64_t>(size);
  }
  return static_cast<int64_t>(product);
}

// Reads one message, field by field.
class Reader {
 public:
  Reader(const char* begin, const char* end) : at_(begin), end_(end) {}
  explicit Reader(const std::string& bytes) : Reader(bytes.data(), bytes.data() + bytes.size()) {}

  int field = 0;
  int wire = 0;

  bool next() {
    if (at_ == end_) return false;
    uint64_t key = varint();
    field = static_cast<int>(key >> 3);
    wire = static_cast<int>(key & 7);
    if (field == 0 || (key >> 3) > 0x1FFFFFFF) throw std::runtime_error("no protobuf message");
    return true;
  }
  int64_t integer() { return expect(0), static_cast<int64_t>(varint()); }
  Reader message() { return expect(2), block(); }
  std::string bytes() {
    Reader inner = message();
    return std::string(inner.at_, inner.end_);
  }
  // A repeated number, packed or not.
  void integers(std::vector<int64_t>& out) {
    if (wire == 0) return out.push_back(integer());
    for (Reader inner = message(); inner.at_ != inner.end_;) {
      out.push_back(static_cast<int64_t>(inner.varint()));
    }
  }
  void fixed(std::string& out, size_t size) {
    if (wire == 2) {
      out += bytes();
    } else {
      expect(size == 4 ? 5 : 1);
      out.append(raw(size), size);
    }
  }
  void skip() {
    if (wire == 0) varint();
    else if (wire == 1) raw(8);
    else if (wire == 2) block();
    else if (wire == 5) raw(4);
    else throw std::runtime_error("no protobuf message");
  }

 private:
  const char* at_;
  const char* end_;

  void expect(int wanted) const {
    if (wire != wanted) throw std::runtime_error("field " + std::to_string(field) + " is malformed");
  }
  const char* raw(size_t size) {
    if (static_cast<size_t>(end_ - at_) < size) throw std::runtime_error("the message is cut short");
    const char* start = at_;
    at_ += size;
    return start;
  }
  Reader block() {
    uint64_t size = varint();
    if (static_cast<uint64_t>(end_ - at_) < size) throw std::runtime_error("the message is cut short");
    const char* start = raw(static_cast<size_t>(size));
    return Reader(start, start + size);
  }
  uint64_t varint() {
    uint64_t value = 0;
    for (int shift = 0; shift < 64; shift += 7) {
      auto byte = static_cast<unsigned char>(*raw(1));
      value |= static_cast<uint64_t>(byte & 0x7F) << shift;
      if (!(byte & 0x80)) return value;
    }
    throw std::runtime_error("a number is too long");
  }
};

// The typed fields of a TensorProto, converted to what raw_data would hold.
inline void narrow(const std::vector<int64_t>& values, size_t size, std::string& out) {
  for (int64_t value : values) out.append(reinterpret_cast<const char*>(&value), size);
}

inline Tensor read_tensor(Reader in) {
  Tensor tensor;
  std::vector<int64_t> ints;
  std::string fixed;
  bool raw = false;
  while (in.next()) {
    switch (in.field) {
      case 1: in.integers(tensor.shape); break;
      case 2: tensor.type = static_cast<int>(in.integer()); break;
      case 4: in.fixed(fixed, 4); break;
      case 5: case 7: case 11: in.integers(ints); break;
      case 8: tensor.name = in.bytes(); break;
      case 9: tensor.bytes = in.bytes(), raw = true; break;
      case 10: in.fixed(fixed, 8); break;
      case 14:
        if (in.integer() != 0) throw Unsupported("external data");
        break;
      default: in.skip();
    }
  }
  if (tensor.type == 0) throw std::runtime_error("a tensor without an element type");
  size_t size = size_of(tensor.type);
  if (!raw && !ints.empty()) narrow(ints, size, tensor.bytes);
  else if (!raw) tensor.bytes = fixed;
  auto wanted = static_cast<uint64_t>(count(tensor.shape)) * size;
  if (tensor.bytes.size() != wanted) {
    throw std::runtime_error("a tensor of " + std::to_string(wanted) + " bytes has " +
                             std::to_string(tensor.bytes.size()));
  }
  return tensor;
}

inline void put_varint(std::string& out, uint64_t value) {
  for (; value >= 0x80; value >>= 7) out += static_cast<char>(value | 0x80);
  out += static_cast<char>(value);
}

inline std::string write_tensor(const Tensor& tensor) {
  std::string out;
  for (int64_t size : tensor.shape) {
    out += '\x08';  // dims
    put_varint(out, static_cast<uint64_t>(size));
  }
  out += '\x10';  // data_type
  put_varint(out, static_cast<uint64_t>(tensor.type));
  if (!tensor.name.empty()) {
    out += '\x42';  // name
    put_varint(out, tensor.name.size());
    out += tensor.name;
  }
  out += '\x4a';  // raw_data
  put_varint(out, tensor.bytes.size());
  return out + tensor.bytes;
}

struct Attribute {
  int64_t i = 0;
  std::vector<int64_t> ints;
  int type = 0;  // AttributeProto.AttributeType: 2 is INT, 7 is INTS
};
struct Node {
  std::string op, domain, name;
  std::vector<std::string> inputs, outputs;
  std::map<std::string, Attribute> attributes;
};
struct Variable {
  std::string name;
  int type = 0;
  bool is_tensor = false;
  bool has_shape = false;
  std::vector<int64_t> shape;  // -1 is any size
};
struct Model {
  int64_t ir_version = 0;
  std::map<std::string, int64_t> opsets;
  bool has_functions = false;
  std::vector<Node> nodes;
  std::vector<Tensor> initializers;
  std::vector<Variable> inputs, outputs;
};

inline std::pair<std::string, Attribute> read_attribute(Reader in) {
  std::pair<std::string, Attribute> result;
  while (in.next()) {
    if (in.field == 1) result.first = in.bytes();
    else if (in.field == 3) result.second.i = in.integer();
    else if (in.field == 8) in.integers(result.second.ints);
    else if (in.field == 20) result.second.type = static_cast<int>(in.integer());
    else in.skip();
  }
  return result;
}

inline Node read_node(Reader in) {
  Node node;
  while (in.next()) {
    switch (in.field) {
      case 1: node.inputs.push_back(in.bytes()); break;
      case 2: node.outputs.push_back(in.bytes()); break;
      case 3: node.name = in.bytes(); break;
      case 4: node.op = in.bytes(); break;
      case 5: node.attributes.insert(read_attribute(in.message())); break;
      case 7: node.domain = in.bytes(); break;
      default: in.skip();
    }
  }
  if (node.domain == "ai.onnx") node.domain.clear();
  return node;
}

inline void read_tensor_type(Reader in, Variable& variable) {
  while (in.next()) {
    if (in.field == 1) {
      variable.type = static_cast<int>(in.integer());
    } else if (in.field == 2) {
      variable.has_shape = true;
      for (Reader shape = in.message(); shape.next();) {
        if (shape.field != 1) {
          shape.skip();
          continue;
        }
        int64_t size = -1;
        for (Reader dim = shape.message(); dim.next();) {
          if (dim.field == 1) size = dim.integer();
          else dim.skip();
        }
        variable.shape.push_back(size);
      }
    } else {
      in.skip();
    }
  }
}

inline Variable read_variable(Reader in) {
  Variable variable;
  while (in.next()) {
    if (in.field == 1) {
      variable.name = in.bytes();
    } else if (in.field == 2) {
      for (Reader type = in.message(); type.next();) {
        if (type.field == 1) {
          variable.is_tensor = true;
          read_tensor_type(type.message(), variable);
        } else {
          type.skip();
        }
      }
    } else {
      in.skip();
    }
  }
  return variable;
}

inline void read_graph(Reader in, Model& model) {
  while (in.next()) {
    switch (in.field) {
      case 1: model.nodes.push_back(read_node(in.message())); break;
      case 5: model.initializers.push_back(read_tensor(in.message())); break;
      case 11: model.inputs.push_back(read_variable(in.message())); break;
      case 12: model.outputs.push_back(read_variable(in.message())); break;
      case 15: throw Unsupported("sparse initializers");
      default: in.skip();
    }
  }
}

inline Model read_model(const std::string& bytes) {
  Model model;
  bool has_graph = false;
  for (Reader in(bytes); in.next();) {
    if (in.field == 1) {
      model.ir_version = in.integer();
    } else if (in.field == 7) {
      has_graph = true;
      read_graph(in.message(), model);
    } else if (in.field == 8) {
      std::string domain;
      int64_t version = 0;
      for (Reader opset = in.message(); opset.next();) {
        if (opset.field == 1) domain = opset.bytes();
        else if (opset.field == 2) version = opset.integer();
        else opset.skip();
      }
      model.opsets[domain == "ai.onnx" ? "" : domain] = version;
    } else {
      model.has_functions = model.has_functions || in.field == 25;
      in.skip();
    }
  }
  if (!has_graph) throw std::runtime_error("a model without a graph");
  return model;
}

}  // namespace onnx
