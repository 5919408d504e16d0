#include "kube/label_selector.h"

#include <algorithm>
#include <charconv>
#include <set>
#include <utility>

#include "kube/json_text.h"
#include "kube/names.h"

namespace careen::kube {

namespace {

using Requirement = LabelSelector::Requirement;
using Operator = LabelSelector::Operator;

std::string json_text(std::string_view text) {
  std::string out;
  append_json_text(out, text);
  return out;
}

std::optional<int64_t> number_in(std::string_view text) {
  int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

// The grammar of label selectors: a=b,c!=d,e in (f,g),!h,i
class LabelParser {
 public:
  explicit LabelParser(std::string_view text) : rest_(text) {}

  tl::expected<std::vector<Requirement>, std::string> parse() {
    std::vector<Requirement> out;
    const Token first = peek();
    if (first.kind == Token::Kind::end) return out;
    if (first.kind != Token::Kind::word && first.kind != Token::Kind::no) {
      return tl::unexpected("found '" + first.text + "', expected: !, identifier, or 'end of string'");
    }
    for (;;) {
      auto one = requirement();
      if (!one) return tl::unexpected("unable to parse requirement: " + one.error());
      out.push_back(std::move(*one));
      const Token next = take();
      if (next.kind == Token::Kind::end) return out;
      if (next.kind != Token::Kind::comma) {
        return tl::unexpected("found '" + next.text + "', expected: ',' or 'end of string'");
      }
      const Token after = peek();
      if (after.kind != Token::Kind::word && after.kind != Token::Kind::no) {
        return tl::unexpected("found '" + after.text + "', expected: identifier after ','");
      }
    }
  }

 private:
  struct Token {
    enum class Kind { end, word, comma, no, open, close, equal, double_equal, not_equal, greater, less };
    Kind kind = Kind::end;
    std::string text;
  };

  Token read(std::string_view& rest) const {
    while (!rest.empty() && std::string_view(" \t\r\n").find(rest[0]) != std::string_view::npos) rest.remove_prefix(1);
    if (rest.empty()) return {};
    static const std::pair<std::string_view, Token::Kind> signs[] = {
        {"==", Token::Kind::double_equal}, {"!=", Token::Kind::not_equal},
        {"=", Token::Kind::equal},         {"!", Token::Kind::no},
        {",", Token::Kind::comma},         {"(", Token::Kind::open},
        {")", Token::Kind::close},         {">", Token::Kind::greater},
        {"<", Token::Kind::less}};
    for (const auto& [sign, kind] : signs) {
      if (!rest.starts_with(sign)) continue;
      rest.remove_prefix(sign.size());
      return {kind, std::string(sign)};
    }
    const std::string_view word = rest.substr(0, rest.find_first_of(" \t\r\n=!(),<>"));
    rest.remove_prefix(word.size());
    return {Token::Kind::word, std::string(word)};
  }
  Token take() { return read(rest_); }
  Token peek() const {
    std::string_view copy = rest_;
    return read(copy);
  }

  tl::expected<Requirement, std::string> requirement() {
    Requirement out;
    bool negated = false;
    if (peek().kind == Token::Kind::no) {
      negated = true;
      take();
    }
    const Token key = take();
    if (key.kind != Token::Kind::word) return tl::unexpected("found '" + key.text + "', expected: identifier");
    if (const auto wrong = qualified_name_errors(key.text); !wrong.empty()) {
      return tl::unexpected("<nil>: Invalid value: " + json_text(key.text) + ": " + wrong.front());
    }
    out.key = key.text;
    const Token::Kind next = peek().kind;
    if (next == Token::Kind::end || next == Token::Kind::comma) {
      out.op = negated ? Operator::not_exists : Operator::exists;
      return out;
    }
    const Token op = take();
    if (negated) return tl::unexpected("found '" + op.text + "', expected: " + kOperators);
    if (auto error = values(op, out)) return tl::unexpected(*error);
    return check(std::move(out));
  }

  std::optional<std::string> values(const Token& op, Requirement& out) {
    switch (op.kind) {
      case Token::Kind::equal:
      case Token::Kind::double_equal:
        out.op = Operator::in;
        return single(out);
      case Token::Kind::not_equal:
        out.op = Operator::not_in;
        return single(out);
      case Token::Kind::greater:
        out.op = Operator::greater;
        return single(out);
      case Token::Kind::less:
        out.op = Operator::less;
        return single(out);
      default:
        break;
    }
    if (op.text != "in" && op.text != "notin") return "found '" + op.text + "', expected: " + kOperators;
    out.op = op.text == "in" ? Operator::in : Operator::not_in;
    return list(out);
  }

  std::optional<std::string> single(Requirement& out) {
    const Token::Kind next = peek().kind;
    if (next == Token::Kind::end || next == Token::Kind::comma) {
      out.values.emplace_back();
      return std::nullopt;
    }
    const Token value = take();
    if (value.kind != Token::Kind::word) return "found '" + value.text + "', expected: identifier";
    out.values.push_back(value.text);
    return std::nullopt;
  }

  std::optional<std::string> list(Requirement& out) {
    const Token open = take();
    if (open.kind != Token::Kind::open) return "found '" + open.text + "' expected: '('";
    std::set<std::string> values;
    bool want_value = true;
    for (;;) {
      const Token token = take();
      if (token.kind == Token::Kind::word) {
        values.insert(token.text);
        want_value = false;
      } else if (token.kind == Token::Kind::comma) {
        if (want_value) values.insert("");
        want_value = true;
      } else if (token.kind == Token::Kind::close) {
        if (want_value) values.insert("");
        break;
      } else {
        return "found '" + token.text + "', expected: ',' or ')'";
      }
    }
    out.values.assign(values.begin(), values.end());
    return std::nullopt;
  }

  static tl::expected<Requirement, std::string> check(Requirement out) {
    for (size_t i = 0; i < out.values.size(); ++i) {
      const std::string field = "values[" + std::to_string(i) + "][" + out.key + "]: Invalid value: ";
      if (const auto wrong = label_value_errors(out.values[i]); !wrong.empty()) {
        return tl::unexpected(field + json_text(out.values[i]) + ": " + wrong.front());
      }
      if (out.op != Operator::greater && out.op != Operator::less) continue;
      if (!number_in(out.values[i])) {
        return tl::unexpected("values[" + std::to_string(i) + "]: Invalid value: " + json_text(out.values[i]) +
                              ": for 'Gt', 'Lt' operators, the value must be an integer");
      }
    }
    return out;
  }

  static constexpr const char* kOperators = "in, notin, =, ==, !=, gt, lt";
  std::string_view rest_;
};

bool contains(const std::vector<std::string>& values, std::string_view value) {
  return std::find(values.begin(), values.end(), value) != values.end();
}

bool holds(const Requirement& requirement, std::optional<std::string_view> label) {
  switch (requirement.op) {
    case Operator::in:
      return label && contains(requirement.values, *label);
    case Operator::not_in:
      return !label || !contains(requirement.values, *label);
    case Operator::exists:
      return label.has_value();
    case Operator::not_exists:
      return !label;
    case Operator::greater:
    case Operator::less: {
      if (!label) return false;
      const auto has = number_in(*label);
      const auto bound = number_in(requirement.values.front());
      return has && bound && (requirement.op == Operator::greater ? *has > *bound : *has < *bound);
    }
  }
  return false;
}

std::optional<Operator> operator_named(std::string_view name) {
  if (name == "In") return Operator::in;
  if (name == "NotIn") return Operator::not_in;
  if (name == "Exists") return Operator::exists;
  if (name == "DoesNotExist") return Operator::not_exists;
  return std::nullopt;
}

tl::expected<Requirement, std::string> requirement_of(JsonView expression) {
  Requirement out;
  out.key = expression["key"].text().value_or("");
  const std::string_view name = expression["operator"].text().value_or("");
  const auto op = operator_named(name);
  if (!op) return tl::unexpected(json_text(name) + " is not a valid label selector operator");
  out.op = *op;
  std::set<std::string> values;
  expression["values"].for_each_element([&](JsonView value) { values.emplace(value.text().value_or("")); });
  out.values.assign(values.begin(), values.end());
  const bool lists = out.op == Operator::in || out.op == Operator::not_in;
  if (lists && values.empty()) {
    return tl::unexpected(
        std::string("values: Invalid value: []: for 'in', 'notin' operators, values set can't be empty"));
  }
  if (!lists && !values.empty()) {
    return tl::unexpected(std::string("values: Invalid value: values set must be empty for exists and does not exist"));
  }
  return out;
}

void append_text(std::string& out, const Requirement& requirement) {
  const auto list = [&] {
    std::string joined;
    // An empty value comes first, and counts.
    for (const std::string& value : requirement.values) joined += "," + value;
    return "(" + joined.substr(1) + ")";
  };
  const bool single = requirement.values.size() == 1;
  switch (requirement.op) {
    case Operator::in:
      out += requirement.key + (single ? "=" + requirement.values.front() : " in " + list());
      return;
    case Operator::not_in:
      out += requirement.key + (single ? "!=" + requirement.values.front() : " notin " + list());
      return;
    case Operator::exists:
      out += requirement.key;
      return;
    case Operator::not_exists:
      out += "!" + requirement.key;
      return;
    case Operator::greater:
      out += requirement.key + ">" + requirement.values.front();
      return;
    case Operator::less:
      out += requirement.key + "<" + requirement.values.front();
      return;
  }
}

}  // namespace

io::Result<LabelSelector> LabelSelector::parse(std::string_view text) {
  auto parsed = LabelParser(text).parse();
  if (!parsed) return io::fail(io::ErrorKind::invalid, std::move(parsed.error()));
  LabelSelector out;
  out.requirements_ = std::move(*parsed);
  return out;
}

io::Result<LabelSelector> LabelSelector::from_json(JsonView selector) {
  LabelSelector out;
  if (!selector || selector.is_null()) {
    out.nothing_ = true;
    return out;
  }
  if (!selector.is_object()) return io::fail(io::ErrorKind::invalid, "a label selector must be an object");
  selector["matchLabels"].for_each_member([&](std::string_view key, JsonView value) {
    out.requirements_.push_back(
        {std::string(key), Operator::in, {std::string(value.text().value_or(std::string_view{}))}});
  });
  std::sort(out.requirements_.begin(), out.requirements_.end(),
            [](const Requirement& a, const Requirement& b) { return a.key < b.key; });
  std::optional<std::string> wrong;
  selector["matchExpressions"].for_each_element([&](JsonView expression) {
    auto one = requirement_of(expression);
    if (one) {
      out.requirements_.push_back(std::move(*one));
    } else if (!wrong) {
      wrong = std::move(one.error());
    }
  });
  if (wrong) return io::fail(io::ErrorKind::invalid, std::move(*wrong));
  return out;
}

bool LabelSelector::matches(const Lookup& lookup) const {
  if (nothing_) return false;
  return std::all_of(requirements_.begin(), requirements_.end(),
                     [&](const Requirement& requirement) { return holds(requirement, lookup(requirement.key)); });
}

std::string LabelSelector::text() const {
  std::string out;
  for (const Requirement& requirement : requirements_) {
    if (!out.empty()) out += ",";
    append_text(out, requirement);
  }
  return out;
}

}  // namespace careen::kube
