// The operators: each takes its inputs (null where omitted) and gives one tensor.
#pragma once

#include <cmath>
#include <functional>
#include <limits>
#include <type_traits>

#include "onnx.hpp"

using onnx::Node;
using onnx::Tensor;
using Inputs = std::vector<const Tensor*>;

[[noreturn]] inline void reject(const Node& node, const std::string& what) {
  throw Rejected("run", node.op + ": " + what);
}

inline Tensor make(int type, std::vector<int64_t> shape) {
  Tensor tensor;
  tensor.type = type;
  tensor.shape = std::move(shape);
  tensor.bytes.resize(static_cast<size_t>(onnx::count(tensor.shape)) * onnx::size_of(type));
  return tensor;
}

inline int64_t attribute(const Node& node, const std::string& name, int64_t otherwise) {
  auto found = node.attributes.find(name);
  return found == node.attributes.end() ? otherwise : found->second.i;
}

inline int64_t axis_of(const Node& node, int64_t axis, size_t rank) {
  auto r = static_cast<int64_t>(rank);
  if (axis < -r || axis >= r) reject(node, "axis " + std::to_string(axis) + " is out of range");
  return axis < 0 ? axis + r : axis;
}

// Steps from one index to the next along each axis; 0 along axes that are broadcast.
inline std::vector<int64_t> strides(const std::vector<int64_t>& shape, size_t rank) {
  std::vector<int64_t> steps(rank, 0);
  int64_t step = 1;
  for (size_t k = 0; k < shape.size(); ++k) {
    size_t axis = shape.size() - 1 - k;
    if (shape[axis] != 1) steps[rank - 1 - k] = step;
    step *= shape[axis];
  }
  return steps;
}

// Calls visit(i, j) for each index of a shape in order, with the offsets in two tensors.
template <class Visit>
void walk(const std::vector<int64_t>& shape, const std::vector<int64_t>& a,
          const std::vector<int64_t>& b, Visit visit) {
  std::vector<int64_t> index(shape.size(), 0);
  int64_t i = 0, j = 0;
  for (int64_t left = onnx::count(shape); left > 0; --left) {
    visit(i, j);
    for (size_t k = shape.size(); k-- > 0;) {
      i += a[k], j += b[k];
      if (++index[k] < shape[k]) break;
      i -= a[k] * shape[k], j -= b[k] * shape[k];
      index[k] = 0;
    }
  }
}

inline std::vector<int64_t> broadcast(const Node& node, const Tensor& a, const Tensor& b) {
  std::vector<int64_t> shape(std::max(a.shape.size(), b.shape.size()), 1);
  for (const Tensor* t : {&a, &b}) {
    size_t offset = shape.size() - t->shape.size();
    for (size_t k = 0; k < t->shape.size(); ++k) {
      int64_t& size = shape[offset + k];
      if (size == 1) size = t->shape[k];
      else if (t->shape[k] != 1 && t->shape[k] != size) reject(node, "the shapes do not broadcast");
    }
  }
  return shape;
}

// Integers wrap around: the sum is taken in uint64 and cut.
template <class T>
T arithmetic(const Node& node, char op, T a, T b) {
  if constexpr (std::is_floating_point_v<T>) {
    return op == '+' ? a + b : op == '-' ? a - b : op == '*' ? a * b : a / b;
  } else {
    auto x = static_cast<uint64_t>(a), y = static_cast<uint64_t>(b);
    if (op == '+') return static_cast<T>(x + y);
    if (op == '-') return static_cast<T>(x - y);
    if (op == '*') return static_cast<T>(x * y);
    if (b == 0) reject(node, "an integer is divided by zero");
    if (std::is_signed_v<T> && b == static_cast<T>(-1)) return static_cast<T>(uint64_t{0} - x);
    return static_cast<T>(a / b);
  }
}

// Calls f with a value of the C++ type of an element type.
template <class F>
void with_number(const Node& node, int type, F f) {
  switch (type) {
    case onnx::kFloat: return f(float{});
    case onnx::kDouble: return f(double{});
    case onnx::kInt8: return f(int8_t{});
    case onnx::kInt16: return f(int16_t{});
    case onnx::kInt32: return f(int32_t{});
    case onnx::kInt64: return f(int64_t{});
    case onnx::kUint8: return f(uint8_t{});
    case onnx::kUint16: return f(uint16_t{});
    case onnx::kUint32: return f(uint32_t{});
    case onnx::kUint64: return f(uint64_t{});
    case onnx::kFloat16: case onnx::kBfloat16:
      throw Unsupported(node.op + " of " + onnx::name_of(type));
    default: reject(node, "it does not take " + onnx::name_of(type));
  }
}

inline Tensor binary(const Node& node, const Inputs& in, char op) {
  const Tensor &a = *in[0], &b = *in[1];
  if (a.type != b.type) {
    reject(node, onnx::name_of(a.type) + " and " + onnx::name_of(b.type) + " do not go together");
  }
  Tensor out = make(a.type, broadcast(node, a, b));
  size_t rank = out.shape.size();
  with_number(node, a.type, [&](auto zero) {
    using T = decltype(zero);
    const T *x = a.data<T>(), *y = b.data<T>();
    T* z = out.data<T>();
    walk(out.shape, strides(a.shape, rank), strides(b.shape, rank),
         [&](int64_t i, int64_t j) { *z++ = arithmetic(node, op, x[i], y[j]); });
  });
  return out;
}

inline Tensor unary(const Node& node, const Inputs& in) {
  const Tensor& a = *in[0];
  Tensor out = make(a.type, a.shape);
  with_number(node, a.type, [&](auto zero) {
    using T = decltype(zero);
    const T* x = a.data<T>();
    T* y = out.data<T>();
    if (std::is_unsigned_v<T> && node.op != "Abs") {
      reject(node, "it does not take " + onnx::name_of(a.type));
    }
    for (int64_t i = 0, n = onnx::count(a.shape); i < n; ++i) {
      T minus = std::is_floating_point_v<T> ? -x[i] : arithmetic<T>(node, '-', zero, x[i]);
      if (node.op == "Neg") y[i] = minus;
      else if (node.op == "Abs") y[i] = std::signbit(static_cast<double>(x[i])) ? minus : x[i];
      else y[i] = x[i] < zero ? zero : x[i];  // Relu; NaN stays NaN
    }
  });
  return out;
}

inline Tensor concat(const Node& node, const Inputs& in) {
  auto found = node.attributes.find("axis");
  if (found == node.attributes.end()) reject(node, "the attribute axis is missing");
  std::vector<int64_t> shape = in[0]->shape;
  auto axis = static_cast<size_t>(axis_of(node, found->second.i, shape.size()));
  shape[axis] = 0;
  for (const Tensor* t : in) {
    if (t->type != in[0]->type) reject(node, "the inputs differ in type");
    if (t->shape.size() != shape.size()) reject(node, "the inputs differ in rank");
    for (size_t k = 0; k < shape.size(); ++k) {
      if (k != axis && t->shape[k] != shape[k]) reject(node, "the inputs differ in shape");
    }
    shape[axis] += t->shape[axis];
  }
  Tensor out = make(in[0]->type, shape);
  out.bytes.clear();
  int64_t rows = onnx::count({shape.begin(), shape.begin() + static_cast<int64_t>(axis)});
  for (int64_t row = 0; row < rows; ++row) {
    for (const Tensor* t : in) {
      size_t width = t->bytes.size() / static_cast<size_t>(rows);
      out.bytes.append(t->bytes, static_cast<size_t>(row) * width, width);
    }
  }
  return out;
}

inline Tensor reshape(const Node& node, const Inputs& in) {
  if (in[1]->type != onnx::kInt64 || in[1]->shape.size() != 1) reject(node, "shape is no list of int64");
  Tensor out = *in[0];
  bool keep_zero = attribute(node, "allowzero", 0) != 0;
  int64_t total = onnx::count(out.shape), known = 1;
  std::vector<int64_t> shape;
  int open = -1;
  for (int64_t k = 0; k < in[1]->shape[0]; ++k) {
    int64_t size = in[1]->data<int64_t>()[k];
    if (size == 0 && !keep_zero) {
      if (static_cast<size_t>(k) >= out.shape.size()) reject(node, "a 0 beyond the input's rank");
      size = out.shape[static_cast<size_t>(k)];
    }
    if (size < -1 || (size == -1 && open >= 0)) reject(node, "a bad shape");
    if (size == -1) open = static_cast<int>(k);
    shape.push_back(size == -1 ? 1 : size);
  }
  known = onnx::count(shape);
  if (open >= 0) {
    if (known == 0 || total % known != 0) reject(node, "the sizes do not fit");
    shape[static_cast<size_t>(open)] = total / known;
  } else if (known != total) {
    reject(node, "the sizes do not fit");
  }
  out.shape = shape;
  return out;
}

inline Tensor transpose(const Node& node, const Inputs& in) {
  const Tensor& a = *in[0];
  size_t rank = a.shape.size();
  std::vector<int64_t> perm, shape, steps, all = strides(a.shape, rank);
  auto found = node.attributes.find("perm");
  if (found != node.attributes.end()) perm = found->second.ints;
  else for (size_t k = rank; k-- > 0;) perm.push_back(static_cast<int64_t>(k));
  std::vector<bool> seen(rank, false);
  if (perm.size() != rank) reject(node, "perm does not fit the rank");
  for (int64_t p : perm) {
    auto axis = static_cast<size_t>(axis_of(node, p, rank));
    if (seen[axis]) reject(node, "perm names an axis twice");
    seen[axis] = true;
    shape.push_back(a.shape[axis]);
    steps.push_back(all[axis]);
  }
  Tensor out = make(a.type, shape);
  size_t size = onnx::size_of(a.type), at = 0;
  walk(shape, steps, steps, [&](int64_t i, int64_t) {
    std::memcpy(&out.bytes[at], &a.bytes[static_cast<size_t>(i) * size], size);
    at += size;
  });
  return out;
}

inline Tensor shape_of(const Node& node, const Inputs& in) {
  auto rank = static_cast<int64_t>(in[0]->shape.size());
  auto clamp = [&](int64_t k) { return std::min(std::max<int64_t>(k < 0 ? k + rank : k, 0), rank); };
  int64_t start = clamp(attribute(node, "start", 0));
  int64_t end = std::max(start, clamp(attribute(node, "end", rank)));
  Tensor out = make(onnx::kInt64, {end - start});
  for (int64_t k = start; k < end; ++k) {
    out.data<int64_t>()[k - start] = in[0]->shape[static_cast<size_t>(k)];
  }
  return out;
}

inline Tensor dropout(const Node& node, const Inputs& in) {
  if (in.size() > 2 && in[2] != nullptr && in[2]->bytes.find('\1') != std::string::npos) {
    throw Unsupported(node.op + " in training mode");
  }
  return *in[0];
}

struct Operator {
  size_t min_inputs, max_inputs;
  std::function<Tensor(const Node&, const Inputs&)> run;
};

inline const std::map<std::string, Operator>& operators() {
  constexpr size_t many = std::numeric_limits<size_t>::max();
  auto two = [](char op) {
    return Operator{2, 2, [op](const Node& n, const Inputs& in) { return binary(n, in, op); }};
  };
  static const std::map<std::string, Operator> table = {
      {"Identity", {1, 1, [](const Node&, const Inputs& in) { return *in[0]; }}},
      {"Add", two('+')},        {"Sub", two('-')},          {"Mul", two('*')},
      {"Div", two('/')},        {"Neg", {1, 1, unary}},     {"Abs", {1, 1, unary}},
      {"Relu", {1, 1, unary}},  {"Concat", {1, many, concat}}, {"Reshape", {2, 2, reshape}},
      {"Transpose", {1, 1, transpose}}, {"Shape", {1, 1, shape_of}},
      {"Dropout", {1, 3, dropout}}};
  return table;
}
