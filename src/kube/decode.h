// From the API server's JSON to careen's structs, with simdjson's on-demand parser: only the fields a struct has are
// read, in whatever order they come; all others are skipped unread. A field of an unexpected type counts as absent.
#pragma once

#include <string_view>

#include "io/result.h"
#include "kube/node.h"
#include "kube/node_sections.h"
#include "kube/objects.h"

namespace careen::kube {

// An object that lies unread in a list page or a watch event (see stream.h). It can be read once, forwards, before the
// next one is asked for.
class RawObject;

// `sections` become Node::sections.
io::Result<Node> decode_node(RawObject& raw, AtomPool& atoms, const NodeSections& sections = {});
io::Result<Lease> decode_lease(RawObject& raw, AtomPool& atoms);
io::Result<Namespace> decode_namespace(RawObject& raw, AtomPool& atoms);
io::Result<Object> decode_object(RawObject& raw);
io::Result<Identity> decode_identity(RawObject& raw);
// Of an object that may have nothing else: a bookmark.
io::Result<uint64_t> decode_version(RawObject& raw);
// The object as it was sent.
io::Result<std::string> decode_text(RawObject& raw);

// The same from a text of its own, such as the answer to a write.
io::Result<Node> decode_node(std::string_view json, AtomPool& atoms, const NodeSections& sections = {});
io::Result<Lease> decode_lease(std::string_view json, AtomPool& atoms);
io::Result<Namespace> decode_namespace(std::string_view json, AtomPool& atoms);
io::Result<Object> decode_object(std::string_view json);
io::Result<Identity> decode_identity(std::string_view json);

}  // namespace careen::kube
