// Keeps the credentials of an Access valid: reads token and certificate files again when they change, runs the
// exec plugin when its answer expires. Several transports share one.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "io/files.h"
#include "io/http.h"
#include "io/log.h"
#include "io/loop.h"
#include "io/process.h"
#include "io/sync.h"
#include "kube/credentials.h"

namespace careen::kube {

// What a request needs to be let in, as of now. The next ones may be others, but these do not change.
struct Credentials {
  io::Headers headers;
  std::shared_ptr<const io::TlsOptions> tls;  // the same object as long as nothing in it changed
};

class Authenticator {
 public:
  using RunProcess = std::function<io::Task<io::Result<io::ProcessResult>>(io::ProcessRequest)>;
  using Held = std::shared_ptr<const Credentials>;

  Authenticator(io::Loop& loop, io::Files& files, RunProcess run, Access access, io::Log log = {});
  ~Authenticator();

  // What to use now, waiting no longer than `limit` for a plugin that has to run first. A plugin that takes longer
  // keeps running for the next caller.
  io::Task<io::Result<Held>> get(io::Duration limit);
  // The server answered 401 to `refused`: others if there are any, otherwise null.
  io::Task<io::Result<Held>> renew(Held refused, io::Duration limit);

  const Access& access() const { return access_; }

 private:
  struct Plugin;
  void read_files(bool now);
  void rebuild();
  void warn_once(const std::string& message);
  std::optional<std::string> authorization() const;
  bool plugin_usable() const;
  void start_plugin();
  io::Task<void> run_plugin();
  io::Task<io::Result<Held>> await_plugin(io::Duration limit);

  io::Loop& loop_;
  io::Files& files_;
  RunProcess run_;
  Access access_;
  io::Log log_;
  Held current_;
  std::string warned_;

  std::vector<std::unique_ptr<io::Files::Watch>> watches_;
  io::Steady files_read_{};
  bool files_changed_ = false;

  std::unique_ptr<Plugin> plugin_;  // null when the user has none
};

// What an exec plugin printed. The error says what is missing.
struct PluginAnswer {
  std::string token;
  std::string client_cert_pem;
  std::string client_key_pem;
  std::optional<io::Wall> expires;
};
io::Result<PluginAnswer> parse_plugin_answer(const std::string& api_version, const std::string& text);
// What the plugin finds in KUBERNETES_EXEC_INFO.
std::string plugin_exec_info(const Access& access, const ExecPlugin& plugin);

}  // namespace careen::kube
