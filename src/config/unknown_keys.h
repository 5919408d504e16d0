// Keys of a configuration file that nothing reads. They are legal, because old files are full of them, but each is
// worth a warning: most are typing errors.
#pragma once

#include <string_view>
#include <vector>

#include "config/file.h"
#include "config/plugin_doc.h"

namespace careen::config {

// Warns of every key of `object`, and of the objects in it, that `keys` do not declare and no error explained already.
// `owner` opens the message unless it is empty.
void warn_unknown_keys(ConfigFile& file, const Value& object, const std::vector<KeyDoc>& keys, std::string_view owner);

}  // namespace careen::config
