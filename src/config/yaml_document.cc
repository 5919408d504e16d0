#include "config/yaml_document.h"

#include <fmt/format.h>
#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <optional>
#include <set>
#include <sstream>

#include "io/ascii.h"

namespace careen::config {

namespace {

using Kind = Value::Kind;

constexpr std::size_t kLargestFile = std::size_t{1} << 20;
constexpr std::size_t kMostValues = 100'000;
constexpr std::size_t kMostMergedKeys = 100'000;

constexpr std::string_view kTabs = "a tab is used for indentation, which YAML does not allow; use blanks";

// Ends parsing; caught in Document::parse.
struct Refused {
  Remark remark;
};

// Number of bytes of the UTF-8 character at `at`; 0 when it is not one.
std::size_t character_length(std::string_view text, std::size_t at) {
  const auto byte = [&](std::size_t i) { return i < text.size() ? static_cast<unsigned char>(text[i]) : 0U; };
  const unsigned lead = byte(at);
  if (lead < 0x80) return 1;
  const std::size_t length = lead >= 0xF0 && lead < 0xF5 ? 4 : lead >= 0xE0 ? 3 : lead >= 0xC2 ? 2 : 0;
  if (length == 0 || lead >= 0xF5) return 0;
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(at + i) & 0xC0) != 0x80) return 0;
  }
  const bool overlong = (lead == 0xE0 && byte(at + 1) < 0xA0) || (lead == 0xF0 && byte(at + 1) < 0x90);
  const bool surrogate = lead == 0xED && byte(at + 1) >= 0xA0;
  const bool too_large = lead == 0xF4 && byte(at + 1) >= 0x90;
  return overlong || surrogate || too_large ? 0 : length;
}

// People count characters, not bytes.
int count_characters(std::string_view text) {
  return static_cast<int>(
      std::count_if(text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; }));
}

std::string_view kind_name(Kind kind) {
  switch (kind) {
    case Kind::null:
      return "nothing";
    case Kind::boolean:
      return "a boolean";
    case Kind::integer:
    case Kind::real:
      return "a number";
    case Kind::string:
      return "a string";
    case Kind::list:
      return "a list";
    case Kind::map:
      return "a map";
  }
  return "";
}

}  // namespace

// Takes the parser's events and builds the tree. Aliases share the value they name, so they cost nothing.
class DocumentBuilder final : public YAML::EventHandler {
 public:
  explicit DocumentBuilder(Document& document) : document_(document) {}

  // Where the last value of the document begins.
  std::size_t last_offset() const { return last_offset_; }
  // A mistake in the syntax may look like a key that is no string: this is only the last explanation.
  const std::optional<Remark>& bad_key() const { return bad_key_; }

  void OnDocumentStart(const YAML::Mark&) override {}
  void OnDocumentEnd() override {}

  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override { finish(add(mark), anchor); }

  void OnAlias(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    const auto found = anchors_.find(anchor);
    if (found == anchors_.end()) refuse(offset_of(mark), "this alias is part of the value it refers to");
    place(*found->second, offset_of(mark), false);
  }

  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                const std::string& text) override {
    Value& value = add(mark);
    refuse_open_quote(value.offset);
    if (tag == "?") {
      set_plain(value, text);
    } else {
      set_tagged(value, tag, text);
    }
    finish(value, anchor, tag == "?" && text == "<<");
  }

  void OnSequenceStart(const YAML::Mark& mark, const std::string& /*tag*/, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value style) override {
    open(mark, anchor, Kind::list, style);
  }
  void OnSequenceEnd() override { close(); }

  void OnMapStart(const YAML::Mark& mark, const std::string& /*tag*/, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value style) override {
    open(mark, anchor, Kind::map, style);
  }
  void OnMapEnd() override { close(); }

 private:
  // A list or map that is still being filled.
  struct Open {
    Value* value = nullptr;
    YAML::anchor_t anchor = 0;
    bool flow = false;
    // In a map: the key whose value comes next.
    std::optional<std::string> key;
    bool merge = false;
    Position key_where;
    std::set<std::string, std::less<>> written;  // keys of this map itself
  };

  [[noreturn]] void refuse(std::size_t offset, std::string message) const {
    throw Refused{{document_.position(offset), std::move(message)}};
  }

  std::size_t offset_of(const YAML::Mark& mark) const {
    return std::min<std::size_t>(static_cast<std::size_t>(std::max(mark.pos, 0)), document_.text_.size());
  }

  Value& add(const YAML::Mark& mark) {
    const std::size_t offset = offset_of(mark);
    last_offset_ = std::max(last_offset_, offset);
    const bool in_flow = !stack_.empty() && stack_.back().flow;
    if (!in_flow && document_.is_indented_by_tab(offset)) throw Refused{document_.syntax_error(offset, "")};
    if (document_.values_.size() >= kMostValues) refuse(offset, "the file has too many values");
    Value& value = document_.values_.emplace_back();
    value.offset = offset;
    value.where = position_of(offset);
    return value;
  }

  // Values come nearly in order of the file: counting continues from the last place, or a long line would cost its
  // square.
  Position position_of(std::size_t offset) {
    const std::string_view text = document_.text_;
    if (offset < cursor_offset_ || text.substr(cursor_offset_, offset - cursor_offset_).find('\n') != text.npos) {
      cursor_ = document_.position(offset);
    } else {
      cursor_.column += count_characters(text.substr(cursor_offset_, offset - cursor_offset_));
    }
    cursor_offset_ = offset;
    return cursor_;
  }

  // The parser takes the end of the file for a closing quote.
  void refuse_open_quote(std::size_t offset) const {
    const std::string_view text = document_.text_;
    // An anchor and a tag may come before the text itself.
    while (offset < text.size() && (text[offset] == '&' || text[offset] == '!')) {
      offset = std::min(text.find_first_of(" \t\r\n", offset), text.size());
      offset = std::min(text.find_first_not_of(" \t\r\n", offset), text.size());
    }
    if (offset == text.size() || (text[offset] != '"' && text[offset] != '\'')) return;
    const char quote = text[offset];
    for (std::size_t i = offset + 1; i < text.size(); ++i) {
      if (quote == '"' && text[i] == '\\') {
        ++i;
      } else if (text[i] == quote) {
        const bool doubled = quote == '\'' && i + 1 < text.size() && text[i + 1] == quote;
        if (!doubled) return;
        ++i;
      }
    }
    refuse(offset, "this quote is not closed");
  }

  void set_tagged(Value& value, std::string_view tag, const std::string& text) const {
    constexpr std::string_view kPrefix = "tag:yaml.org,2002:";
    if (!tag.starts_with(kPrefix)) return set_string(value, text);
    const std::string_view type = tag.substr(kPrefix.size());
    const bool plain_type = type == "int" || type == "float" || type == "bool" || type == "null";
    if (!plain_type) return set_string(value, text);
    set_plain(value, text);
    if (type == "float" && value.kind == Kind::integer && value.integer) {
      value.kind = Kind::real;
      value.real = static_cast<double>(*value.integer);
      value.text = format_go_float(value.real);
    }
    const bool fits = (type == "int" && value.kind == Kind::integer) || (type == "float" && value.kind == Kind::real) ||
                      (type == "bool" && value.kind == Kind::boolean) || (type == "null" && value.kind == Kind::null);
    if (!fits) refuse(value.offset, fmt::format("the tag !!{} does not fit this value", type));
  }

  void open(const YAML::Mark& mark, YAML::anchor_t anchor, Kind kind, YAML::EmitterStyle::value style) {
    Value& value = add(mark);
    value.kind = kind;
    const bool inside_flow = !stack_.empty() && stack_.back().flow;
    Open& level = stack_.emplace_back();
    level.value = &value;
    level.anchor = anchor;
    level.flow = inside_flow || style == YAML::EmitterStyle::Flow;
  }

  void close() {
    const Open done = std::move(stack_.back());
    stack_.pop_back();
    finish(*done.value, done.anchor);
  }

  // Only a finished value can be referred to: nothing contains itself.
  void finish(const Value& value, YAML::anchor_t anchor, bool merge_key = false) {
    if (anchor != 0) anchors_[anchor] = &value;
    place(value, value.offset, merge_key);
  }

  void place(const Value& value, std::size_t offset, bool merge_key) {
    last_offset_ = std::max(last_offset_, offset);
    if (stack_.empty()) {
      document_.root_ = &value;
      return;
    }
    Open& parent = stack_.back();
    if (parent.value->kind == Kind::list) {
      parent.value->items.push_back(&value);
    } else if (!parent.key) {
      take_key(parent, value, offset, merge_key);
    } else if (parent.merge) {
      merge(parent, value, offset);
      parent.key.reset();
    } else {
      assign(parent, value);
      parent.key.reset();
    }
  }

  void take_key(Open& parent, const Value& key, std::size_t offset, bool merge_key) {
    parent.key = key.text;
    parent.key_where = position_of(offset);
    parent.merge = merge_key;
    if (key.kind == Kind::string || bad_key_) return;
    const std::string spelling = key.text.empty() ? "" : " (" + key.text + ")";
    bad_key_ = Remark{parent.key_where,
                      fmt::format("a key must be a string, but YAML reads this one as {}{}{}", kind_name(key.kind),
                                  spelling, key.is_scalar() ? "; put it in quotes" : "")};
  }

  void assign(Open& parent, const Value& value) const {
    const Position where = parent.key_where;
    if (!parent.written.insert(*parent.key).second) {
      document_.warnings_.push_back(
          {where, fmt::format("the key \"{}\" is given twice; the last one counts", *parent.key)});
    }
    parent.value->entries.insert_or_assign(*parent.key, Value::Entry{where, &value});
  }

  // `<<` takes effect where it stands, as this file format always had it: it replaces the keys above it.
  void merge(Open& parent, const Value& source, std::size_t offset) {
    if (source.kind == Kind::map) return merge_map(parent, source, offset);
    if (source.kind != Kind::list) refuse(offset, "\"<<\" needs a map or a list of maps");
    // Of several maps the earlier ones win.
    for (auto item = source.items.rbegin(); item != source.items.rend(); ++item) {
      if ((*item)->kind != Kind::map) refuse(offset, "\"<<\" needs a map or a list of maps");
      merge_map(parent, **item, offset);
    }
  }

  void merge_map(Open& parent, const Value& source, std::size_t offset) {
    merged_keys_ += source.entries.size();
    if (merged_keys_ > kMostMergedKeys) refuse(offset, "the merges of this file yield too many keys");
    for (const auto& [key, entry] : source.entries) {
      if (parent.written.contains(key)) {
        document_.warnings_.push_back(
            {document_.position(offset),
             fmt::format("\"<<\" replaces the key \"{}\" that stands above it; write \"<<\" first", key)});
      }
      parent.value->entries.insert_or_assign(key, entry);
    }
  }

  Document& document_;
  std::vector<Open> stack_;
  std::map<YAML::anchor_t, const Value*> anchors_;
  std::size_t merged_keys_ = 0;
  std::size_t last_offset_ = 0;
  std::optional<Remark> bad_key_;
  Position cursor_{1, 1};
  std::size_t cursor_offset_ = 0;
};

namespace {

// Ends parsing at the beginning of the next document.
struct AnotherDocument {
  YAML::Mark begins;
};

class NextDocument final : public YAML::EventHandler {
 public:
  void OnDocumentStart(const YAML::Mark& mark) override { throw AnotherDocument{mark}; }
  void OnDocumentEnd() override {}
  void OnNull(const YAML::Mark&, YAML::anchor_t) override {}
  void OnAlias(const YAML::Mark&, YAML::anchor_t) override {}
  void OnScalar(const YAML::Mark&, const std::string&, YAML::anchor_t, const std::string&) override {}
  void OnSequenceStart(const YAML::Mark&, const std::string&, YAML::anchor_t, YAML::EmitterStyle::value) override {}
  void OnSequenceEnd() override {}
  void OnMapStart(const YAML::Mark&, const std::string&, YAML::anchor_t, YAML::EmitterStyle::value) override {}
  void OnMapEnd() override {}
};

std::size_t offset_of(const YAML::Mark& mark) { return static_cast<std::size_t>(std::max(mark.pos, 0)); }

std::string explained(const std::string& problem) {
  if (problem == "illegal map value") {
    return "a colon is not allowed here; is this line indented wrongly, or a text with a colon not in quotes?";
  }
  // What the parser says when it refuses to go deeper.
  if (problem == "bad file") return "the values of this file are nested too deeply";
  if (problem == "illegal EOF in scalar") return "the file ends inside of a text: a quote is not closed";
  return fmt::format("this is not valid YAML: {}", problem);
}

}  // namespace

Document::Document(std::string text) : text_(std::move(text)) {
  if (text_.starts_with("\xEF\xBB\xBF")) text_.erase(0, 3);
  line_starts_.push_back(0);
  for (std::size_t i = 0; i < text_.size(); ++i) {
    if (text_[i] == '\n') line_starts_.push_back(i + 1);
  }
}

Position Document::position(std::size_t offset) const {
  offset = std::min(offset, text_.size());
  const auto after = std::upper_bound(line_starts_.begin(), line_starts_.end(), offset);
  const std::size_t start = *std::prev(after);
  const int column = 1 + count_characters(std::string_view{text_}.substr(start, offset - start));
  return {static_cast<int>(after - line_starts_.begin()), column};
}

Position Document::position_within(const Value& value, std::size_t at) const {
  if (value.kind != Kind::string || at > value.text.size()) return value.where;
  std::size_t source = value.offset;
  const char indicator = source < text_.size() ? text_[source] : ' ';
  if (indicator == '|' || indicator == '>') {
    source = std::min(text_.find('\n', source), text_.size());
  } else if (indicator == '"' || indicator == '\'') {
    ++source;
  }
  // Blanks in the value may be a line break with indentation in the file, and the other way round.
  for (std::size_t i = 0;; ++i) {
    const bool wants_blank = i < value.text.size() && io::is_blank(value.text[i]);
    if (!wants_blank && i < value.text.size()) {
      while (source < text_.size() && io::is_blank(text_[source])) ++source;
    }
    if (i == at) return position(source);
    if (wants_blank) {
      if (source < text_.size() && io::is_blank(text_[source])) ++source;
      continue;
    }
    if (source >= text_.size() || text_[source] != value.text[i]) return value.where;
    ++source;
  }
}

std::optional<Remark> Document::check_characters() const {
  if (text_.size() > kLargestFile) return Remark{{}, fmt::format("the file is larger than {} bytes", kLargestFile)};
  for (std::size_t i = 0; i < text_.size();) {
    const auto c = static_cast<unsigned char>(text_[i]);
    if ((c < 0x20 && c != '\t' && c != '\n' && c != '\r') || c == 0x7F) {
      return Remark{position(i), fmt::format("the control character U+{:04X} is not allowed", c)};
    }
    const std::size_t length = character_length(text_, i);
    if (length == 0) return Remark{position(i), "the file is not valid UTF-8"};
    i += length;
  }
  return std::nullopt;
}

std::string_view Document::indentation(std::size_t offset) const {
  const auto after = std::upper_bound(line_starts_.begin(), line_starts_.end(), std::min(offset, text_.size()));
  const std::string_view line = std::string_view{text_}.substr(*std::prev(after));
  return line.substr(0, line.find_first_not_of(" \t"));
}

bool Document::is_indented_by_tab(std::size_t offset) const {
  const std::string_view blanks = indentation(offset);
  return blanks.find('\t') != std::string_view::npos && blanks.data() + blanks.size() == text_.data() + offset;
}

Remark Document::syntax_error(std::size_t offset, const std::string& problem) const {
  const std::string_view blanks = indentation(offset);
  if (const std::size_t tab = blanks.find('\t'); tab != std::string_view::npos) {
    return {position(static_cast<std::size_t>(blanks.data() - text_.data()) + tab), std::string{kTabs}};
  }
  return {position(offset), explained(problem)};
}

// What follows a document must be separated from it by a line `---` or `...`.
bool Document::is_separated(std::size_t document_end, std::size_t next_begins) const {
  for (std::size_t start : line_starts_) {
    if (start <= document_end) continue;
    if (start > next_begins) break;
    const std::string_view line = std::string_view{text_}.substr(start, 4);
    const bool marker = line.starts_with("---") || line.starts_with("...");
    if (marker && (line.size() == 3 || io::is_blank(line[3]))) return true;
  }
  return false;
}

tl::expected<Document, Remark> Document::parse(std::string text) {
  Document document(std::move(text));
  if (auto problem = document.check_characters()) return tl::make_unexpected(std::move(*problem));

  DocumentBuilder builder(document);
  std::istringstream stream(document.text_);
  bool first_is_complete = false;
  try {
    YAML::Parser parser(stream);
    parser.HandleNextDocument(builder);
    first_is_complete = true;
    NextDocument next;
    parser.HandleNextDocument(next);
  } catch (const Refused& refused) {
    return tl::make_unexpected(refused.remark);
  } catch (const AnotherDocument& another) {
    const std::size_t begins = offset_of(another.begins);
    if (!document.is_separated(builder.last_offset(), begins)) {
      return tl::make_unexpected(document.syntax_error(begins, "the text goes on after the end of the document"));
    }
  } catch (const YAML::Exception& error) {
    // Mistakes in later documents do not matter; a first one that ended too early does.
    const std::size_t at = offset_of(error.mark);
    if (!first_is_complete || !document.is_separated(builder.last_offset(), at)) {
      return tl::make_unexpected(document.syntax_error(at, error.msg));
    }
  }
  if (builder.bad_key()) return tl::make_unexpected(*builder.bad_key());
  if (document.root_ == nullptr) document.root_ = &document.values_.emplace_back();
  return document;
}

}  // namespace careen::config
