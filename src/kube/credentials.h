// Which cluster to talk to and as whom: from a kubeconfig or from the service account of the pod we run in. This
// only reads; Authenticator keeps what changes later (token files, exec plugins, rotated certificates) up to date.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "io/files.h"
#include "io/result.h"

namespace careen::kube {

// The process's environment variables, as a test or main() gives them.
struct Environment {
  std::function<std::optional<std::string>(std::string_view)> get;
};

struct ClusterFlags {
  std::string kubeconfig = {};  // --kubeconfig
  std::string context = {};     // --kubecontext; KUBECONTEXT when empty
  std::string server = {};      // --master: instead of the one that a kubeconfig names; a pod's own is not replaced
};

// PEM text. With a path it was read from there and may be replaced there.
struct Pem {
  std::string text;
  std::string path;
  bool operator==(const Pem&) const = default;
};

struct Anonymous {
  bool operator==(const Anonymous&) const = default;
};

struct Token {
  std::string text;
  std::string path;  // as with Pem
  bool operator==(const Token&) const = default;
};

struct BasicAuth {
  std::string username;
  std::string password;
  bool operator==(const BasicAuth&) const = default;
};

// A program that prints credentials (client.authentication.k8s.io).
struct ExecPlugin {
  std::string command;
  std::vector<std::string> arguments;
  std::vector<std::pair<std::string, std::string>> environment;
  std::string api_version;
  std::string install_hint;
  bool provide_cluster_info = false;
  std::string cluster_config;  // JSON of the cluster's extension for plugins; empty: none
  bool operator==(const ExecPlugin&) const = default;
};

struct Impersonation {
  std::string user;  // empty: none
  std::string uid;
  std::vector<std::string> groups;
  std::map<std::string, std::vector<std::string>> extra;
  bool operator==(const Impersonation&) const = default;
};

struct User {
  std::variant<Anonymous, Token, BasicAuth, ExecPlugin> method;
  Pem client_cert;  // both or none
  Pem client_key;
  Impersonation impersonate;
  bool operator==(const User&) const = default;
};

// One API server, and who asks it.
struct Access {
  std::string server = {};  // https://host:port, perhaps with a path; no slash at the end
  Pem ca = {};              // empty: the system's authorities
  std::string tls_server_name = {};
  bool insecure = false;
  std::string proxy = {};
  std::string ns = "default";  // of the context or the pod
  User user = {};
  std::string source = {};  // where all this comes from, for people
  bool in_cluster = false;
  bool operator==(const Access&) const = default;
};

// In this order: --kubeconfig, KUBECONFIG (several files, merged), the pod's service account, ~/.kube/config. The
// error names file, line, column and field where it can.
io::Result<Access> load_access(io::Files& files, const Environment& environment, const ClusterFlags& flags);

}  // namespace careen::kube
