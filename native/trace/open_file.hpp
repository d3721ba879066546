// A regular file open for reading, or none, without a reason.
#pragma once

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace yantra {

class OpenFile {
public:
    explicit OpenFile(const char* path) : descriptor_(open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC)) {
        struct stat status {};
        is_regular_ = descriptor_ >= 0 && fstat(descriptor_, &status) == 0 && S_ISREG(status.st_mode);
        size_ = is_regular_ ? static_cast<std::uint64_t>(status.st_size) : 0;
    }
    OpenFile(const OpenFile&) = delete;
    OpenFile& operator=(const OpenFile&) = delete;
    ~OpenFile() {
        if (descriptor_ >= 0) {
            close(descriptor_);
        }
    }

    bool is_regular() const { return is_regular_; }
    std::uint64_t size() const { return size_; }   // when it was opened

    // False if the file is shorter.
    bool read_into(char* room, std::size_t size) const {
        const ssize_t count = read(descriptor_, room, size);
        return count >= 0 && static_cast<std::size_t>(count) == size;
    }

    // `room` has space for as many.
    bool holds(std::string_view content, char* room) const {
        return is_regular_ && size_ == content.size() && read_into(room, content.size()) &&
               std::string_view(room, content.size()) == content;
    }

private:
    int descriptor_;
    bool is_regular_ = false;
    std::uint64_t size_ = 0;
};

}  // namespace yantra
