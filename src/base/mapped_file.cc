// SPDX-License-Identifier: Apache-2.0
#include "base/mapped_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "absl/strings/str_cat.h"

namespace shoal {

absl::StatusOr<std::unique_ptr<MappedFile>> MappedFile::Open(const std::string& path) {
  if (path.find('\0') != std::string::npos) {
    return absl::InvalidArgumentError("a file name contains a NUL byte");
  }
  // O_NONBLOCK: opening a FIFO must not wait for its writer. It has no effect on regular files.
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0) return absl::ErrnoToStatus(errno, absl::StrCat("cannot open ", path));
  struct stat info = {};
  if (fstat(fd, &info) != 0) {
    const absl::Status status = absl::ErrnoToStatus(errno, absl::StrCat("cannot stat ", path));
    close(fd);
    return status;
  }
  if (!S_ISREG(info.st_mode)) {
    close(fd);
    return absl::InvalidArgumentError(
        absl::StrCat(path, S_ISDIR(info.st_mode) ? " is a directory" : " is not a regular file"));
  }
  void* data = nullptr;
  if (info.st_size > 0) {
    data = mmap(nullptr, static_cast<size_t>(info.st_size), PROT_READ, MAP_PRIVATE, fd, 0);
    if (data == MAP_FAILED) {
      const absl::Status status = absl::ErrnoToStatus(errno, absl::StrCat("cannot map ", path));
      close(fd);
      return status;
    }
  }
  close(fd);
  return std::unique_ptr<MappedFile>(
      new MappedFile(path, static_cast<const uint8_t*>(data), info.st_size));
}

MappedFile::MappedFile(std::string path, const uint8_t* data, int64_t size)
    : path_(std::move(path)), data_(data), size_(size) {}

MappedFile::~MappedFile() {
  if (size_ > 0) munmap(const_cast<uint8_t*>(data_), static_cast<size_t>(size_));
}

}  // namespace shoal
