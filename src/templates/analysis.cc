#include "templates/analysis.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <set>
#include <span>
#include <tuple>

#include "templates/functions.h"
#include "templates/methods.h"
#include "templates/types.h"

namespace careen::templates {

namespace {

// What is known of a value: its type, if that is certain, and the part of the node it comes from, if it does. The path
// of the node itself is empty.
struct Shape {
  const Type* type = nullptr;
  std::optional<std::string> path;

  friend bool operator==(const Shape&, const Shape&) = default;
};

struct ShapedVariable {
  std::string_view name;
  Shape shape;
};

using AssignedNames = std::set<std::string, std::less<>>;

const Type* target_of(const Type* type) { return type && type->kind == Kind::pointer ? type->element : type; }

// The path of a member, no longer than a section: what lies deeper belongs to it.
std::string extended(const std::string& path, std::string_view member) {
  if (member.empty() || std::count(path.begin(), path.end(), '/') >= 2) return path;
  return fmt::format("{}/{}", path, member);
}

// The variables that get another value after their declaration, anywhere: their types are not followed.
void collect_assigned(const Pipe& pipe, AssignedNames& names) {
  if (pipe.assigns) names.insert(pipe.variables.begin(), pipe.variables.end());
  for (const Command& command : pipe.commands) {
    for (const Term& term : command.terms) {
      if (term.pipe) collect_assigned(*term.pipe, names);
      if (term.base && term.base->pipe) collect_assigned(*term.base->pipe, names);
    }
  }
}

void collect_assigned(const Body& body, AssignedNames& names) {
  for (const Statement& statement : body) {
    if (statement.pipe) collect_assigned(*statement.pipe, names);
    collect_assigned(statement.body, names);
    collect_assigned(statement.otherwise, names);
  }
}

class Analysis {
 public:
  explicit Analysis(const Program& program) : program_(program) {
    for (const auto& [name, body] : program.bodies) collect_assigned(body, assigned_);
  }

  Findings run() {
    call(kMain, {&types::root, std::nullopt});
    if (!findings_.fields.whole) findings_.fields.sections.assign(sections_.begin(), sections_.end());
    return std::move(findings_);
  }

 private:
  void use(const Shape& shape) {
    // A template that prints everything prints the node.
    if (shape.type == &types::root) findings_.fields.whole = true;
    if (!shape.path) return;
    const std::string& path = *shape.path;
    if (path.empty() || path == "/metadata" || path == "/spec" || path == "/status") {
      findings_.fields.whole = true;
    } else {
      sections_.insert(path);
    }
  }

  // An object is true whatever it holds, and there is always a node.
  void use_truth(const Shape& shape) {
    const bool always = shape.type && (shape.type->kind == Kind::object || (shape.path && shape.path->empty()));
    if (!always) use(shape);
  }

  void problem(Place place, std::string message, std::string name = {}, std::vector<std::string_view> candidates = {}) {
    const bool conditional = branches_ > 0;
    TemplateError error{place.line,      place.column,          std::move(message),
                        std::move(name), std::move(candidates), conditional};
    const auto same = [&](const TemplateError& known) {
      return std::tie(known.line, known.column, known.message) == std::tie(error.line, error.column, error.message);
    };
    auto& problems = findings_.problems;
    const auto known = std::find_if(problems.begin(), problems.end(), same);
    if (known == problems.end()) {
      problems.push_back(std::move(error));
    } else {
      known->conditional = known->conditional && conditional;
    }
  }

  // While one lives, what is looked at is what a message need not come to.
  class Branch {
   public:
    explicit Branch(int& branches) : branches_(branches) { ++branches_; }
    Branch(const Branch&) = delete;
    Branch& operator=(const Branch&) = delete;
    ~Branch() { --branches_; }

   private:
    int& branches_;
  };

  // Statements.
  void call(std::string_view name, const Shape& dot) {
    const auto found = program_.bodies.find(name);
    const auto seen = std::make_tuple(std::string(name), dot.type, dot.path, branches_ > 0);
    if (found == program_.bodies.end() || !called_.insert(seen).second) return;
    std::vector<ShapedVariable> outer = std::exchange(variables_, {{"$", dot}});
    walk(found->second, dot);
    variables_ = std::move(outer);
  }

  void walk(const Body& body, const Shape& dot) {
    for (const Statement& statement : body) walk(statement, dot);
  }

  void walk(const Statement& statement, const Shape& dot) {
    switch (statement.kind) {
      case Statement::Kind::action: {
        const Shape value = pipeline(*statement.pipe, dot);
        if (statement.pipe->variables.empty()) use(value);
        return;
      }
      case Statement::Kind::call:
        return call_template(statement, dot);
      case Statement::Kind::conditional:
      case Statement::Kind::with:
      case Statement::Kind::range:
        return control(statement, dot);
      default:
        return;
    }
  }

  void call_template(const Statement& statement, const Shape& dot) {
    const Shape inner = statement.pipe ? pipeline(*statement.pipe, dot) : Shape{};
    if (!program_.bodies.contains(statement.text)) {
      problem(statement.place, fmt::format("template \"{}\" not defined", statement.text), statement.text);
    }
    call(statement.text, inner);
  }

  void control(const Statement& statement, const Shape& dot) {
    const size_t declared = variables_.size();
    const Shape value = pipeline(*statement.pipe, dot);
    Shape inner = dot;
    if (statement.kind == Statement::Kind::with) inner = value;
    if (statement.kind == Statement::Kind::range) {
      inner = element_of(value, statement.pipe->place);
      bind_range(*statement.pipe, value, inner);
    } else {
      use_truth(value);
    }
    const Branch branch(branches_);
    walk(statement.body, inner);
    // In the alternative of a range its variables hold what it went over.
    if (statement.kind == Statement::Kind::range) bind_range(*statement.pipe, value, value);
    walk(statement.otherwise, dot);
    variables_.resize(declared);
  }

  // What a range over the value meets.
  Shape element_of(const Shape& over, Place place) {
    use(over);
    const Type* type = target_of(over.type);
    if (!type) return {nullptr, over.path};
    switch (type->kind) {
      case Kind::list:
      case Kind::map:
        return {type->element, over.path};
      case Kind::integer:
      case Kind::unsigned_integer:
        return {type, std::nullopt};
      default:
        problem(place, fmt::format("range can't iterate over a value of type {}", type->name));
    }
    return {};
  }

  void bind_range(const Pipe& pipe, const Shape& over, const Shape& held) {
    if (pipe.assigns || pipe.variables.empty()) return;
    variables_.back().shape = followed(pipe.variables.back(), held);
    if (pipe.variables.size() < 2) return;
    const Type* type = target_of(over.type);
    const Type* index = nullptr;
    if (type && type->kind == Kind::map) index = &types::text;
    if (type && type->kind == Kind::list) index = &types::integer;
    // In the alternative it is not the index, so its type is not certain.
    variables_[variables_.size() - 2].shape = held == over ? Shape{} : Shape{index, std::nullopt};
  }

  // Variables.
  Shape followed(std::string_view name, const Shape& shape) {
    if (!assigned_.contains(name)) return shape;
    use(shape);
    return {};
  }

  Shape variable(std::string_view name) const {
    const auto found = std::find_if(variables_.rbegin(), variables_.rend(),
                                    [&](const ShapedVariable& candidate) { return candidate.name == name; });
    return found == variables_.rend() ? Shape{} : found->shape;
  }

  // Pipelines.
  Shape pipeline(const Pipe& pipe, const Shape& dot) {
    std::optional<Shape> value;
    for (const Command& command : pipe.commands) value = run_command(command, dot, value);
    for (const std::string& name : pipe.variables) {
      const Shape bound = followed(name, *value);
      if (!pipe.assigns) variables_.push_back({name, bound});
    }
    return *value;
  }

  Shape run_command(const Command& command, const Shape& dot, const std::optional<Shape>& piped) {
    const Term& first = command.terms.front();
    std::vector<Shape> arguments;
    for (const Term& term : std::span(command.terms).subspan(1)) {
      // A method is not called, and its arguments not looked at, where its value turns out to be missing.
      const bool always = first.kind == Term::Kind::function && (arguments.empty() || !is_logic(first));
      arguments.push_back(always ? evaluate(term, dot) : evaluate_if_reached(term, dot));
    }
    if (piped) arguments.push_back(*piped);
    if (first.kind == Term::Kind::function) return function(first.text, arguments);
    for (const Shape& argument : arguments) use(argument);
    return evaluate(first, dot);
  }

  // The first argument of these may decide, and then the others are not looked at.
  static bool is_logic(const Term& term) {
    return term.kind == Term::Kind::function && find_function(term.text)->result == ResultKind::argument;
  }

  Shape evaluate_if_reached(const Term& term, const Shape& dot) {
    const Branch branch(branches_);
    return evaluate(term, dot);
  }

  Shape evaluate(const Term& term, const Shape& dot) {
    switch (term.kind) {
      case Term::Kind::dot:
        return dot;
      case Term::Kind::boolean:
        return {&types::boolean, std::nullopt};
      case Term::Kind::number:
        return {term.number.prefers_float ? &types::float64 : &types::integer, std::nullopt};
      case Term::Kind::text:
        return {&types::text, std::nullopt};
      case Term::Kind::field:
        return chain(term, dot);
      case Term::Kind::variable:
        return chain(term, variable(term.text));
      case Term::Kind::function:
        return function(term.text, {});
      case Term::Kind::pipe:
        return pipeline(*term.pipe, dot);
      case Term::Kind::chain:
        return chain(term, evaluate(*term.base, dot));
      case Term::Kind::nil:
        break;
    }
    return {};
  }

  Shape chain(const Term& term, Shape receiver) {
    for (const std::string& name : term.names) receiver = member(term, name, receiver);
    return receiver;
  }

  Shape member(const Term& term, const std::string& name, const Shape& receiver) {
    const Type* type = target_of(receiver.type);
    if (!type) return receiver;
    if (const Method* method = find_method(*type, name)) {
      use(receiver);
      return {method->result, std::nullopt};
    }
    // A key may be missing, and then nothing further fails.
    if (type->kind == Kind::map) return {nullptr, receiver.path};
    const FoundField found = find_field(*type, name);
    if (!found) {
      problem(term.place, fmt::format("can't evaluate field {} in type {}", name, receiver.type->name), name,
              names_of(*type));
      return {nullptr, receiver.path};
    }
    if (type->nature == Nature::root && found.field->name == "Node") return {found.field->type, std::string()};
    if (!receiver.path) return {found.field->type, std::nullopt};
    const std::string outer = found.through ? extended(*receiver.path, found.through->json) : *receiver.path;
    return {found.field->type, extended(outer, found.field->json)};
  }

  Shape function(std::string_view name, const std::vector<Shape>& arguments) {
    for (const Shape& argument : arguments) use(argument);
    switch (find_function(name)->result) {
      case ResultKind::boolean:
        return {&types::boolean, std::nullopt};
      case ResultKind::integer:
        return {&types::integer, std::nullopt};
      case ResultKind::text:
        return {&types::text, std::nullopt};
      case ResultKind::element:
        return indexed(arguments);
      case ResultKind::same:
        return arguments.empty() ? Shape{} : Shape{target_of(arguments[0].type), arguments[0].path};
      case ResultKind::argument:
        return common(arguments);
      case ResultKind::unknown:
        break;
    }
    return {};
  }

  static Shape indexed(const std::vector<Shape>& arguments) {
    if (arguments.empty()) return {};
    Shape item = arguments[0];
    for (size_t i = 1; i < arguments.size() && item.type; ++i) {
      const Type* type = target_of(item.type);
      item.type = type->kind == Kind::text ? &types::byte : type->element;
    }
    return item;
  }

  static Shape common(const std::vector<Shape>& arguments) {
    if (arguments.empty()) return {};
    const bool alike = std::all_of(arguments.begin(), arguments.end(),
                                   [&](const Shape& argument) { return argument.type == arguments[0].type; });
    return {alike ? arguments[0].type : nullptr, std::nullopt};
  }

  const Program& program_;
  AssignedNames assigned_;
  std::vector<ShapedVariable> variables_;
  std::set<std::tuple<std::string, const Type*, std::optional<std::string>, bool>> called_;
  int branches_ = 0;
  std::set<std::string> sections_;
  Findings findings_;
};

}  // namespace

Findings analyse(const Program& program) { return Analysis(program).run(); }

}  // namespace careen::templates
