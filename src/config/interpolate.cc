#include "config/interpolate.h"

#include <fmt/format.h>

#include <utility>

namespace careen::config {

namespace {
constexpr int kDeepestReference = 20;
constexpr std::size_t kLongestInterpolated = std::size_t{1} << 20;
}  // namespace

class InterpolationParser {
 public:
  explicit InterpolationParser(std::string_view text) : text_(text) {}

  using Pieces = Interpolation::Pieces;
  using Otherwise = Interpolation::Otherwise;
  template <class T>
  using Parsed = tl::expected<T, InterpolationError>;

  // Reads up to one of `ends` (not taken) or the end of the text.
  Parsed<Pieces> pieces(std::string_view ends, int depth) {
    Pieces result;
    std::string literal;
    const auto flush = [&] {
      if (literal.empty()) return;
      result.emplace_back().literal = std::exchange(literal, {});
    };
    while (at_ < text_.size() && ends.find(text_[at_]) == std::string_view::npos) {
      const char following = at_ + 1 < text_.size() ? text_[at_ + 1] : ' ';
      if (text_[at_] != '$') {
        literal += text_[at_++];
      } else if (following == '$' || following == '}') {
        literal += following;
        at_ += 2;
      } else if (following == '{') {
        flush();
        auto piece = reference(depth);
        if (!piece) return tl::make_unexpected(std::move(piece.error()));
        result.push_back(std::move(*piece));
      } else {
        literal += text_[at_++];
      }
    }
    flush();
    return result;
  }

 private:
  Parsed<Interpolation::Piece> reference(int depth) {
    Interpolation::Piece piece;
    piece.is_reference = true;
    piece.offset = at_;
    const auto failed = [&](std::string message) {
      return tl::make_unexpected(InterpolationError{piece.offset, std::move(message)});
    };
    if (depth >= kDeepestReference) return failed("references are nested too deeply");
    at_ += 2;
    const std::size_t name_from = at_;
    auto name = pieces(":}", depth + 1);
    if (!name) return tl::make_unexpected(std::move(name.error()));
    piece.literal = text_.substr(name_from, at_ - name_from);
    piece.name = std::move(*name);
    if (at_ < text_.size() && text_[at_] == ':') {
      ++at_;
      piece.otherwise = operation();
      auto text = pieces("}", depth + 1);
      if (!text) return tl::make_unexpected(std::move(text.error()));
      piece.text = std::move(*text);
    }
    if (at_ >= text_.size())
      return failed("this \"${\" has no closing brace; write \"$${\" for the characters themselves");
    ++at_;
    if (piece.name.empty()) return failed("this reference names no variable");
    return piece;
  }

  Otherwise operation() {
    const char c = at_ < text_.size() ? text_[at_] : ' ';
    if (c != '+' && c != '?') return Otherwise::use_text;
    ++at_;
    return c == '+' ? Otherwise::alternative : Otherwise::fail_with_text;
  }

  std::string_view text_;
  std::size_t at_ = 0;
};

class InterpolationResolver {
 public:
  explicit InterpolationResolver(const Interpolation::Lookup& lookup) : lookup_(lookup) {}

  using Resolved = tl::expected<std::string, InterpolationError>;

  Resolved text(const Interpolation::Pieces& pieces) const {
    std::string out;
    for (const auto& piece : pieces) {
      if (!piece.is_reference) {
        out += piece.literal;
        continue;
      }
      auto value = reference(piece);
      if (!value) return value;
      out += *value;
      if (out.size() > kLongestInterpolated) return failed(piece, "the text becomes too long by its references");
    }
    return out;
  }

 private:
  using Otherwise = Interpolation::Otherwise;

  static tl::unexpected<InterpolationError> failed(const Interpolation::Piece& piece, std::string message) {
    return tl::make_unexpected(InterpolationError{piece.offset, std::move(message)});
  }

  Resolved reference(const Interpolation::Piece& piece) const {
    const auto name = text(piece.name);
    if (!name) return name;
    auto found = lookup_(*name);
    if (!found) return failed(piece, fmt::format("the variable \"{}\" {}", piece.literal, found.error()));
    // Set to nothing counts as not set.
    const bool is_set = *found && !(*found)->empty();
    if (piece.otherwise == Otherwise::alternative) return is_set ? text(piece.text) : Resolved{std::string{}};
    if (is_set) return std::move(**found);
    if (piece.otherwise == Otherwise::use_text) return text(piece.text);
    std::string message = fmt::format("the variable \"{}\" is not set, or empty", piece.literal);
    if (piece.otherwise == Otherwise::fail_with_text) message += explanation(piece.text);
    return failed(piece, std::move(message));
  }

  // Only what is in the file: what its references resolve to may be secret.
  static std::string explanation(const Interpolation::Pieces& pieces) {
    std::string out = ": ";
    for (const auto& piece : pieces) out += piece.is_reference ? "${" + piece.literal + "}" : piece.literal;
    return out;
  }

  const Interpolation::Lookup& lookup_;
};

tl::expected<Interpolation, InterpolationError> Interpolation::parse(std::string_view text) {
  auto pieces = InterpolationParser(text).pieces("", 0);
  if (!pieces) return tl::make_unexpected(std::move(pieces.error()));
  Interpolation result;
  result.pieces_ = std::move(*pieces);
  return result;
}

bool Interpolation::has_references() const {
  for (const Piece& piece : pieces_) {
    if (piece.is_reference) return true;
  }
  return false;
}

std::optional<std::string_view> Interpolation::single_name() const {
  if (pieces_.size() != 1 || !pieces_[0].is_reference || pieces_[0].otherwise != Otherwise::fail) return std::nullopt;
  const Pieces& name = pieces_[0].name;
  if (name.size() != 1 || name[0].is_reference) return std::nullopt;
  return name[0].literal;
}

tl::expected<std::string, InterpolationError> Interpolation::resolve(const Lookup& lookup) const {
  return InterpolationResolver(lookup).text(pieces_);
}

}  // namespace careen::config
