// What is needed around the handles of libcurl: options, URLs taken apart, and a pool of handles.
#pragma once

#include <curl/curl.h>

#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

namespace careen::io {

// An option that libcurl refuses is a mistake of ours.
template <class T>
void set_option(CURL* easy, CURLoption option, T value) {
  const CURLcode code = curl_easy_setopt(easy, option, value);
  if (code == CURLE_OK) return;
  std::fprintf(stderr, "careen: bug: curl option %d: %s\n", static_cast<int>(option), curl_easy_strerror(code));
  std::abort();
}

// The blob stays with us: `text` has to live as long as the handle uses it.
inline void set_blob_option(CURL* easy, CURLoption option, const std::string& text) {
  curl_blob blob{const_cast<char*>(text.data()), text.size(), CURL_BLOB_NOCOPY};
  set_option(easy, option, &blob);
}

struct UrlPart {
  char* text = nullptr;
  ~UrlPart() { curl_free(text); }
  std::string str() const { return text == nullptr ? std::string() : text; }
};

class Url {
 public:
  explicit Url(const std::string& text) : handle_(curl_url()) {
    valid_ = handle_ != nullptr && curl_url_set(handle_, CURLUPART_URL, text.c_str(), 0) == CURLUE_OK;
  }
  Url(const Url&) = delete;
  Url& operator=(const Url&) = delete;
  ~Url() { curl_url_cleanup(handle_); }

  bool valid() const { return valid_; }
  std::string get(CURLUPart part, unsigned flags = 0) const {
    UrlPart value;
    curl_url_get(handle_, part, &value.text, flags);
    return value.str();
  }
  bool set_host(const std::string& host) { return curl_url_set(handle_, CURLUPART_HOST, host.c_str(), 0) == CURLUE_OK; }

 private:
  CURLU* handle_;
  bool valid_ = false;
};

// Idle ones are used again. Each has buffers of some 40 KB, and there is a client for each of hundreds of clusters, so
// only few are kept: making one is a small part of what a request costs.
class HandlePool {
 public:
  HandlePool() = default;
  HandlePool(const HandlePool&) = delete;
  HandlePool& operator=(const HandlePool&) = delete;
  ~HandlePool() {
    for (CURL* easy : idle_) curl_easy_cleanup(easy);
  }
  CURL* take() {
    if (!idle_.empty()) {
      CURL* easy = idle_.back();
      idle_.pop_back();
      return easy;
    }
    CURL* easy = curl_easy_init();
    if (easy == nullptr) {
      std::fprintf(stderr, "careen: curl_easy_init failed\n");
      std::abort();
    }
    return easy;
  }
  void give_back(CURL* easy) {
    if (idle_.size() >= kIdleHandles) return curl_easy_cleanup(easy);
    // Also forgets the times of the last transfer and every pointer into it.
    curl_easy_reset(easy);
    idle_.push_back(easy);
  }

 private:
  static constexpr size_t kIdleHandles = 2;

  std::vector<CURL*> idle_;
};

}  // namespace careen::io
