#include "io/redact.h"

#include <algorithm>

namespace careen::io {

namespace {

constexpr size_t kShortestSecret = 3;
constexpr std::string_view kMask = "***";

struct Encoding {
  std::string_view plain;   // what stays as it is beside letters and digits
  std::string_view digits;  // of the hexadecimal numbers
  bool plus_for_space = false;
};

// Programs differ in what they leave as it is: RFC 3986 and HTML forms are the two ends.
constexpr std::string_view kUnreserved = "-._~";
constexpr std::string_view kFormPlain = "-._*";
constexpr std::string_view kPathPlain = "-._~/:@!$&'()*+,;=";
constexpr std::string_view kUpper = "0123456789ABCDEF";
constexpr std::string_view kLower = "0123456789abcdef";
constexpr Encoding kEncodings[] = {
    {kUnreserved, kUpper},      {kUnreserved, kLower}, {kUnreserved, kUpper, true}, {kFormPlain, kUpper, true},
    {kFormPlain, kLower, true}, {kPathPlain, kUpper},  {kPathPlain, kLower},
};

bool is_alphanumeric(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9'); }

std::string encoded(std::string_view text, const Encoding& encoding) {
  std::string out;
  for (const char c : text) {
    if (is_alphanumeric(c) || encoding.plain.find(c) != std::string_view::npos) {
      out += c;
    } else if (c == ' ' && encoding.plus_for_space) {
      out += '+';
    } else {
      const auto byte = static_cast<unsigned char>(c);
      out += '%';
      out += encoding.digits[byte >> 4];
      out += encoding.digits[byte & 15];
    }
  }
  return out;
}

// Every form of every secret, the longest first.
std::vector<std::string> forms_of(const std::vector<std::string>& secrets) {
  std::vector<std::string> forms;
  for (const std::string& secret : secrets) {
    if (secret.size() < kShortestSecret) continue;
    forms.push_back(secret);
    for (const Encoding& encoding : kEncodings) forms.push_back(encoded(secret, encoding));
  }
  std::sort(forms.begin(), forms.end(), [](const std::string& a, const std::string& b) {
    return a.size() != b.size() ? a.size() > b.size() : a < b;
  });
  forms.erase(std::unique(forms.begin(), forms.end()), forms.end());
  return forms;
}

}  // namespace

std::string redact(std::string_view text, const std::vector<std::string>& secrets) {
  const std::vector<std::string> forms = forms_of(secrets);
  std::string out;
  while (!text.empty()) {
    const auto found =
        std::find_if(forms.begin(), forms.end(), [&](const auto& form) { return text.starts_with(form); });
    if (found == forms.end()) {
      out += text.front();
      text.remove_prefix(1);
    } else {
      out += kMask;
      text.remove_prefix(found->size());
    }
  }
  return out;
}

}  // namespace careen::io
