// What is wrong right now, each with one clear sentence. A problem is logged when it appears or changes and once
// more when it is gone, never in between; probes and metrics list the open ones.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>

#include "io/log.h"

namespace careen::io {

class Problems {
 public:
  explicit Problems(Log log) : log_(std::move(log)) {}
  // Those of one subject ("cluster eu-1"). They are listed among all others under its name, and go when it goes.
  Problems(Problems& whole, std::string subject) : whole_(&whole), subject_(std::move(subject)) {}
  ~Problems();
  Problems(const Problems&) = delete;
  Problems& operator=(const Problems&) = delete;

  // `key` is short and stable ("config", "watch nodes"); `message` says what is wrong and what happens now.
  void raise(std::string_view key, std::string_view message);
  void clear(std::string_view key);
  // Whoever had the problem is gone, and nobody knows whether it was solved: like clear(), but the log does not say so.
  void drop(std::string_view key);
  const std::map<std::string, std::string, std::less<>>& open() const { return open_; }

  // Called when a problem has appeared or changed, and, with null, when it is gone.
  using Listener = std::function<void(const std::string& key, const std::string* message)>;
  void on_change(Listener listener) { listener_ = std::move(listener); }

 private:
  bool take_out(std::string_view key);
  std::string named(std::string_view text) const;

  Log log_;
  Problems* whole_ = nullptr;
  std::string subject_;
  Listener listener_;
  std::map<std::string, std::string, std::less<>> open_;
};

}  // namespace careen::io
