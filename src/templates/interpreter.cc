#include "templates/interpreter.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "templates/format.h"
#include "templates/functions.h"
#include "templates/methods.h"
#include "templates/value.h"

namespace careen::templates {

namespace {

// No message needs more; a template that does is a mistake.
constexpr size_t kLongestOutput = kLongestText;
constexpr int64_t kMostSteps = 1000000;
constexpr size_t kBytesPerStep = 64;
constexpr int kDeepestCall = 100;

enum class Flow { go_on, leave, next };

struct Variable {
  std::string_view name;
  Value value;
};

// What a command is given on top of its written arguments: the value of the command before it in the pipeline.
using Piped = std::optional<Value>;

class Interpreter {
 public:
  Interpreter(const Program& program, const TemplateData& data) : program_(program), data_(data) {}

  std::string run() {
    const Value root = make_root(data_);
    variables_.push_back({"$", root});
    walk(program_.bodies.find(kMain)->second, root);
    return std::move(output_);
  }

 private:
  // The variables that are declared while this lives go with it.
  class VariableScope {
   public:
    explicit VariableScope(std::vector<Variable>& variables) : variables_(variables), size_(variables.size()) {}
    VariableScope(const VariableScope&) = delete;
    VariableScope& operator=(const VariableScope&) = delete;
    ~VariableScope() { variables_.erase(variables_.begin() + static_cast<std::ptrdiff_t>(size_), variables_.end()); }

   private:
    std::vector<Variable>& variables_;
    size_t size_;
  };

  // A called template sees no variables but its own; those of the caller come back also when it fails.
  class Frame {
   public:
    Frame(Interpreter& interpreter, const Value& dot)
        : interpreter_(interpreter), outer_(std::exchange(interpreter.variables_, {{"$", dot}})) {
      ++interpreter_.depth_;
    }
    Frame(const Frame&) = delete;
    Frame& operator=(const Frame&) = delete;
    ~Frame() {
      --interpreter_.depth_;
      interpreter_.variables_ = std::move(outer_);
    }

   private:
    Interpreter& interpreter_;
    std::vector<Variable> outer_;
  };

  void step(Place place, size_t bytes = 0) {
    steps_ += 1 + static_cast<int64_t>(bytes / kBytesPerStep);
    if (steps_ > kMostSteps) fail_at(place, fmt::format("the template takes more than {} steps", kMostSteps));
  }

  void write(std::string_view text, Place place) {
    if (output_.size() + text.size() > kLongestOutput) {
      fail_at(place, fmt::format("the message is longer than {} bytes", kLongestOutput));
    }
    output_ += text;
    step(place, text.size());
  }

  // Statements.
  Flow walk(const Body& body, const Value& dot) {
    for (const Statement& statement : body) {
      const Flow flow = walk(statement, dot);
      if (flow != Flow::go_on) return flow;
    }
    return Flow::go_on;
  }

  Flow walk(const Statement& statement, const Value& dot) {
    step(statement.place);
    switch (statement.kind) {
      case Statement::Kind::text:
        write(statement.text, statement.place);
        return Flow::go_on;
      case Statement::Kind::action:
        action(statement, dot);
        return Flow::go_on;
      case Statement::Kind::conditional:
      case Statement::Kind::with:
        return choose(statement, dot);
      case Statement::Kind::range:
        return range(statement, dot);
      case Statement::Kind::call:
        call_template(statement, dot);
        return Flow::go_on;
      case Statement::Kind::leave:
        return Flow::leave;
      case Statement::Kind::next:
        return Flow::next;
    }
    return Flow::go_on;
  }

  void action(const Statement& statement, const Value& dot) {
    const Value value = pipeline(*statement.pipe, dot);
    if (!statement.pipe->variables.empty()) return;
    if (!value.exists()) return write("<no value>", statement.place);
    const Value printed = pointed_to(value);
    std::string text = sprint({&printed, 1});
    write(data_.printed ? data_.printed(std::move(text)) : text, statement.place);
  }

  Flow choose(const Statement& statement, const Value& dot) {
    const VariableScope scope(variables_);
    const Value value = pipeline(*statement.pipe, dot);
    if (!truth(value)) return walk(statement.otherwise, dot);
    return walk(statement.body, statement.kind == Statement::Kind::with ? value : dot);
  }

  Flow range(const Statement& statement, const Value& dot) {
    const VariableScope scope(variables_);
    const Value over = pointed_to(pipeline(*statement.pipe, dot));
    bool ran = false;
    const auto visit = [&](const Value& index, const Value& held) {
      ran = true;
      return iteration(statement, index, held);
    };
    if (over.exists()) visit_all(statement, over, visit);
    return ran ? Flow::go_on : walk(statement.otherwise, dot);
  }

  template <class Visit>
  void visit_all(const Statement& statement, const Value& over, const Visit& visit) {
    switch (over.type->kind) {
      case Kind::integer:
      case Kind::unsigned_integer:
        return visit_numbers(statement, over, visit);
      case Kind::list:
        for (size_t i = 0; i < length(over); ++i) {
          if (!visit(make_integer(static_cast<int64_t>(i)), element(over, i))) return;
        }
        return;
      case Kind::map:
        for (const auto& [key, held] : entries(over)) {
          if (!visit(Value{&types::text, Text{key, nullptr}}, held)) return;
        }
        return;
      default:
        fail_at(statement.pipe->place, fmt::format("range can't iterate over a value of type {}", over.type->name));
    }
  }

  template <class Visit>
  void visit_numbers(const Statement& statement, const Value& over, const Visit& visit) {
    if (statement.pipe->variables.size() > 1) {
      fail_at(statement.pipe->place, "can't use a number to iterate over more than one variable");
    }
    if (over.is(Kind::unsigned_integer)) {
      for (uint64_t i = 0; i < unsigned_of(over); ++i) {
        if (!visit(Value{}, Value{over.type, i})) return;
      }
      return;
    }
    for (int64_t i = 0; i < integer_of(over); ++i) {
      if (!visit(Value{}, make_integer(i, *over.type))) return;
    }
  }

  // False when the loop ends here.
  bool iteration(const Statement& statement, const Value& index, const Value& held) {
    step(statement.place);
    const Pipe& pipe = *statement.pipe;
    const size_t declared = pipe.variables.size();
    const auto bind = [&](size_t which, const Value& value) {
      if (pipe.assigns) return assign(pipe.variables[which], value, pipe.place);
      variables_[variables_.size() - declared + which].value = value;
    };
    if (declared == 1) bind(0, held);
    if (declared == 2) {
      bind(0, index);
      bind(1, held);
    }
    const VariableScope scope(variables_);
    return walk(statement.body, held) != Flow::leave;
  }

  void call_template(const Statement& statement, const Value& dot) {
    const auto found = program_.bodies.find(statement.text);
    if (found == program_.bodies.end()) {
      fail_at(statement.place, fmt::format("template \"{}\" not defined", statement.text));
    }
    if (depth_ == kDeepestCall) {
      fail_at(statement.place, fmt::format("more than {} templates inside each other", kDeepestCall));
    }
    const Value inner = statement.pipe ? pipeline(*statement.pipe, dot) : Value{};
    const Frame frame(*this, inner);
    walk(found->second, inner);
  }

  // Variables.
  Variable& variable(std::string_view name, Place place) {
    const auto found = std::find_if(variables_.rbegin(), variables_.rend(),
                                    [&](const Variable& candidate) { return candidate.name == name; });
    if (found == variables_.rend()) fail_at(place, fmt::format("undefined variable: {}", name));
    return *found;
  }

  void assign(std::string_view name, const Value& value, Place place) { variable(name, place).value = value; }

  // Pipelines.
  Value pipeline(const Pipe& pipe, const Value& dot) {
    Piped value;
    for (const Command& command : pipe.commands) value = run_command(command, dot, value);
    for (const std::string& name : pipe.variables) {
      if (pipe.assigns) {
        assign(name, *value, pipe.place);
      } else {
        variables_.push_back({name, *value});
      }
    }
    return std::move(*value);
  }

  Value run_command(const Command& command, const Value& dot, const Piped& piped) {
    const Term& first = command.terms.front();
    const std::span<const Term> arguments = std::span(command.terms).subspan(1);
    step(first.place);
    switch (first.kind) {
      case Term::Kind::field:
        return chain(first, dot, dot, arguments, piped);
      case Term::Kind::chain:
        return chain(first, dot, evaluate(*first.base, dot), arguments, piped);
      case Term::Kind::function:
        return function(first, dot, arguments, piped);
      case Term::Kind::variable:
        if (!first.names.empty()) return chain(first, dot, variable(first.text, first.place).value, arguments, piped);
        break;
      case Term::Kind::nil:
        fail_at(first.place, "nil is not a command");
      default:
        break;
    }
    if (!arguments.empty() || piped) {
      fail_at(first.place, fmt::format("can't give argument to non-function {}", first.source));
    }
    return evaluate(first, dot);
  }

  // A term without arguments.
  Value evaluate(const Term& term, const Value& dot) {
    step(term.place);
    switch (term.kind) {
      case Term::Kind::dot:
        return dot;
      case Term::Kind::nil:
        return {};
      case Term::Kind::boolean:
        return make_boolean(term.boolean);
      case Term::Kind::number:
        return constant(term);
      case Term::Kind::text:
        return {&types::text, Text{term.text, nullptr}};
      case Term::Kind::field:
        return chain(term, dot, dot, {}, {});
      case Term::Kind::variable:
        return chain(term, dot, variable(term.text, term.place).value, {}, {});
      case Term::Kind::function:
        return function(term, dot, {}, {});
      case Term::Kind::pipe:
        return pipeline(*term.pipe, dot);
      case Term::Kind::chain:
        return chain(term, dot, evaluate(*term.base, dot), {}, {});
    }
    return {};
  }

  static Value constant(const Term& term) {
    if (term.number.prefers_float) return make_float(*term.number.floating);
    if (!term.number.integer) fail_at(term.place, fmt::format("{} overflows int", term.source));
    return make_integer(*term.number.integer);
  }

  // Fields and methods. The arguments are for the last name of the chain.
  Value chain(const Term& term, const Value& dot, Value receiver, std::span<const Term> arguments, const Piped& piped) {
    for (size_t i = 0; i < term.names.size(); ++i) {
      const bool last = i + 1 == term.names.size();
      receiver = member(term, i, dot, receiver, last ? arguments : std::span<const Term>(), last ? piped : Piped());
    }
    return receiver;
  }

  Value member(const Term& term, size_t which, const Value& dot, const Value& receiver, std::span<const Term> arguments,
               const Piped& piped) {
    const std::string& name = term.names[which];
    if (!receiver.exists()) return {};
    const Value target = pointed_to(receiver);
    const Type& type = target.is(Kind::pointer) ? *target.type->element : *target.type;
    if (const Method* known = find_method(type, name)) return method(term, *known, dot, target, arguments, piped);
    const FoundField found = find_field(type, name);
    if (!found && !target.is(Kind::map)) {
      fail_at(term.place, fmt::format("can't evaluate field {} in type {}", name, receiver.type->name));
    }
    if (target.is(Kind::pointer)) {
      fail_at(term.place, fmt::format("nil pointer evaluating {}.{}", receiver.type->name, name));
    }
    if (!arguments.empty() || piped) {
      fail_at(term.place, fmt::format("{} has arguments but cannot be invoked as function", name));
    }
    if (found) return field_of(target, found);
    return entry(target, name).value_or(Value{});
  }

  Value method(const Term& term, const Method& known, const Value& dot, const Value& target,
               std::span<const Term> arguments, const Piped& piped) {
    const size_t given = arguments.size() + (piped ? 1 : 0);
    if (given != known.count()) {
      fail_at(term.place, fmt::format("wrong number of args for {}: want {} got {}", known.name, known.count(), given));
    }
    std::vector<Value> values;
    for (const Term& argument : arguments) {
      values.push_back(method_argument(argument, dot, *known.wants.at(values.size())));
    }
    if (piped) values.push_back(checked(*piped, *known.wants.at(values.size()), term));
    if (target.is(Kind::pointer) && !known.of_nothing) {
      fail_at(term.place, fmt::format("nil pointer evaluating {}.{}", target.type->name, known.name));
    }
    return made(term, known.name, [&] { return known.call(target, values); });
  }

  // A constant becomes what is wanted, if it can; a value has to be that already.
  Value method_argument(const Term& argument, const Value& dot, const Type& wanted) {
    if (wanted.kind == Kind::text && wanted.nature == Nature::plain) return text_argument(argument, dot);
    switch (argument.kind) {
      case Term::Kind::nil:
        if (wanted.kind == Kind::pointer) return {&wanted, std::monostate()};
        fail_at(argument.place, fmt::format("cannot assign nil to {}", wanted.name));
      case Term::Kind::number:
        if (wanted.kind == Kind::integer && argument.number.integer) {
          return make_integer(*argument.number.integer, wanted);
        }
        [[fallthrough]];
      case Term::Kind::boolean:
      case Term::Kind::text:
        fail_at(argument.place, fmt::format("expected {}; found {}", wanted.name, argument.source));
      default:
        return checked(evaluate(argument, dot), wanted, argument);
    }
  }

  static Value checked(const Value& value, const Type& wanted, const Term& term) {
    if (wanted.kind == Kind::text && wanted.nature == Nature::plain) return checked_text(value, term);
    if (!value.exists()) {
      if (wanted.kind == Kind::pointer) return {&wanted, std::monostate()};
      fail_at(term.place, fmt::format("invalid value; expected {}", wanted.name));
    }
    if (value.type == &wanted || wanted.element == value.type) return value;
    if (!value.is(Kind::pointer) || value.type->element != &wanted) {
      fail_at(term.place, fmt::format("wrong type for value; expected {}; got {}", wanted.name, value.type->name));
    }
    if (is_nil(value)) fail_at(term.place, fmt::format("dereference of nil pointer of type {}", wanted.name));
    return pointed_to(value);
  }

  // Functions.
  Value function(const Term& term, const Value& dot, std::span<const Term> arguments, const Piped& piped) {
    const Function& known = *find_function(term.text);
    const size_t given = arguments.size() + (piped ? 1 : 0);
    if (given < known.least || (!known.variadic && given > known.least)) {
      fail_at(term.place, fmt::format("wrong number of args for {}: want {}{} got {}", known.name,
                                      known.variadic ? "at least " : "", known.least, given));
    }
    if (!known.call) return logic(known.name == "or", dot, arguments, piped);
    std::vector<Value> values;
    for (const Term& argument : arguments) {
      const bool text = known.text_first && values.empty();
      values.push_back(text ? text_argument(argument, dot) : evaluate(argument, dot));
    }
    if (piped) values.push_back(known.text_first && values.empty() ? checked_text(*piped, term) : *piped);
    return made(term, known.name, [&] { return known.call(values); });
  }

  // What a function or method gives; a long text costs more steps.
  template <class Make>
  Value made(const Term& term, std::string_view name, const Make& make) {
    try {
      Value result = make();
      step(term.place, result.is(Kind::text) ? length(result) : 0);
      return result;
    } catch (const FunctionFailure& failure) {
      fail_at(term.place, fmt::format("error calling {}: {}", name, failure.message));
    }
  }

  // The first argument that decides, or the last.
  Value logic(bool deciding, const Value& dot, std::span<const Term> arguments, const Piped& piped) {
    Value value;
    for (const Term& argument : arguments) {
      value = evaluate(argument, dot);
      if (truth(value) == deciding) return value;
    }
    return piped ? *piped : value;
  }

  Value text_argument(const Term& argument, const Value& dot) {
    if (argument.kind == Term::Kind::nil) fail_at(argument.place, "cannot assign nil to string");
    const bool other_constant = argument.kind == Term::Kind::number || argument.kind == Term::Kind::boolean;
    if (other_constant) fail_at(argument.place, fmt::format("expected string; found {}", argument.source));
    return checked_text(evaluate(argument, dot), argument);
  }

  static Value checked_text(const Value& value, const Term& term) {
    if (!value.exists()) fail_at(term.place, "invalid value; expected string");
    if (!value.is(Kind::text)) {
      fail_at(term.place, fmt::format("wrong type for value; expected string; got {}", value.type->name));
    }
    return value;
  }

  const Program& program_;
  const TemplateData& data_;
  std::string output_;
  std::vector<Variable> variables_;
  int64_t steps_ = 0;
  int depth_ = 0;
};

}  // namespace

std::string execute(const Program& program, const TemplateData& data) { return Interpreter(program, data).run(); }

}  // namespace careen::templates
