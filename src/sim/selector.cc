#include "sim/selector.h"

#include <algorithm>
#include <charconv>
#include <set>

#include "sim/names.h"

namespace careen::sim {

// The grammar of label selectors: a=b,c!=d,e in (f,g),!h,i
class LabelParser {
 public:
  explicit LabelParser(std::string_view text) : rest_(text) {}

  tl::expected<std::vector<Selector::Requirement>, std::string> parse() {
    std::vector<Selector::Requirement> out;
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
  using Operator = Selector::Requirement::Operator;
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

  tl::expected<Selector::Requirement, std::string> requirement() {
    Selector::Requirement out;
    bool negated = false;
    if (peek().kind == Token::Kind::no) {
      negated = true;
      take();
    }
    const Token key = take();
    if (key.kind != Token::Kind::word) return tl::unexpected("found '" + key.text + "', expected: identifier");
    if (const auto wrong = qualified_name_errors(key.text); !wrong.empty()) {
      return tl::unexpected("<nil>: Invalid value: " + quoted(key.text) + ": " + wrong.front());
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

  std::optional<std::string> values(const Token& op, Selector::Requirement& out) {
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

  std::optional<std::string> single(Selector::Requirement& out) {
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

  std::optional<std::string> list(Selector::Requirement& out) {
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

  static tl::expected<Selector::Requirement, std::string> check(Selector::Requirement out) {
    for (size_t i = 0; i < out.values.size(); ++i) {
      const std::string field = "values[" + std::to_string(i) + "][" + out.key + "]: Invalid value: ";
      if (const auto wrong = label_value_errors(out.values[i]); !wrong.empty()) {
        return tl::unexpected(field + quoted(out.values[i]) + ": " + wrong.front());
      }
      if (out.op != Operator::greater && out.op != Operator::less) continue;
      int64_t number = 0;
      const std::string& text = out.values[i];
      if (std::from_chars(text.data(), text.data() + text.size(), number).ptr != text.data() + text.size() ||
          text.empty()) {
        return tl::unexpected("values[" + std::to_string(i) + "]: Invalid value: " + quoted(text) +
                              ": for 'Gt', 'Lt' operators, the value must be an integer");
      }
    }
    return out;
  }

  static constexpr const char* kOperators = "in, notin, =, ==, !=, gt, lt";
  std::string_view rest_;
};

namespace {

// The fields each resource lets clients select by, beside name and namespace.
const std::vector<std::string>& selectable(const Resource& resource) {
  static const std::vector<std::string> none;
  static const std::vector<std::string> nodes = {"spec.unschedulable"};
  static const std::vector<std::string> pods = {
      "spec.nodeName",    "spec.restartPolicy", "spec.schedulerName",       "spec.serviceAccountName",
      "spec.hostNetwork", "status.phase",       "status.nominatedNodeName", "status.podIP",
      "status.podIPs"};
  static const std::vector<std::string> namespaces = {"status.phase"};
  static const std::vector<std::string> events = {"involvedObject.kind",
                                                  "involvedObject.namespace",
                                                  "involvedObject.name",
                                                  "involvedObject.uid",
                                                  "involvedObject.apiVersion",
                                                  "involvedObject.resourceVersion",
                                                  "involvedObject.fieldPath",
                                                  "reason",
                                                  "reportingComponent",
                                                  "source",
                                                  "type"};
  static const std::vector<std::string> events_v1 = {"regarding.kind",       "regarding.namespace",
                                                     "regarding.name",       "regarding.uid",
                                                     "regarding.apiVersion", "regarding.resourceVersion",
                                                     "regarding.fieldPath",  "reason",
                                                     "reportingController",  "type"};
  static const std::vector<std::string> secrets = {"type"};
  static const std::vector<std::string> jobs = {"status.successful"};
  static const std::vector<std::string> replica_sets = {"status.replicas"};
  static const std::vector<std::string> services = {"spec.clusterIP", "spec.type"};
  if (resource.is_events_v1()) return events_v1;
  if (resource.custom) return none;
  if (resource.plural == "nodes") return nodes;
  if (resource.plural == "pods") return pods;
  if (resource.plural == "namespaces") return namespaces;
  if (resource.plural == "events") return events;
  if (resource.plural == "secrets") return secrets;
  if (resource.plural == "jobs") return jobs;
  if (resource.plural == "replicasets") return replica_sets;
  if (resource.plural == "services") return services;
  return none;
}

// These have conversions of their own; the others say which fields there are.
bool names_the_label(const Resource& resource) {
  if (resource.custom || resource.group == "events.k8s.io") return true;
  static const std::set<std::string, std::less<>> own = {"nodes",   "pods",     "namespaces",  "events",
                                                         "secrets", "services", "replicasets", "jobs"};
  return own.contains(resource.plural);
}

std::string unsupported(const Resource& resource, const std::string& field) {
  if (names_the_label(resource)) return "field label not supported: " + field;
  return quoted(field) + " is not a known field selector: only \"metadata.name\", \"metadata.namespace\"";
}

// Events are kept as core/v1 ones.
std::string stored_field(const Resource& resource, std::string field) {
  if (!resource.is_events_v1()) return field;
  if (field.starts_with("regarding.")) return "involvedObject" + field.substr(9);
  return field == "reportingController" ? "reportingComponent" : field;
}

}  // namespace

tl::expected<Selector, std::string> Selector::parse(std::string_view labels, std::string_view fields,
                                                    const Resource& resource) {
  Selector out;
  auto parsed = LabelParser(labels).parse();
  if (!parsed) return tl::unexpected(parsed.error());
  out.labels_ = std::move(*parsed);
  const std::string whole(fields);
  while (!fields.empty()) {
    const std::string_view one = fields.substr(0, fields.find(','));
    fields.remove_prefix(std::min(fields.size(), one.size() + 1));
    if (one.empty()) continue;
    const size_t sign = one.find('=');
    if (sign == std::string_view::npos) {
      return tl::unexpected("invalid selector: '" + whole + "'; can't understand '" + std::string(one) + "'");
    }
    FieldRequirement field;
    field.equal = sign == 0 || one[sign - 1] != '!';
    field.field = one.substr(0, field.equal ? sign : sign - 1);
    field.value = one.substr(sign + 1 < one.size() && one[sign + 1] == '=' ? sign + 2 : sign + 1);
    if (field.value.find('=') != std::string::npos) {
      return tl::unexpected(std::string("invalid field selector: unescaped character in value: 61"));
    }
    const auto& known = selectable(resource);
    const bool meta = field.field == "metadata.name" || field.field == "metadata.namespace";
    if (!meta && std::find(known.begin(), known.end(), field.field) == known.end()) {
      return tl::unexpected(unsupported(resource, field.field));
    }
    field.field = stored_field(resource, field.field);
    out.fields_.push_back(std::move(field));
  }
  return out;
}

bool Selector::holds(const Requirement& requirement, const json::value* labels) {
  const json::value* found = labels ? member(*labels, requirement.key) : nullptr;
  using Operator = Requirement::Operator;
  const auto listed = [&] {
    return std::find(requirement.values.begin(), requirement.values.end(),
                     std::string_view(found->is_string() ? found->get_string() : json::string())) !=
           requirement.values.end();
  };
  const auto number = [](std::string_view text) {
    int64_t value = 0;
    const auto end = std::from_chars(text.data(), text.data() + text.size(), value);
    return end.ec == std::errc() && end.ptr == text.data() + text.size() ? std::optional<int64_t>(value) : std::nullopt;
  };
  switch (requirement.op) {
    case Operator::in:
      return found && listed();
    case Operator::not_in:
      return !found || !listed();
    case Operator::exists:
      return found != nullptr;
    case Operator::not_exists:
      return found == nullptr;
    case Operator::greater:
    case Operator::less: {
      if (!found || !found->is_string()) return false;
      const auto has = number(found->get_string());
      const auto bound = number(requirement.values.front());
      return has && bound && (requirement.op == Operator::greater ? *has > *bound : *has < *bound);
    }
  }
  return false;
}

bool Selector::matches(const json::value& object) const {
  const json::value* labels = find(object, {"metadata", "labels"});
  for (const Requirement& requirement : labels_) {
    if (!holds(requirement, labels)) return false;
  }
  for (const FieldRequirement& field : fields_) {
    if ((field_value(object, field.field) == field.value) != field.equal) return false;
  }
  return true;
}

std::string Selector::name() const {
  for (const FieldRequirement& field : fields_) {
    if (field.equal && field.field == "metadata.name") return field.value;
  }
  return {};
}

std::string field_value(const json::value& object, std::string_view field) {
  const json::value* at = &object;
  std::string_view rest = field;
  while (at && !rest.empty()) {
    const std::string_view key = rest.substr(0, rest.find('.'));
    rest.remove_prefix(std::min(rest.size(), key.size() + 1));
    at = member(*at, key);
  }
  if (field == "source") {
    const std::string_view component = text_at(object, {"source", "component"});
    return std::string(component.empty() ? text_at(object, "reportingComponent") : component);
  }
  const bool flag = field == "spec.unschedulable" || field == "spec.hostNetwork";
  if (!at || at->is_null()) return flag ? "false" : "";
  if (at->is_string()) return std::string(std::string_view(at->get_string()));
  return json::serialize(*at);
}

}  // namespace careen::sim
