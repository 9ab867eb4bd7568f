// A program for opcheck's command protocol: a small interpreter of ONNX models.
#include <fstream>
#include <iostream>
#include <iterator>
#include <set>
#include <sstream>

#include "json.hpp"
#include "onnx.hpp"
#include "operators.hpp"

static_assert(sizeof(float) == 4 && sizeof(double) == 8, "IEEE floats are needed");

constexpr int64_t kMinOpset = 13, kMaxOpset = 28, kMinIr = 3, kMaxIr = 14;

static std::string read_file(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  if (!in) throw Rejected("load", "cannot read " + path);
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

// Refuse what is not implemented before anything else, then what is wrong.
static void check_model(const onnx::Model& model) {
  if (model.ir_version < kMinIr || model.ir_version > kMaxIr) {
    throw Unsupported("IR version " + std::to_string(model.ir_version));
  }
  if (model.has_functions) throw Unsupported("functions of the model's own");
  auto opset = model.opsets.find("");
  for (const Node& node : model.nodes) {
    if (!node.domain.empty() || !operators().count(node.op)) {
      throw Unsupported("the operator " + (node.domain.empty() ? "" : node.domain + ".") + node.op);
    }
    if (opset == model.opsets.end()) throw Rejected("load", "no opset is imported");
    if (opset->second < kMinOpset || opset->second > kMaxOpset) {
      throw Unsupported("opset " + std::to_string(opset->second));
    }
  }
  std::set<std::string> known;
  for (const auto& tensor : model.initializers) known.insert(tensor.name);
  for (const auto& input : model.inputs) {
    if (!input.is_tensor) throw Unsupported("an input that is no tensor");
    known.insert(input.name);
  }
  for (const Node& node : model.nodes) {
    const Operator& op = operators().at(node.op);
    if (node.inputs.size() < op.min_inputs || node.inputs.size() > op.max_inputs) {
      throw Rejected("load", node.op + " has " + std::to_string(node.inputs.size()) + " inputs");
    }
    if (node.op == "Concat" && !node.attributes.count("axis")) {
      throw Rejected("load", "Concat needs the attribute axis");
    }
    for (size_t k = 0; k < node.inputs.size(); ++k) {
      const std::string& name = node.inputs[k];
      bool must = k < op.min_inputs || node.op == "Concat";
      if (name.empty() ? must : !known.count(name)) {
        throw Rejected("load", node.op + " reads '" + name + "', which nothing gives");
      }
    }
    for (size_t k = 0; k < node.outputs.size(); ++k) {
      if (node.outputs[k].empty()) continue;
      if (k > 0) throw Unsupported("the output " + std::to_string(k) + " of " + node.op);
      if (!known.insert(node.outputs[k]).second) {
        throw Rejected("load", "'" + node.outputs[k] + "' is given twice");
      }
    }
  }
  for (const auto& output : model.outputs) {
    if (!known.count(output.name)) {
      throw Rejected("load", "nothing gives the output '" + output.name + "'");
    }
  }
}

static void check_value(const onnx::Variable& declared, const Tensor& value) {
  if (declared.type != value.type) {
    throw Rejected("run", "'" + declared.name + "' is declared as " + onnx::name_of(declared.type) +
                              " and is " + onnx::name_of(value.type));
  }
  bool fits = !declared.has_shape || declared.shape.size() == value.shape.size();
  for (size_t k = 0; fits && declared.has_shape && k < value.shape.size(); ++k) {
    fits = declared.shape[k] < 0 || declared.shape[k] == value.shape[k];
  }
  if (!fits) throw Rejected("run", "'" + declared.name + "' has another shape than declared");
}

static std::map<std::string, Tensor> read_inputs(const json::Value& message,
                                                 const onnx::Model& model) {
  std::map<std::string, Tensor> values;
  for (const auto& tensor : model.initializers) values[tensor.name] = tensor;
  std::map<std::string, const onnx::Variable*> declared;
  for (const auto& input : model.inputs) declared[input.name] = &input;
  for (const json::Value& input : message["inputs"].array) {
    const std::string& name = input["name"].string;
    if (!declared.count(name)) throw Rejected("run", "the model has no input '" + name + "'");
    if (input["kind"].string != "tensor") throw Unsupported("an input that is no tensor");
    const std::string path = message["folder"].string + "/" + input["file"].string;
    const std::string bytes = read_file(path);
    values[name] = onnx::read_tensor(onnx::Reader(bytes));
    check_value(*declared[name], values[name]);
  }
  for (const auto& input : model.inputs) {
    if (!values.count(input.name)) throw Rejected("run", "the input '" + input.name + "' is missing");
  }
  return values;
}

static onnx::Model load(const std::string& path) {
  try {
    onnx::Model model = onnx::read_model(read_file(path));
    check_model(model);
    return model;
  } catch (const Unsupported&) {
    throw;
  } catch (const Rejected&) {
    throw;
  } catch (const std::exception& error) {
    throw Rejected("load", error.what());
  }
}

static void run(const json::Value& message) {
  const std::string folder = message["folder"].string + "/";
  onnx::Model model = load(folder + message["model"].string);
  std::map<std::string, Tensor> values = read_inputs(message, model);
  for (const Node& node : model.nodes) {
    Inputs inputs;
    for (const auto& name : node.inputs) inputs.push_back(name.empty() ? nullptr : &values.at(name));
    Tensor result = operators().at(node.op).run(node, inputs);
    if (!node.outputs.empty() && !node.outputs[0].empty()) values[node.outputs[0]] = std::move(result);
  }
  std::map<std::string, const onnx::Variable*> declared;
  for (const auto& output : model.outputs) declared[output.name] = &output;
  for (const json::Value& output : message["outputs"].array) {
    Tensor& value = values.at(output["name"].string);
    value.name = output["name"].string;
    if (declared.count(value.name)) check_value(*declared[value.name], value);
    std::ofstream file(folder + output["file"].string, std::ios::binary);
    file << onnx::write_tensor(value);
    file.close();
    if (!file) throw Rejected("run", "cannot write " + output["file"].string);
  }
}

static std::string ready() {
  std::ostringstream out;
  out << R"({"type":"ready","protocol":1,"name":"opcheck-cpp","version":"1.0","capabilities":{)"
      << R"("kinds":["tensor"],"element_types":[)";
  const char* comma = "";
  for (const auto& type : onnx::types()) {
    out << comma << json::quote(type.second.name);
    comma = ",";
  }
  out << R"(],"opsets":{"":[)" << kMinOpset << ',' << kMaxOpset << R"(]},"ir_versions":[)" << kMinIr
      << ',' << kMaxIr << "]}}";
  return out.str();
}

static std::string start(const json::Value& message) {
  for (const json::Value& version : message["protocols"].array) {
    if (version.number == 1) return ready();
  }
  return R"({"type":"error","phase":"start","message":"this program speaks protocol 1"})";
}

// The answer to a line; empty for a message of a type that this program does not know.
static std::string answer(const std::string& line) {
  json::Value message = json::Parser(line).parse();
  const std::string& type = message["type"].string;
  if (type == "start") return start(message);
  if (type != "run") return "";
  const std::string id = std::to_string(static_cast<int64_t>(message["id"].number));
  auto error = [&](const std::string& phase, const std::string& what) {
    return R"({"type":"error","id":)" + id + R"(,"phase":")" + phase + R"(","message":)" +
           json::quote(what) + "}";
  };
  try {
    run(message);
    return R"({"type":"result","id":)" + id + "}";
  } catch (const Unsupported& reason) {
    return R"({"type":"unsupported","id":)" + id + R"(,"reason":)" + json::quote(reason.what()) + "}";
  } catch (const Rejected& reason) {
    return error(reason.phase, reason.what());
  } catch (const std::exception& reason) {
    return error("run", reason.what());
  }
}

int main() {
  std::string line;
  while (std::getline(std::cin, line)) {
    try {
      std::string said = answer(line);
      if (!said.empty()) std::cout << said << std::endl;
    } catch (const std::exception& error) {
      std::cerr << "ignored a line: " << error.what() << std::endl;
    }
  }
  return 0;
}
