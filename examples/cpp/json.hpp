// Just enough JSON for the command protocol of opcheck.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

namespace json {

struct Value {
  enum Kind { Null, Bool, Number, String, Array, Object } kind = Null;
  bool boolean = false;
  double number = 0;
  std::string string;
  std::vector<Value> array;
  std::map<std::string, Value> object;

  // A field that may be missing is null.
  const Value& operator[](const std::string& key) const {
    static const Value null;
    auto found = object.find(key);
    return found == object.end() ? null : found->second;
  }
};

class Parser {
 public:
  explicit Parser(const std::string& text) : text_(text) {}

  Value parse() {
    Value value = read(0);
    skip();
    if (at_ != text_.size()) fail("something after the value");
    return value;
  }

 private:
  static constexpr int kMaxDepth = 64;
  const std::string& text_;
  size_t at_ = 0;

  [[noreturn]] void fail(const std::string& what) const {
    throw std::runtime_error("bad JSON at byte " + std::to_string(at_) + ": " + what);
  }
  void skip() {
    while (at_ < text_.size() && std::string(" \t\r\n").find(text_[at_]) != std::string::npos) ++at_;
  }
  char peek() const { return at_ < text_.size() ? text_[at_] : '\0'; }
  bool take(char c) {
    skip();
    if (peek() != c) return false;
    ++at_;
    return true;
  }
  void word(const std::string& w) {
    if (text_.compare(at_, w.size(), w) != 0) fail("an unknown word");
    at_ += w.size();
  }

  Value read(int depth) {
    if (depth > kMaxDepth) fail("too deep");
    skip();
    Value value;
    char c = peek();
    if (c == '{') {
      ++at_;
      value.kind = Value::Object;
      if (take('}')) return value;
      do {
        skip();
        std::string key = string();
        if (!take(':')) fail("a colon is missing");
        value.object[key] = read(depth + 1);
      } while (take(','));
      if (!take('}')) fail("an object has no end");
    } else if (c == '[') {
      ++at_;
      value.kind = Value::Array;
      if (take(']')) return value;
      do value.array.push_back(read(depth + 1));
      while (take(','));
      if (!take(']')) fail("an array has no end");
    } else if (c == '"') {
      value.kind = Value::String;
      value.string = string();
    } else if (c == 't' || c == 'f') {
      value.kind = Value::Bool;
      value.boolean = c == 't';
      word(value.boolean ? "true" : "false");
    } else if (c == 'n') {
      word("null");
    } else {
      const char* start = text_.c_str() + at_;
      char* end = nullptr;
      value.kind = Value::Number;
      value.number = std::strtod(start, &end);
      if (end == start || !std::isfinite(value.number)) fail("no value");
      at_ += static_cast<size_t>(end - start);
    }
    return value;
  }

  unsigned hex4() {
    unsigned code = 0;
    for (int i = 0; i < 4; ++i, ++at_) {
      char c = peek();
      int digit = c >= '0' && c <= '9'   ? c - '0'
                  : c >= 'a' && c <= 'f' ? c - 'a' + 10
                  : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                         : -1;
      if (digit < 0) fail("a bad \\u escape");
      code = code * 16 + static_cast<unsigned>(digit);
    }
    return code;
  }

  static void put(std::string& out, unsigned code) {
    auto byte = [&](unsigned b) { out += static_cast<char>(b); };
    if (code < 0x80) return byte(code);
    if (code < 0x800) return byte(0xC0 | code >> 6), byte(0x80 | (code & 63));
    if (code < 0x10000) {
      return byte(0xE0 | code >> 12), byte(0x80 | (code >> 6 & 63)), byte(0x80 | (code & 63));
    }
    byte(0xF0 | code >> 18), byte(0x80 | (code >> 12 & 63));
    byte(0x80 | (code >> 6 & 63)), byte(0x80 | (code & 63));
  }

  std::string string() {
    if (!take('"')) fail("a string is missing");
    std::string out;
    while (peek() != '"') {
      if (at_ >= text_.size()) fail("a string has no end");
      char c = text_[at_++];
      if (c != '\\') {
        out += c;
        continue;
      }
      char e = peek();
      ++at_;
      static const std::string from = "\"\\/bfnrt", to = "\"\\/\b\f\n\r\t";
      size_t plain = e == '\0' ? std::string::npos : from.find(e);
      if (plain != std::string::npos) {
        out += to[plain];
      } else if (e == 'u') {
        unsigned code = hex4();
        if (code >= 0xD800 && code < 0xDC00 && text_.compare(at_, 2, "\\u") == 0) {
          at_ += 2;
          code = 0x10000 + ((code - 0xD800) << 10) + ((hex4() - 0xDC00) & 0x3FF);
        }
        put(out, code);
      } else {
        fail("an unknown escape");
      }
    }
    ++at_;
    return out;
  }
};

inline std::string quote(const std::string& text) {
  std::string out = "\"";
  for (unsigned char c : text) {
    if (c == '"' || c == '\\') {
      out += '\\';
      out += static_cast<char>(c);
    } else if (c < 0x20 || c >= 0x7F) {
      // Names may hold any bytes; a message must be UTF-8, so that others are shown as codes.
      char buffer[8];
      std::snprintf(buffer, sizeof buffer, "\\u%04x", c);
      out += buffer;
    } else {
      out += static_cast<char>(c);
    }
  }
  return out + "\"";
}

}  // namespace json
