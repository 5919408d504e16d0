// The Story of one node: where each of its profiles stands and why, when it can next change and what happens then, who
// holds it, what is being drained, and what has happened to it lately.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace careen::replica {
class Replica;
}

namespace careen::view {

struct Shown;

// Nothing when there is no such node.
std::optional<std::string> story(const Shown& shown, std::string_view node);
// The node that an object of a controller's kind is about; nothing when there is no such object.
// What a controller itself tells of one of its objects (Kind::explained); nothing: there is no such.
std::optional<std::string> told_document(const replica::Replica& replica, std::string_view plural,
                                         std::string_view name);
std::optional<std::string> node_of_object(const replica::Replica& replica, std::string_view plural,
                                          std::string_view name);
// {"timeline": Entry[]}: of one node, or of all when it is empty.
std::string timeline_document(const Shown& shown, std::string_view node);

}  // namespace careen::view
