#include "kube/base64.h"

#include <array>
#include <cstdint>

namespace careen::kube {

namespace {

constexpr std::string_view kAlphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

constexpr std::array<int8_t, 256> make_values() {
  std::array<int8_t, 256> values{};
  values.fill(-1);
  for (size_t i = 0; i < kAlphabet.size(); ++i) {
    values[static_cast<unsigned char>(kAlphabet[i])] = static_cast<int8_t>(i);
  }
  return values;
}
constexpr std::array<int8_t, 256> kValues = make_values();

}  // namespace

std::string base64_encode(std::string_view bytes) {
  std::string out;
  out.reserve((bytes.size() + 2) / 3 * 4);
  for (size_t i = 0; i < bytes.size(); i += 3) {
    const size_t left = bytes.size() - i;
    uint32_t word = static_cast<uint32_t>(static_cast<unsigned char>(bytes[i])) << 16;
    if (left > 1) word |= static_cast<uint32_t>(static_cast<unsigned char>(bytes[i + 1])) << 8;
    if (left > 2) word |= static_cast<unsigned char>(bytes[i + 2]);
    out += kAlphabet[word >> 18];
    out += kAlphabet[(word >> 12) & 63];
    out += left > 1 ? kAlphabet[(word >> 6) & 63] : '=';
    out += left > 2 ? kAlphabet[word & 63] : '=';
  }
  return out;
}

std::optional<std::string> base64_decode(std::string_view text) {
  std::string out;
  out.reserve(text.size() / 4 * 3);
  uint32_t word = 0;
  int digits = 0;
  int padding = 0;
  for (const char c : text) {
    if (c == '\n' || c == '\r' || c == ' ' || c == '\t') continue;
    if (c == '=') {
      ++padding;
      continue;
    }
    const int value = kValues[static_cast<unsigned char>(c)];
    if (value < 0 || padding > 0) return std::nullopt;
    word = (word << 6) | static_cast<uint32_t>(value);
    if (++digits == 4) {
      out += static_cast<char>(word >> 16);
      out += static_cast<char>(word >> 8);
      out += static_cast<char>(word);
      word = 0;
      digits = 0;
    }
  }
  if (digits == 0) return padding == 0 ? std::optional(std::move(out)) : std::nullopt;
  if (digits == 1 || digits + padding != 4) return std::nullopt;
  word <<= 6 * (4 - digits);
  out += static_cast<char>(word >> 16);
  if (digits == 3) out += static_cast<char>(word >> 8);
  return out;
}

}  // namespace careen::kube
