#include "kube/credentials.h"

#include <fmt/format.h>

#include <cerrno>
#include <cstring>

#include "kube/kubeconfig.h"

namespace careen::kube {

namespace {

constexpr std::string_view kServiceAccount = "/var/run/secrets/kubernetes.io/serviceaccount/";

std::string variable(const Environment& environment, std::string_view name) {
  return environment.get(name).value_or(std::string());
}

bool is_missing(const io::Error& error) { return error.message.find(std::strerror(ENOENT)) != std::string::npos; }

std::string without_line_end(std::string text) {
  while (!text.empty() && (text.back() == '\n' || text.back() == '\r' || text.back() == ' ')) text.pop_back();
  return text;
}

io::Result<Access> load_kubeconfig(io::Files& files, const std::string& path, const std::string& context,
                                   const std::string& server) {
  io::Result<std::string> text = files.read(path);
  if (!text) return tl::make_unexpected(text.error());
  return resolve_kubeconfig(files, {{path, std::move(*text)}}, context, server);
}

io::Result<Access> load_kubeconfig_list(io::Files& files, const std::string& list, const std::string& context,
                                        const std::string& server) {
  std::vector<KubeconfigFile> found;
  for (size_t begin = 0; begin <= list.size();) {
    const size_t end = std::min(list.find(':', begin), list.size());
    const std::string path = list.substr(begin, end - begin);
    begin = end + 1;
    if (path.empty()) continue;
    io::Result<std::string> text = files.read(path);
    if (text) {
      found.push_back({path, std::move(*text)});
    } else if (!is_missing(text.error())) {
      return tl::make_unexpected(text.error());
    }
  }
  if (found.empty()) {
    return io::fail(io::ErrorKind::file, fmt::format("KUBECONFIG: none of the files in \"{}\" exists", list));
  }
  return resolve_kubeconfig(files, found, context, server);
}

io::Result<Access> load_in_cluster(io::Files& files, const std::string& host, const std::string& port,
                                   std::string token) {
  const std::string folder(kServiceAccount);
  Access access;
  access.in_cluster = true;
  access.source = "service account of this pod";
  access.server = fmt::format("https://{}:{}", host.find(':') == std::string::npos ? host : "[" + host + "]", port);
  access.user.method = Token{std::move(token), folder + "token"};
  access.ca.path = folder + "ca.crt";
  io::Result<std::string> ca = files.read(access.ca.path);
  if (!ca) return tl::make_unexpected(ca.error());
  access.ca.text = std::move(*ca);
  io::Result<std::string> ns = files.read(folder + "namespace");
  access.ns = ns ? without_line_end(std::move(*ns)) : std::string();
  if (access.ns.empty()) access.ns = "default";
  return access;
}

}  // namespace

io::Result<Access> load_access(io::Files& files, const Environment& environment, const ClusterFlags& flags) {
  const std::string context = flags.context.empty() ? variable(environment, "KUBECONTEXT") : flags.context;
  if (!flags.kubeconfig.empty()) return load_kubeconfig(files, flags.kubeconfig, context, flags.server);
  if (const std::string list = variable(environment, "KUBECONFIG"); !list.empty()) {
    return load_kubeconfig_list(files, list, context, flags.server);
  }

  std::string tried = "--kubeconfig and KUBECONFIG are not set";
  const std::string host = variable(environment, "KUBERNETES_SERVICE_HOST");
  const std::string port = variable(environment, "KUBERNETES_SERVICE_PORT");
  if (host.empty() || port.empty()) {
    tried += "; not in a pod (KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT are not set)";
  } else {
    io::Result<std::string> token = files.read(std::string(kServiceAccount) + "token");
    std::string text = token ? without_line_end(std::move(*token)) : std::string();
    if (!text.empty()) return load_in_cluster(files, host, port, std::move(text));
    tried += "; the pod's service account has no token: " +
             (token ? std::string(kServiceAccount) + "token is empty" : token.error().message);
  }

  const std::string home = variable(environment, "HOME");
  if (home.empty()) return io::fail(io::ErrorKind::invalid, "no cluster is configured: " + tried + "; HOME is not set");
  io::Result<Access> access = load_kubeconfig(files, home + "/.kube/config", context, flags.server);
  if (!access && access.error().kind == io::ErrorKind::file && is_missing(access.error())) {
    return io::fail(io::ErrorKind::invalid, "no cluster is configured: " + tried + "; " + access.error().message);
  }
  return access;
}

}  // namespace careen::kube
