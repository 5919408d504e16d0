// The files of plan and snapshot: read whole, whatever their size, and written in one go.
#pragma once

#include <string>

#include "io/result.h"
#include "plan/snapshot.h"

namespace careen::app {

// The error names the file.
io::Result<std::string> read_whole(const std::string& path);
// "-" is stdout. Readable by the owner alone.
io::Result<bool> write_whole(const std::string& path, const std::string& content);
io::Result<plan::Snapshot> read_snapshot(const std::string& path);

// 14d, 36h, 1h30m.
io::Result<io::Duration> parse_span(std::string_view text);

}  // namespace careen::app
