// Files as a controller reaches them: read whole, or watched for change. RealFiles asks the operating system
// (inotify, no polling); MemoryFiles is its twin in virtual time.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>

#include "io/loop.h"
#include "io/result.h"

namespace careen::io {

class RealLoop;

class Files {
 public:
  virtual ~Files() = default;
  // The whole content; the error names the path and the reason. Files over 16 MiB are refused.
  virtual Result<std::string> read(const std::string& path) = 0;

  // Calls `changed` (from the loop) after the file's content may have changed: written, replaced, removed,
  // created, or swapped behind a symbolic link as a mounted ConfigMap is. Ends when the handle is destroyed.
  class Watch {
   public:
    virtual ~Watch() = default;
  };
  virtual std::unique_ptr<Watch> watch(const std::string& path, std::function<void()> changed) = 0;
};

class RealFiles final : public Files {
 public:
  explicit RealFiles(RealLoop& loop) : loop_(loop) {}
  Result<std::string> read(const std::string& path) override;
  std::unique_ptr<Watch> watch(const std::string& path, std::function<void()> changed) override;

 private:
  RealLoop& loop_;
};

class MemoryFiles final : public Files {
 public:
  explicit MemoryFiles(Loop& loop) : loop_(loop) {}
  Result<std::string> read(const std::string& path) override;
  std::unique_ptr<Watch> watch(const std::string& path, std::function<void()> changed) override;
  void write(const std::string& path, std::string content);
  void remove(const std::string& path);

 private:
  struct Watching;
  void notify(const std::string& path);
  Loop& loop_;
  std::map<std::string, std::string> contents_;
  std::set<Watching*> watching_;
};

}  // namespace careen::io
