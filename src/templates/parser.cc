#include "templates/parser.h"

#include <fmt/format.h>

#include <algorithm>
#include <deque>

#include "templates/functions.h"
#include "templates/lexer.h"
#include "templates/literals.h"

namespace careen::templates {

namespace {

// Parentheses and statements inside each other: more than people write, less than the stack holds.
constexpr int kDeepest = 200;

// Why a list of statements ended.
struct ListEnd {
  enum class Kind { end, otherwise, otherwise_if, otherwise_with };
  Kind kind = Kind::end;
  Place place;
};

// The names that are known at a place of one template (the text, a define, a block).
struct Scope {
  std::vector<std::string> variables{"$"};
  int ranges = 0;
};

bool blank(const Body& body) {
  return std::all_of(body.begin(), body.end(), [](const Statement& statement) {
    return statement.kind == Statement::Kind::text &&
           statement.text.find_first_not_of(" \t\r\n\v\f") == std::string::npos;
  });
}

class Parser {
 public:
  explicit Parser(std::string_view text) : lexer_(text), text_(text) {}

  Program parse() {
    Scope scope;
    scope_ = &scope;
    Body body;
    while (peek().kind != TokenKind::end_of_text) {
      if (at_define()) {
        define();
        continue;
      }
      ListEnd end;
      std::optional<Statement> statement = text_or_action(end);
      if (!statement) fail_at(end.place, end.kind == ListEnd::Kind::end ? "unexpected {{end}}" : "unexpected {{else}}");
      body.push_back(std::move(*statement));
    }
    add(std::string(kMain), std::move(body), {});
    return std::move(program_);
  }

 private:
  // One level deeper, as long as this lives.
  class Level {
   public:
    Level(Parser& parser, Place place) : parser_(parser) {
      if (++parser_.depth_ > kDeepest) fail_at(place, "nested too deeply");
    }
    Level(const Level&) = delete;
    Level& operator=(const Level&) = delete;
    ~Level() { --parser_.depth_; }

   private:
    Parser& parser_;
  };

  // Tokens.
  const Token& peek(size_t ahead = 0) {
    while (ahead_.size() <= ahead) ahead_.push_back(lexer_.next());
    return ahead_[ahead];
  }
  Token next() {
    const Token token = peek();
    ahead_.pop_front();
    consumed_ = token.offset + token.text.size();
    return token;
  }
  const Token& peek_word() {
    while (peek().kind == TokenKind::space) ahead_.pop_front();
    return peek();
  }
  Token next_word() {
    peek_word();
    return next();
  }
  Place place(const Token& token) const { return lexer_.place(token.offset); }
  [[noreturn]] void unexpected(const Token& token, std::string_view context) const {
    fail_at(place(token), fmt::format("unexpected {} in {}", describe(token), context));
  }
  Token expect(TokenKind kind, std::string_view context) {
    const Token token = next_word();
    if (token.kind != kind) unexpected(token, context);
    return token;
  }

  // Definitions.
  bool at_define() {
    if (peek().kind != TokenKind::open) return false;
    size_t word = 1;
    while (peek(word).kind == TokenKind::space) ++word;
    return peek(word).is_keyword("define");
  }

  void define() {
    next();
    const Token keyword = next_word();
    const Token name_token = next_word();
    const std::string name = template_name(name_token, "define clause");
    expect(TokenKind::close, "define clause");
    add(name, own_body("define clause"), place(keyword));
  }

  // The statements up to the end, with variables and loops of their own.
  Body own_body(std::string_view context) {
    Scope inner;
    Scope* const outer = std::exchange(scope_, &inner);
    Body body;
    const ListEnd end = list(body);
    scope_ = outer;
    if (end.kind != ListEnd::Kind::end) fail_at(end.place, fmt::format("unexpected {{{{else}}}} in {}", context));
    return body;
  }

  // A definition that holds nothing but blanks is replaced by one that holds more.
  void add(std::string name, Body body, Place where) {
    const auto known = program_.bodies.find(name);
    if (known == program_.bodies.end() || blank(known->second)) {
      program_.bodies.insert_or_assign(std::move(name), std::move(body));
    } else if (!blank(body)) {
      fail_at(where, fmt::format("multiple definition of template \"{}\"", name));
    }
  }

  std::string template_name(const Token& token, std::string_view context) const {
    if (token.kind != TokenKind::quoted && token.kind != TokenKind::raw) unexpected(token, context);
    return text_value(token);
  }

  std::string text_value(const Token& token) const {
    std::optional<std::string> value = unquote(token.text);
    if (!value) fail_at(place(token), fmt::format("invalid escape in {}", token.text));
    return std::move(*value);
  }

  // Statements.
  ListEnd list(Body& body) {
    while (peek_word().kind != TokenKind::end_of_text) {
      ListEnd end;
      std::optional<Statement> statement = text_or_action(end);
      if (!statement) return end;
      body.push_back(std::move(*statement));
    }
    fail_at(place(peek()), "unexpected end of the template; {{end}} is missing");
  }

  // Nothing, where an {{end}} or {{else}} stands.
  std::optional<Statement> text_or_action(ListEnd& end) {
    const Token token = next_word();
    if (token.kind == TokenKind::text) {
      Statement statement;
      statement.place = place(token);
      statement.text = std::string(token.text);
      return statement;
    }
    if (token.kind != TokenKind::open) unexpected(token, "input");
    return action(end);
  }

  std::optional<Statement> action(ListEnd& end) {
    const Token first = peek_word();
    const Level level(*this, place(first));
    if (first.kind != TokenKind::keyword || first.text == "nil") return plain_action(first);
    if (first.text == "define") unexpected(first, "command");
    next();
    if (first.text == "end" || first.text == "else") {
      end = list_end(first);
      return std::nullopt;
    }
    if (first.text == "if") return control(Statement::Kind::conditional, first);
    if (first.text == "with") return control(Statement::Kind::with, first);
    if (first.text == "range") return control(Statement::Kind::range, first);
    if (first.text == "block") return block(first);
    if (first.text == "template") return call(first);
    return jump(first);
  }

  Statement plain_action(const Token& first) {
    Statement statement;
    statement.kind = Statement::Kind::action;
    statement.place = place(first);
    statement.pipe = pipeline("command", TokenKind::close);
    return statement;
  }

  ListEnd list_end(const Token& word) {
    ListEnd end;
    end.place = place(word);
    if (word.text == "else") {
      end.kind = ListEnd::Kind::otherwise;
      if (peek_word().is_keyword("if")) end.kind = ListEnd::Kind::otherwise_if;
      if (peek().is_keyword("with")) end.kind = ListEnd::Kind::otherwise_with;
      if (end.kind != ListEnd::Kind::otherwise) return end;
    }
    expect(TokenKind::close, word.text);
    return end;
  }

  Statement control(Statement::Kind kind, const Token& word) {
    const Level level(*this, place(word));
    const size_t variables = scope_->variables.size();
    Statement statement;
    statement.kind = kind;
    statement.place = place(word);
    statement.pipe = pipeline(word.text, TokenKind::close);
    scope_->ranges += kind == Statement::Kind::range ? 1 : 0;
    const ListEnd end = list(statement.body);
    scope_->ranges -= kind == Statement::Kind::range ? 1 : 0;
    if (end.kind != ListEnd::Kind::end) alternative(statement, end);
    scope_->variables.resize(variables);
    return statement;
  }

  // {{else}}, or the {{else if}} and {{else with}} that stand for an {{else}} with one statement and share its {{end}}.
  void alternative(Statement& statement, const ListEnd& end) {
    const bool chained = (statement.kind == Statement::Kind::conditional && end.kind == ListEnd::Kind::otherwise_if) ||
                         (statement.kind == Statement::Kind::with && end.kind == ListEnd::Kind::otherwise_with);
    if (chained) {
      const Token word = next_word();
      statement.otherwise.push_back(control(statement.kind, word));
      return;
    }
    if (end.kind != ListEnd::Kind::otherwise) unexpected(peek_word(), "else");
    const ListEnd last = list(statement.otherwise);
    if (last.kind != ListEnd::Kind::end) fail_at(last.place, "expected {{end}}; found {{else}}");
  }

  Statement jump(const Token& word) {
    const Token close = next_word();
    if (close.kind != TokenKind::close) unexpected(close, fmt::format("{{{{{}}}}}", word.text));
    if (scope_->ranges == 0) fail_at(place(word), fmt::format("{{{{{}}}}} outside {{{{range}}}}", word.text));
    Statement statement;
    statement.kind = word.text == "break" ? Statement::Kind::leave : Statement::Kind::next;
    statement.place = place(word);
    return statement;
  }

  Statement block(const Token& word) {
    const Token name = next_word();
    Statement statement;
    statement.kind = Statement::Kind::call;
    statement.place = place(word);
    statement.text = template_name(name, "block clause");
    statement.pipe = pipeline("block clause", TokenKind::close);
    add(statement.text, own_body("block clause"), place(word));
    return statement;
  }

  Statement call(const Token& word) {
    const Token name = next_word();
    Statement statement;
    statement.kind = Statement::Kind::call;
    statement.place = place(word);
    statement.text = template_name(name, "template clause");
    if (peek_word().kind == TokenKind::close) {
      next();
    } else {
      statement.pipe = pipeline("template clause", TokenKind::close);
    }
    return statement;
  }

  // Pipelines.
  Pipe pipeline(std::string_view context, TokenKind end) {
    Pipe pipe;
    pipe.place = place(peek_word());
    declarations(pipe, context);
    while (true) {
      const Token token = peek_word();
      if (token.kind == end) break;
      if (!begins_term(token)) unexpected(token, context);
      pipe.commands.push_back(command());
    }
    const Token last = next();
    check(pipe, context, last);
    return pipe;
  }

  static bool begins_term(const Token& token) {
    switch (token.kind) {
      case TokenKind::boolean:
      case TokenKind::character:
      case TokenKind::dot:
      case TokenKind::field:
      case TokenKind::identifier:
      case TokenKind::number:
      case TokenKind::raw:
      case TokenKind::quoted:
      case TokenKind::variable:
      case TokenKind::left_paren:
        return true;
      default:
        return token.is_keyword("nil");
    }
  }

  // $x := , $x = , and in a range $i, $x := .
  void declarations(Pipe& pipe, std::string_view context) {
    while (peek_word().kind == TokenKind::variable) {
      size_t after = 1;
      while (peek(after).kind == TokenKind::space) ++after;
      const Token follows = peek(after);
      const bool comma = follows.kind == TokenKind::symbol && follows.text == ",";
      const bool last = follows.kind == TokenKind::assign || follows.kind == TokenKind::declare;
      if (!comma && !last) return;
      const Token variable = next();
      next_word();
      pipe.assigns = follows.kind == TokenKind::assign;
      pipe.variables.emplace_back(variable.text);
      scope_->variables.emplace_back(variable.text);
      if (last) return;
      if (context != "range" || pipe.variables.size() > 1) {
        fail_at(place(follows), fmt::format("too many declarations in {}", context));
      }
      const TokenKind then = peek_word().kind;
      if (then != TokenKind::variable && then != TokenKind::close && then != TokenKind::right_paren) {
        fail_at(place(peek()), "range can only initialize variables");
      }
    }
  }

  void check(const Pipe& pipe, std::string_view context, const Token& last) const {
    if (pipe.commands.empty()) fail_at(place(last), fmt::format("missing value for {}", context));
    for (size_t i = 1; i < pipe.commands.size(); ++i) {
      const Term& first = pipe.commands[i].terms.front();
      switch (first.kind) {
        case Term::Kind::boolean:
        case Term::Kind::dot:
        case Term::Kind::nil:
        case Term::Kind::number:
        case Term::Kind::text:
          fail_at(first.place, fmt::format("non executable command in pipeline stage {}", i + 1));
        default:
          break;
      }
    }
  }

  Command command() {
    Command command;
    while (true) {
      peek_word();
      if (auto term = operand()) command.terms.push_back(std::move(*term));
      const Token& after = peek();
      if (after.kind == TokenKind::space) {
        next();
        continue;
      }
      if (after.kind == TokenKind::pipe) {
        next();
      } else if (after.kind != TokenKind::close && after.kind != TokenKind::right_paren) {
        unexpected(after, "operand");
      }
      break;
    }
    if (command.terms.empty()) fail_at(place(peek()), "empty command");
    return command;
  }

  std::optional<Term> operand() {
    const Token first = peek_word();
    std::optional<Term> read = term();
    if (!read || peek().kind != TokenKind::field) return read;
    std::vector<std::string> names;
    while (peek().kind == TokenKind::field) names.emplace_back(next().text.substr(1));
    const std::string source(text_.substr(first.offset, consumed_ - first.offset));
    return with_fields(std::move(*read), std::move(names), source);
  }

  static Term with_fields(Term term, std::vector<std::string> names, const std::string& source) {
    switch (term.kind) {
      case Term::Kind::field:
      case Term::Kind::variable:
        term.names.insert(term.names.end(), names.begin(), names.end());
        term.source = source;
        return term;
      case Term::Kind::pipe:
      case Term::Kind::function:
        break;
      default:
        fail_at(term.place, fmt::format("unexpected . after term \"{}\"", term.source));
    }
    Term chain;
    chain.kind = Term::Kind::chain;
    chain.place = term.place;
    chain.source = source;
    chain.names = std::move(names);
    chain.base = std::make_shared<const Term>(std::move(term));
    return chain;
  }

  std::optional<Term> term() {
    if (!begins_term(peek_word())) return std::nullopt;
    const Token token = next();
    Term term;
    term.place = place(token);
    term.source = std::string(token.text);
    switch (token.kind) {
      case TokenKind::identifier:
        read_function(term, token);
        break;
      case TokenKind::dot:
        term.kind = Term::Kind::dot;
        break;
      case TokenKind::variable:
        read_variable(term, token);
        break;
      case TokenKind::field:
        term.kind = Term::Kind::field;
        term.names.emplace_back(token.text.substr(1));
        break;
      case TokenKind::boolean:
        term.kind = Term::Kind::boolean;
        term.boolean = token.text == "true";
        break;
      case TokenKind::number:
      case TokenKind::character:
        read_number(term, token);
        break;
      case TokenKind::quoted:
      case TokenKind::raw:
        term.kind = Term::Kind::text;
        term.text = text_value(token);
        break;
      case TokenKind::left_paren:
        read_parentheses(term, token);
        break;
      default:
        term.kind = Term::Kind::nil;
        break;
    }
    return term;
  }

  static void read_function(Term& term, const Token& token) {
    term.kind = Term::Kind::function;
    term.text = std::string(token.text);
    if (find_function(token.text)) return;
    throw TemplateFailure{{term.place.line, term.place.column, fmt::format("function \"{}\" not defined", term.text),
                           term.text, function_names()}};
  }

  void read_variable(Term& term, const Token& token) const {
    term.kind = Term::Kind::variable;
    term.text = std::string(token.text);
    const auto& known = scope_->variables;
    if (std::find(known.begin(), known.end(), term.text) != known.end()) return;
    throw TemplateFailure{
        {term.place.line, term.place.column, fmt::format("undefined variable \"{}\"", term.text), term.text, {}}};
  }

  static void read_number(Term& term, const Token& token) {
    term.kind = Term::Kind::number;
    const bool character = token.kind == TokenKind::character;
    const auto number = character ? parse_character(token.text) : parse_number(token.text);
    if (!number) {
      const std::string_view what = character ? "malformed character constant" : "illegal number";
      fail_at(term.place, fmt::format("{}: {}", what, token.text));
    }
    term.number = *number;
  }

  void read_parentheses(Term& term, const Token& token) {
    const Level level(*this, term.place);
    term.kind = Term::Kind::pipe;
    term.pipe = std::make_shared<const Pipe>(pipeline("parenthesized pipeline", TokenKind::right_paren));
    term.source = std::string(text_.substr(token.offset, consumed_ - token.offset));
  }

  Lexer lexer_;
  std::string_view text_;
  std::deque<Token> ahead_;
  // Where the last token that was taken ends.
  size_t consumed_ = 0;
  Program program_;
  Scope* scope_ = nullptr;
  int depth_ = 0;
};

}  // namespace

Program parse_program(std::string_view text) { return Parser(text).parse(); }

}  // namespace careen::templates
