// References to variables inside the texts of a configuration file: ${NAME}, ${NAME:default}, ${NAME:+text},
// ${NAME:?message}, nested at will; $$ and $} stand for the character itself. Values of variables may be secrets, so no
// message here ever contains one.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <vector>

namespace careen::config {

// Value of an environment variable; nullopt when it is not set.
using Environment = std::function<std::optional<std::string>(std::string_view name)>;

struct InterpolationError {
  std::size_t offset = 0;  // byte in the text
  std::string message;
};

class Interpolation {
 public:
  // Finds unbalanced braces; looks up nothing.
  static tl::expected<Interpolation, InterpolationError> parse(std::string_view text);

  bool has_references() const;
  // The name, when the whole text is one plain ${NAME}.
  std::optional<std::string_view> single_name() const;

  // Value of a variable, nullopt when it is not set; the error is a message.
  using Lookup = std::function<tl::expected<std::optional<std::string>, std::string>(std::string_view name)>;
  tl::expected<std::string, InterpolationError> resolve(const Lookup& lookup) const;

 private:
  friend class InterpolationParser;
  friend class InterpolationResolver;
  struct Piece;
  using Pieces = std::vector<Piece>;
  enum class Otherwise { fail, use_text, alternative, fail_with_text };
  struct Piece {
    bool is_reference = false;
    std::string literal;  // of a reference: its name as the file spells it
    std::size_t offset = 0;
    Pieces name;
    Otherwise otherwise = Otherwise::fail;
    Pieces text;
  };

  Pieces pieces_;
};

}  // namespace careen::config
