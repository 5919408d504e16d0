// Careens that run on this machine, as `--server auto` finds them.
//
// A careen whose dashboard can be reached on a loopback address leaves a record of where that is, in a folder that only
// its user can write to. It keeps the record locked for as long as it lives and removes it when it ends; an unlocked
// one is left over from a careen that was killed, and the next careen or command that finds it removes it. Nothing is
// read from a folder or a file that somebody else could have written, and no address is taken from a record that leads
// off this machine.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "io/result.h"

namespace careen::app {

struct LocalCareen {
  std::string url;      // http://127.0.0.1:8080
  std::string command;  // careen run
  int64_t pid = 0;
};

// Where a server that listens on `address` (host:port, :port or [v6]:port) is reached from this machine; nothing when
// it does not listen on a loopback address. `port` is the one it has got.
std::optional<std::string> loopback_url(std::string_view address, int port);

// Where records lie: in XDG_RUNTIME_DIR if it names a folder of this user, else in /tmp.
std::string record_folder(const std::function<std::optional<std::string>(std::string_view)>& environment);

// The record of this process.
class LocalRecord {
 public:
  static io::Result<std::unique_ptr<LocalRecord>> leave(const std::string& folder, const LocalCareen& self);
  // Removes it, and the folder if nothing else is in it.
  ~LocalRecord();
  LocalRecord(const LocalRecord&) = delete;
  LocalRecord& operator=(const LocalRecord&) = delete;

 private:
  LocalRecord(std::string folder, std::string name, int locked);
  std::string folder_, name_;
  int locked_;  // the open file, which has the lock
};

// The careen of this user that runs here. The error says that there is none, or names all of them.
io::Result<LocalCareen> find_local_careen(const std::string& folder);

}  // namespace careen::app
