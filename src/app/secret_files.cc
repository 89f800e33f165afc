// SPDX-License-Identifier: Apache-2.0
#include "app/secret_files.h"

#include <sys/stat.h>

#include <cerrno>
#include <cstring>
#include <fstream>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/status.h"
#include "router/frontend/api_keys.h"

namespace shoal::app {
namespace {

constexpr char kApiKeys[] = "router.api_keys_file";
constexpr char kClusterToken[] = "cluster_token_file";

// A FIFO or a device would block or never end.
absl::Status CheckRegular(const char* key, const std::string& path, struct stat* info) {
  if (stat(path.c_str(), info) != 0) {
    const std::string text = absl::StrCat(key, ": ", path, ": ", std::strerror(errno));
    return errno == ENOENT ? absl::NotFoundError(text) : absl::InvalidArgumentError(text);
  }
  if (S_ISREG(info->st_mode)) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(key, ": ", path, " is not a regular file"));
}

void WarnOfAccess(const char* key, const std::string& path, const struct stat& info,
                  std::vector<std::string>* warnings) {
  if ((info.st_mode & (S_IROTH | S_IWOTH)) == 0) return;
  warnings->push_back(absl::StrFormat("%s: every user may %s %s (mode %04o); run: chmod 600 %s",
                                      key, (info.st_mode & S_IWOTH) != 0 ? "change" : "read", path,
                                      static_cast<unsigned>(info.st_mode & 07777), path));
}

}  // namespace

absl::StatusOr<std::string> ReadClusterTokenFile(const config::ClusterConfig& config) {
  const std::string& path = config.cluster_token_file;
  if (path.empty()) return std::string();
  struct stat info {};
  SHOAL_RETURN_IF_ERROR(CheckRegular(kClusterToken, path, &info));
  std::ifstream file(path);
  if (!file) {
    return absl::PermissionDeniedError(
        absl::StrCat(kClusterToken, ": cannot read ", path, ": ", std::strerror(errno)));
  }
  std::string token;
  std::getline(file, token);
  absl::StripAsciiWhitespace(&token);
  if (!token.empty()) return token;
  return absl::InvalidArgumentError(
      absl::StrCat(kClusterToken, ": the first line of ", path, " is empty; put a secret there"));
}

absl::StatusOr<std::vector<std::string>> CheckSecretFiles(const config::ClusterConfig& config) {
  std::vector<std::string> warnings;
  struct stat info {};
  if (const std::string& path = config.router.api_keys_file; !path.empty()) {
    SHOAL_RETURN_IF_ERROR(CheckRegular(kApiKeys, path, &info));
    SHOAL_RETURN_IF_ERROR(router::ApiKeys::Load(path).status());
    WarnOfAccess(kApiKeys, path, info, &warnings);
  }
  if (const std::string& path = config.cluster_token_file; !path.empty()) {
    SHOAL_RETURN_IF_ERROR(ReadClusterTokenFile(config).status());
    SHOAL_RETURN_IF_ERROR(CheckRegular(kClusterToken, path, &info));
    WarnOfAccess(kClusterToken, path, info, &warnings);
  }
  return warnings;
}

}  // namespace shoal::app
