// Runs a fuzz target over the files of its corpus, once each, where libFuzzer is not linked.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

namespace {

bool run_file(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  const std::vector<char> content{std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
  if (in.bad() || !in.is_open()) {
    std::fprintf(stderr, "%s cannot be read\n", path.c_str());
    return false;
  }
  // People who look for a crash want to know the file.
  std::printf("%s\n", path.filename().c_str());
  std::fflush(stdout);
  LLVMFuzzerTestOneInput(reinterpret_cast<const uint8_t*>(content.data()), content.size());
  return true;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: %s CORPUS_FOLDER\n", argv[0]);
    return 2;
  }
  std::error_code failed;
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(argv[1], failed)) {
    if (entry.is_regular_file()) files.push_back(entry.path());
  }
  if (failed || files.empty()) {
    std::fprintf(stderr, "%s holds no corpus\n", argv[1]);
    return 1;
  }
  std::sort(files.begin(), files.end());
  return std::all_of(files.begin(), files.end(), run_file) ? 0 : 1;
}
