#include "kube/kubeconfig.h"

#include <fmt/format.h>
#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <map>

#include "io/ascii.h"
#include "kube/base64.h"
#include "kube/json.h"

namespace careen::kube {

namespace {

// Far more than any real kubeconfig, far less than what hurts.
constexpr size_t kMaxFile = 1 << 20;
// Of the extension that is handed to a plugin; aliases could make it explode.
constexpr size_t kMaxExtension = 64 << 10;
constexpr int kMaxExtensionDepth = 32;

constexpr std::string_view kNoFile =
    "names a file, and none is read for a kubeconfig from here; the data must be inline";

// What is wrong with the files. It is thrown and caught in this file only: yaml-cpp throws as well, so one catch
// turns both into a value.
struct Wrong {
  std::string message;
};

std::string position(const KubeconfigFile& file, const YAML::Mark& mark) {
  if (mark.line < 0) return file.path;
  return fmt::format("{}:{}:{}", file.path, mark.line + 1, mark.column + 1);
}

// A node that can say where it stands and what it is called.
struct Place {
  // Const, so that a Place cannot be assigned: assigning a YAML::Node would write into the document.
  const KubeconfigFile* const file;
  YAML::Node node;
  std::string name;  // users[2].user.token

  [[noreturn]] void refuse(std::string_view what) const {
    throw Wrong{name.empty() ? fmt::format("{}: {}", position(*file, node.Mark()), what)
                             : fmt::format("{}: {}: {}", position(*file, node.Mark()), name, what)};
  }
  std::string text() const {
    if (node.IsNull()) return {};
    if (!node.IsScalar()) refuse("must be a text");
    return node.Scalar();
  }
  bool boolean() const {
    if (node.IsNull()) return false;
    bool value = false;
    if (!node.IsScalar() || !YAML::convert<bool>::decode(node, value)) refuse("must be true or false");
    return value;
  }
  std::vector<Place> items() const {
    if (node.IsNull()) return {};
    if (!node.IsSequence()) refuse("must be a list");
    std::vector<Place> found;
    for (const YAML::Node& item : node) found.push_back({file, item, fmt::format("{}[{}]", name, found.size())});
    return found;
  }
  std::vector<std::string> texts() const {
    std::vector<std::string> found;
    for (const Place& item : items()) found.push_back(item.text());
    return found;
  }
  // Relative paths count from the folder of the kubeconfig.
  std::string resolve(const std::string& path) const {
    if (path.starts_with('/')) return path;
    const size_t slash = file->path.rfind('/');
    return slash == std::string::npos ? path : file->path.substr(0, slash + 1) + path;
  }
};

// A mapping whose fields are asked for by name. Nothing at all counts as an empty one.
class Mapping {
 public:
  explicit Mapping(Place place) : place_(std::move(place)) {
    if (place_.node.IsNull()) return;
    if (!place_.node.IsMap()) place_.refuse("must be a mapping");
    for (const auto& entry : place_.node) {
      Place field{place_.file, entry.first, place_.name};
      if (!entry.first.IsScalar()) field.refuse("a key must be a text");
      const std::string key = entry.first.Scalar();
      field.name = place_.name.empty() ? key : place_.name + "." + key;
      if (fields_.contains(key)) field.refuse("is given twice");
      field.node.reset(entry.second);
      fields_.emplace(key, std::move(field));
    }
  }
  const Place& place() const { return place_; }
  const Place* find(std::string_view key) const {
    const auto it = fields_.find(key);
    return it == fields_.end() || it->second.node.IsNull() ? nullptr : &it->second;
  }
  std::string text(std::string_view key) const {
    const Place* field = find(key);
    return field ? field->text() : std::string();
  }
  bool boolean(std::string_view key) const {
    const Place* field = find(key);
    return field && field->boolean();
  }
  std::vector<Place> items(std::string_view key) const {
    const Place* field = find(key);
    return field ? field->items() : std::vector<Place>();
  }
  // At the field if it is there, otherwise at the mapping that lacks it.
  [[noreturn]] void refuse(std::string_view key, std::string_view what) const {
    if (const auto it = fields_.find(key); it != fields_.end()) it->second.refuse(what);
    place_.refuse(fmt::format("{}: {}", key, what));
  }

 private:
  Place place_;
  std::map<std::string, Place, std::less<>> fields_;
};

// The entries of `clusters`, `users` or `contexts` of all files, by name.
using Entries = std::map<std::string, Place>;

struct Merged {
  Entries clusters;
  Entries users;
  Entries contexts;
  std::string current_context;
};

void collect(const Mapping& root, std::string_view list, std::string_view inner, Entries& into) {
  Entries own;
  for (const Place& item : root.items(list)) {
    const Mapping entry(item);
    const std::string name = entry.text("name");
    if (name.empty()) entry.refuse("name", "must be given");
    const Place* content = entry.find(inner);
    const Place place = content ? *content : Place{item.file, item.node, fmt::format("{}.{}", item.name, inner)};
    if (!content) place.refuse("must be given");
    if (!own.emplace(name, place).second) entry.refuse("name", fmt::format("\"{}\" is given twice", name));
  }
  into.merge(own);
}

// yaml-cpp's words about a tab lead nowhere.
std::optional<YAML::Mark> first_indenting_tab(std::string_view text) {
  YAML::Mark mark;
  bool indenting = true;
  for (const char c : text) {
    if (indenting && c == '\t') return mark;
    if (c != ' ') indenting = false;
    ++mark.column;
    if (c == '\n') {
      ++mark.line;
      mark.column = 0;
      indenting = true;
    }
  }
  return std::nullopt;
}

YAML::Node parse(const KubeconfigFile& file) {
  if (file.text.size() > kMaxFile) throw Wrong{file.path + ": is larger than 1 MiB, no kubeconfig is"};
  if (file.text.find('\0') != std::string::npos) throw Wrong{file.path + ": is not a text file"};
  try {
    return YAML::Load(file.text);
  } catch (const YAML::Exception& e) {
    if (const auto tab = first_indenting_tab(file.text)) {
      throw Wrong{position(file, *tab) + ": indented with a tab; YAML wants spaces"};
    }
    throw Wrong{fmt::format("{}: {}", position(file, e.mark), e.msg)};
  }
}

void merge(const KubeconfigFile& file, Merged& merged) {
  const YAML::Node document = parse(file);
  if (!document.IsDefined() || document.IsNull()) return;
  const Mapping root({&file, document, {}});
  if (const std::string kind = root.text("kind"); !kind.empty() && kind != "Config") {
    root.refuse("kind", fmt::format("is \"{}\"; that of a kubeconfig is \"Config\"", kind));
  }
  if (const std::string version = root.text("apiVersion"); !version.empty() && version != "v1") {
    root.refuse("apiVersion", fmt::format("\"{}\" is not known, only \"v1\" is", version));
  }
  collect(root, "clusters", "cluster", merged.clusters);
  collect(root, "users", "user", merged.users);
  collect(root, "contexts", "context", merged.contexts);
  if (merged.current_context.empty()) merged.current_context = root.text("current-context");
}

std::string known_names(const Entries& entries) {
  if (entries.empty()) return "there are none";
  std::string list = "there are ";
  int shown = 0;
  for (const auto& [name, place] : entries) {
    if (shown == 10) return list + ", …";
    list += fmt::format("{}\"{}\"", shown++ > 0 ? ", " : "", name);
  }
  return list;
}

bool has_control_character(std::string_view text) {
  return std::ranges::any_of(text, [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7F; });
}

// No files: the text is not trusted.
std::string must_read(io::Files* files, const Place& place, const std::string& path) {
  if (!files) place.refuse(kNoFile);
  io::Result<std::string> content = files->read(path);
  if (!content) place.refuse(content.error().message);
  return std::move(*content);
}

// `key`-data in base64, or the file that `key` names; the data wins.
Pem read_pem(io::Files* files, const Mapping& mapping, const std::string& key, std::string_view what) {
  Pem pem;
  const Place* place = mapping.find(key + "-data");
  if (place && !place->text().empty()) {
    auto decoded = base64_decode(place->text());
    if (!decoded) place->refuse("not valid base64");
    pem.text = std::move(*decoded);
  } else {
    place = mapping.find(key);
    if (!place || place->text().empty()) return pem;
    pem.path = place->resolve(place->text());
    pem.text = must_read(files, *place, pem.path);
  }
  const size_t begin = pem.text.find("-----BEGIN ");
  if (begin == std::string::npos || pem.text.find(what, begin) == std::string::npos) {
    place->refuse(fmt::format("holds no {} in PEM", what == "CERTIFICATE" ? "certificate" : "private key"));
  }
  return pem;
}

// The address of a server as it is written in kubeconfigs and flags; otherwise what is wrong with it.
tl::expected<std::string, std::string> server_address(std::string_view text, bool tls_by_default) {
  std::string server(io::trimmed(text));
  if (server.empty()) return tl::make_unexpected("must be given");
  if (server.find("://") == std::string::npos) server = (tls_by_default ? "https://" : "http://") + server;
  if (!server.starts_with("https://") && !server.starts_with("http://")) {
    return tl::make_unexpected(fmt::format("\"{}\" is neither an https nor an http address", server));
  }
  if (has_control_character(server) || server.find(' ') != std::string::npos) {
    return tl::make_unexpected("has a blank or a control character in it");
  }
  server = server.substr(0, server.find_first_of("?#"));
  const size_t host = server.find("://") + 3;
  while (server.size() > host && server.ends_with('/')) server.pop_back();
  if (server.size() == host || server[host] == ':' || server[host] == '/') {
    return tl::make_unexpected("names no host");
  }
  return server;
}

void check_proxy(const Mapping& cluster, Access& into) {
  into.proxy = io::trimmed(cluster.text("proxy-url"));
  if (into.proxy.empty()) return;
  for (const std::string_view scheme : {"http://", "https://", "socks5://", "socks5h://"}) {
    if (into.proxy.starts_with(scheme) && into.proxy.size() > scheme.size() && !has_control_character(into.proxy)) {
      return;
    }
  }
  cluster.refuse("proxy-url", "must be an http, https or socks5 address");
}

// `server`: instead of the one in the file; the name by which that one's certificate is checked goes with it.
void resolve_cluster(io::Files* files, const Mapping& cluster, const std::string& server, Access& into) {
  into.ca = read_pem(files, cluster, "certificate-authority", "CERTIFICATE");
  into.insecure = cluster.boolean("insecure-skip-tls-verify");
  into.tls_server_name = cluster.text("tls-server-name");
  if (into.insecure && !into.ca.text.empty()) {
    cluster.refuse("insecure-skip-tls-verify", "cannot be combined with a certificate authority");
  }
  const bool tls_by_default = into.insecure || !into.ca.text.empty();
  auto address = server_address(server.empty() ? cluster.text("server") : server, tls_by_default);
  if (!address && !server.empty()) throw Wrong{"--master: " + address.error()};
  if (!address) cluster.refuse("server", address.error());
  into.server = std::move(*address);
  if (!server.empty()) into.tls_server_name.clear();
  check_proxy(cluster, into);
}

Json to_json(const Place& place, int depth, size_t& budget) {
  const auto spend = [&](size_t amount) {
    if (depth > kMaxExtensionDepth || amount > budget) place.refuse("is too large or too deep to hand to a plugin");
    budget -= amount;
  };
  const YAML::Node& node = place.node;
  spend(1);
  if (node.IsSequence()) {
    Json array = Json::array();
    for (const Place& item : place.items()) array.push_back(to_json(item, depth + 1, budget));
    return array;
  }
  if (node.IsMap()) {
    Json object = Json::object();
    for (const auto& entry : node) {
      if (!entry.first.IsScalar()) place.refuse("a key must be a text");
      const std::string& key = entry.first.Scalar();
      spend(key.size());
      const Place field{place.file, entry.second, fmt::format("{}.{}", place.name, key)};
      object.set({key}, to_json(field, depth + 1, budget));
    }
    return object;
  }
  if (!node.IsScalar()) return nullptr;
  spend(node.Scalar().size());
  // "?" is the tag of a scalar without quotes: a number, true, false or null counts as one there.
  if (node.Tag() == "?" || node.Tag().empty()) {
    io::Result<Json> plain = Json::parse(node.Scalar());
    if (plain && !plain->view().is_object() && !plain->view().is_array()) return std::move(*plain);
  }
  return node.Scalar();
}

std::string plugin_cluster_config(const Mapping& cluster) {
  for (const Place& item : cluster.items("extensions")) {
    const Mapping extension(item);
    if (extension.text("name") != "client.authentication.k8s.io/exec") continue;
    const Place* content = extension.find("extension");
    if (!content) return {};
    size_t budget = kMaxExtension;
    return to_json(*content, 0, budget).dump();
  }
  return {};
}

ExecPlugin resolve_exec(const Mapping& exec, const Mapping& cluster) {
  ExecPlugin plugin;
  plugin.command = exec.text("command");
  if (plugin.command.empty()) exec.refuse("command", "must be given");
  if (plugin.command.find('/') != std::string::npos) plugin.command = exec.place().resolve(plugin.command);
  if (const Place* arguments = exec.find("args")) plugin.arguments = arguments->texts();
  for (const Place& item : exec.items("env")) {
    const Mapping variable(item);
    const std::string name = variable.text("name");
    if (name.empty() || name.find('=') != std::string::npos) variable.refuse("name", "must be a variable's name");
    plugin.environment.emplace_back(name, variable.text("value"));
  }
  plugin.api_version = exec.text("apiVersion");
  const bool v1 = plugin.api_version == "client.authentication.k8s.io/v1";
  if (!v1 && plugin.api_version != "client.authentication.k8s.io/v1beta1") {
    exec.refuse("apiVersion", "must be client.authentication.k8s.io/v1 or client.authentication.k8s.io/v1beta1");
  }
  const std::string mode = exec.text("interactiveMode");
  if (mode.empty() && v1) exec.refuse("interactiveMode", "must be given: Never or IfAvailable");
  if (mode == "Always")
    exec.refuse("interactiveMode", "is Always, but careen has no terminal for the plugin to ask on");
  if (!mode.empty() && mode != "Never" && mode != "IfAvailable") {
    exec.refuse("interactiveMode", fmt::format("\"{}\" is not known; Never and IfAvailable are", mode));
  }
  plugin.install_hint = exec.text("installHint");
  plugin.provide_cluster_info = exec.boolean("provideClusterInfo");
  if (plugin.provide_cluster_info) plugin.cluster_config = plugin_cluster_config(cluster);
  return plugin;
}

Token resolve_token(io::Files* files, const Mapping& user) {
  Token token;
  token.text = io::trimmed(user.text("token"));
  if (const Place* place = user.find("tokenFile"); place && !place->text().empty()) {
    token.path = place->resolve(place->text());
    if (!files) place->refuse(kNoFile);
    // With both, what the file says goes first, as soon as it says something.
    io::Result<std::string> content = files->read(token.path);
    if (!content && token.text.empty()) place->refuse(content.error().message);
    if (content && !io::trimmed(*content).empty()) token.text = io::trimmed(*content);
    if (token.text.empty()) place->refuse(fmt::format("{} is empty", token.path));
  }
  if (has_control_character(token.text)) {
    user.refuse(token.path.empty() ? "token" : "tokenFile", "has a line break or a control character in the token");
  }
  return token;
}

Impersonation resolve_impersonation(const Mapping& user) {
  Impersonation impersonate;
  impersonate.user = user.text("as");
  impersonate.uid = user.text("as-uid");
  if (const Place* groups = user.find("as-groups")) impersonate.groups = groups->texts();
  if (const Place* extra = user.find("as-user-extra")) {
    if (!extra->node.IsMap()) extra->refuse("must be a mapping");
    for (const auto& entry : extra->node) {
      if (!entry.first.IsScalar()) extra->refuse("a key must be a text");
      const Place values{extra->file, entry.second, fmt::format("{}.{}", extra->name, entry.first.Scalar())};
      impersonate.extra[entry.first.Scalar()] = values.texts();
    }
  }
  if (impersonate.user.empty() &&
      !(impersonate.uid.empty() && impersonate.groups.empty() && impersonate.extra.empty())) {
    user.refuse("as", "must be given when uid, groups or extras of another user are taken");
  }
  const auto check = [&](std::string_view key, std::string_view value) {
    if (has_control_character(value)) user.refuse(key, "has a line break or a control character in it");
  };
  check("as", impersonate.user);
  check("as-uid", impersonate.uid);
  for (const std::string& group : impersonate.groups) check("as-groups", group);
  for (const auto& [key, values] : impersonate.extra) {
    for (const std::string& value : values) check("as-user-extra", value);
  }
  return impersonate;
}

User resolve_user(io::Files* files, const Mapping& user, const Mapping& cluster) {
  User into;
  if (user.find("auth-provider")) {
    user.refuse("auth-provider", "Kubernetes has removed these; use an exec plugin");
  }
  into.client_cert = read_pem(files, user, "client-certificate", "CERTIFICATE");
  if (!into.client_cert.text.empty()) {
    into.client_key = read_pem(files, user, "client-key", "PRIVATE KEY");
    if (into.client_key.text.empty()) user.refuse("client-key", "must be given with a client certificate");
  }
  into.impersonate = resolve_impersonation(user);

  Token token = resolve_token(files, user);
  BasicAuth basic{user.text("username"), user.text("password")};
  const bool has_basic = !basic.username.empty() || !basic.password.empty();
  if (!token.text.empty() && has_basic) {
    user.place().refuse("has both a token and a user name; only one way to log in is allowed");
  }
  if (!token.text.empty()) {
    into.method = std::move(token);
  } else if (has_basic) {
    into.method = std::move(basic);
  } else if (const Place* exec = user.find("exec"); exec && into.client_cert.text.empty()) {
    into.method = resolve_exec(Mapping(*exec), cluster);
  }
  return into;
}

// All that would make us do more than talk to the server with what stands in the text, also where something else in it
// would take precedence.
void refuse_to_reach_out(const Mapping& cluster, const Mapping& user) {
  const auto refuse = [](const Mapping& mapping, std::string_view key, std::string_view why) {
    if (mapping.find(key)) mapping.refuse(key, why);
  };
  refuse(cluster, "certificate-authority", kNoFile);
  refuse(user, "client-certificate", kNoFile);
  refuse(user, "client-key", kNoFile);
  refuse(user, "tokenFile", kNoFile);
  refuse(user, "exec", "is a program, and none is started for a kubeconfig from here");
  refuse(user, "auth-provider", "Kubernetes has removed these, and no program is started for a kubeconfig from here");
  refuse(cluster, "proxy-url", "is not allowed in a kubeconfig from here");
}

bool is_dns_label(std::string_view text) {
  const auto alphanumeric = [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'); };
  return !text.empty() && text.size() <= 63 && alphanumeric(text.front()) && alphanumeric(text.back()) &&
         std::ranges::all_of(text, [&](char c) { return alphanumeric(c) || c == '-'; });
}

const Place& referred(const Mapping& context, std::string_view key, const Entries& entries) {
  const std::string name = context.text(key);
  if (name.empty()) context.refuse(key, "must be given");
  const auto it = entries.find(name);
  if (it == entries.end()) {
    context.refuse(key, fmt::format("there is no {} named \"{}\"; {}", key, name, known_names(entries)));
  }
  return it->second;
}

std::string paths_of(const std::vector<KubeconfigFile>& kubeconfigs) {
  std::string paths;
  for (const KubeconfigFile& file : kubeconfigs) paths += (paths.empty() ? "" : ":") + file.path;
  return paths;
}

Access resolve(io::Files* files, const std::vector<KubeconfigFile>& kubeconfigs, const std::string& wanted,
               const std::string& server) {
  Merged merged;
  for (const KubeconfigFile& file : kubeconfigs) merge(file, merged);
  const std::string paths = paths_of(kubeconfigs);
  const std::string name = wanted.empty() ? merged.current_context : wanted;
  if (name.empty()) {
    throw Wrong{fmt::format("{}: current-context: is not set, and no context was asked for; {}", paths,
                            known_names(merged.contexts))};
  }
  const auto it = merged.contexts.find(name);
  if (it == merged.contexts.end()) {
    throw Wrong{
        fmt::format("{}: contexts: there is no context named \"{}\"; {}", paths, name, known_names(merged.contexts))};
  }
  const Mapping context(it->second);
  const Mapping cluster(referred(context, "cluster", merged.clusters));
  const Mapping user(referred(context, "user", merged.users));

  Access into;
  into.source = fmt::format("kubeconfig {}, context \"{}\"", paths, name);
  into.ns = context.text("namespace");
  if (into.ns.empty()) into.ns = "default";
  if (!is_dns_label(into.ns)) context.refuse("namespace", fmt::format("\"{}\" is not a namespace's name", into.ns));
  if (!files) refuse_to_reach_out(cluster, user);
  resolve_cluster(files, cluster, server, into);
  into.user = resolve_user(files, user, cluster);
  if (!files && !into.server.starts_with("https://")) cluster.refuse("server", "must be an https address");
  // Credentials are never sent in the clear.
  if (into.server.starts_with("http://")) into.user = {};
  return into;
}

io::Result<Access> resolved(io::Files* files, const std::vector<KubeconfigFile>& kubeconfigs,
                            const std::string& context, const std::string& server) {
  try {
    return resolve(files, kubeconfigs, context, server);
  } catch (const Wrong& wrong) {
    return io::fail(io::ErrorKind::invalid, wrong.message);
  } catch (const YAML::Exception& e) {
    return io::fail(io::ErrorKind::invalid, fmt::format("{}: {}", paths_of(kubeconfigs), e.what()));
  }
}

}  // namespace

io::Result<Access> resolve_kubeconfig(io::Files& files, const std::vector<KubeconfigFile>& kubeconfigs,
                                      const std::string& context, const std::string& server) {
  return resolved(&files, kubeconfigs, context, server);
}

io::Result<Access> resolve_untrusted_kubeconfig(std::string from, std::string text, const std::string& context) {
  return resolved(nullptr, {{std::move(from), std::move(text)}}, context, {});
}

}  // namespace careen::kube
