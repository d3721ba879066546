#include "trace/alike.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdint>
#include <vector>

namespace yantra {

namespace {

// A descriptor that is closed, or none.
class OpenFile {
public:
    // Without waiting, as a pipe would for its other end.
    explicit OpenFile(const char* path) : descriptor_(open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC)) {}
    OpenFile(const OpenFile&) = delete;
    OpenFile& operator=(const OpenFile&) = delete;
    ~OpenFile() {
        if (descriptor_ >= 0) {
            close(descriptor_);
        }
    }

    bool holds(std::string_view content, std::vector<char>& room) const {
        struct stat status {};
        if (descriptor_ < 0 || fstat(descriptor_, &status) != 0 || !S_ISREG(status.st_mode) ||
            static_cast<std::uint64_t>(status.st_size) != content.size()) {
            return false;
        }
        const ssize_t count = read(descriptor_, room.data(), content.size());
        return count >= 0 && std::string_view(room.data(), static_cast<std::size_t>(count)) == content;
    }

private:
    int descriptor_;
};

}  // namespace

std::size_t count_alike(std::span<const std::string> paths, std::string_view content) {
    std::vector<char> room(content.size());
    std::size_t count = 0;
    while (count < paths.size() && OpenFile(paths[count].c_str()).holds(content, room)) {
        ++count;
    }
    return count;
}

}  // namespace yantra
